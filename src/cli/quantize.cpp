// quadrant quantize MODEL -o OUT: all four phases, and the result as a file.
#include "quadrant/engine/quantize.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "cli/arguments.hpp"
#include "cli/budget.hpp"
#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/onnx_output.hpp"
#include "cli/plan_variants.hpp"
#include "cli/report_options.hpp"
#include "cli/resources.hpp"
#include "pipeline/budget_outcome.hpp"
#include "pipeline/rule_summary.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/support/ranks.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::cli {
namespace {

using Clock = std::chrono::steady_clock;

Json to_json(const OnnxWriteReport& report) {
  return {{"model_bytes", report.model_bytes},
          {"external_bytes", report.external_bytes},
          {"external_file", report.external_file},
          {"opset_read", report.opset_read},
          {"opset_written", report.opset_written},
          {"matmul_nbits", report.matmul_nbits},
          {"matmul_bnb4", report.matmul_bnb4},
          {"unsigned_activations", report.unsigned_activations},
          {"rounded_products", report.rounded_products},
          {"dequantize_linear", report.dequantize_linear},
          {"dequantize_microsoft", report.dequantize_microsoft},
          {"dequantize_arithmetic", report.dequantize_arithmetic},
          {"fallback_reason", report.fallback_reason}};
}

// Errors are those of RoundedWeights: the mean of what codes add, squared, to a layer's results.
Json to_json(const RoundingLog& log) {
  Json weights = Json::array();
  for (const auto& [name, rounded] : log.weights) {
    weights.push_back({{"weight", name},
                       {"error_nearest", rounded.nearest},
                       {"error", rounded.error},
                       {"rows", rounded.rows},
                       {"rows_weighted", rounded.weighted},
                       {"rows_feedback", rounded.feedback},
                       {"rows_descent", rounded.descent}});
  }
  return weights;
}

// Errors as above; of weights without moments, those of the weight.
Json to_json(const LowRankReport& report) {
  Json weights = Json::array();
  for (const LowRankCorrected& each : report.corrected) {
    weights.push_back({{"weight", each.weight},
                       {"rank", each.rank},
                       {"bytes", each.bytes},
                       {"error_before", each.before},
                       {"error", each.after}});
  }
  return weights;
}

/// What is to be said of the products of the quantized model that meet in 16 bits.
struct Sums {
  std::string remark;
  Json json;
};

class Quantize final : public Command {
 public:
  explicit Quantize(const SchemeTable& schemes)
      : Command({.name = "quantize",
                 .about = "Quantize a model",
                 .runs_models = true,
                 .shares_work = true,
                 .replaceable = "MODEL"}),
        options_(schemes) {}

  void declare(CLI::App& command) override {
    cli::declare(command, options_, json_);
    add_value(command, "-o,--output", output_, "FILE", "Model to write; may be the input");
    plan_option_ = add_value(command, "--plan", plan_path_, "FILE",
                             "Follow a plan that 'quadrant plan -o' saved");
    command.add_flag("--dry-run", dry_run_, "Say what would be done and write nothing");
    cli::declare(command, side_);
    declare_non_finite(command, options_.non_finite);
    declare_save_recipe(command, options_);
    add_value(command, "--format", options_.format, "qdq|matmulnbits|arithmetic",
              "How the file stores quantized values: QuantizeLinear and DequantizeLinear, "
              "or, for matrix products that can be, com.microsoft.MatMulNBits or "
              "MatMulBnb4; or, for weights of float8, arithmetic that is computed once")
        ->check(one_of({"qdq", "matmulnbits", "arithmetic"}))
        ->capture_default_str();
    command.add_flag(
        "--external-data", external_data_,
        "Put tensors of 1 kB or more into a data file beside the model; models of more "
        "than 2 GB always do");
    memory_option_ = declare_memory(command, memory_);
    cli::declare(command, budget_);
    command.footer(
        "Examples:\n"
        "  quadrant quantize model.onnx -o small.onnx --scheme weight-only\n"
        "  quadrant quantize model.onnx -o small.onnx --scheme weight-only --exclude '^lm_head'\n"
        "  quadrant quantize model.onnx -o small.onnx --scheme weight-only --bits 4 --calibration "
        "samples\n"
        "  quadrant quantize model.onnx -o small.onnx --recipe recipe.json\n"
        "  quadrant quantize model.onnx -o small.onnx --scheme weight-only --target-bits 4.5 "
        "--data samples\n"
        "  quadrant quantize model.onnx --dry-run --mix int8,int4-block32");
  }

  Expected<void> run(Console& console) override {
    const Clock::time_point start = Clock::now();
    if (output_.empty() && !dry_run_) {
      return fail(ErrorCode::usage, "quantize: -o is required, or --dry-run");
    }
    QUADRANT_CHECK(check_onnx_ending(output_));
    QUADRANT_TRY(const std::uint64_t kept, kept_in_memory(memory_));
    if (memory_option_->count() != 0) {
      QUADRANT_TRY(console.context().moments_memory, parse_bytes("--memory", memory_));
    }
    console.context().scratch = scratch_folder();
    const bool has_plan = plan_option_->count() != 0;
    if (has_plan && options_.scope.is_given()) {
      return fail(ErrorCode::usage,
                  "quantize: --plan says what to quantize; --include and --exclude belong to the "
                  "'quadrant plan' that made it");
    }
    if (has_plan && budget_.is_given()) {
      return fail(ErrorCode::usage,
                  "quantize: --plan has decided already: a budget does not go with it");
    }
    if (has_plan) QUADRANT_CHECK(check_no_budget(budget_));
    QUADRANT_CHECK(announce(budget_, options_));
    QUADRANT_CHECK(check(side_));
    std::optional<Plan> plan;
    if (has_plan) {
      QUADRANT_TRY(plan, read_plan(plan_path_));
    }
    options_.wants_histograms = !side_.report.empty();
    QUADRANT_TRY(PreparedRun subject, prepare(options_, console));
    std::optional<MetBudget> decided;
    if (plan) {
      QUADRANT_CHECK(use_variants_of(*plan, options_, subject));
    } else {
      const std::string& path = output_.empty() ? options_.model : output_;
      QUADRANT_TRY(decided, meet_budget(budget_, format(), path, subject, console));
      if (decided) plan = decided->decision.outcome.plan;
    }
    ConstantStore store(kept, scratch_folder());
    QUADRANT_TRY(const QuantizeResult result, subject.quantize({.plan = plan ? &*plan : nullptr,
                                                                .store = &store,
                                                                .is_to_be_used = !dry_run_}));

    if (!is_first(console.context().ranks)) {
      if (dry_run_) return {};
      return write_onnx(result.graph, output_, write_options(console))
          .map([](const OnnxWriteReport&) {});
    }
    Summary summary = summarize(subject.graph, subject.registry, result);
    summary.file_bytes_before = subject.file_bytes;
    const ReportSubject reported{.graph = subject.graph,
                                 .registry = subject.registry,
                                 .analysis = result.analysis,
                                 .quantized = &result.graph,
                                 .statistics = subject.statistics.get(),
                                 .model = options_.model,
                                 .gain_unit = std::string(subject.gains->unit()),
                                 .sink = &console};
    QUADRANT_TRY(std::optional<HtmlReport> report, gather(side_, reported));
    std::optional<OnnxWriteReport> written;
    std::optional<Sums> sums;
    if (!dry_run_) {
      QUADRANT_TRY(const auto products,
                   in_file(paired_products(result.graph, ModelFormat::onnx, subject.recipe.recipe),
                           options_.model));
      sums = {.remark = saturation_remark(result.graph, products),
              .json = quadrant::to_json(products, result.graph)};
      QUADRANT_TRY(written, write_onnx(result.graph, output_, write_options(console)));
      summary.file_bytes_after = written->model_bytes + written->external_bytes;
      summary.tensor_bytes_after = written->tensor_bytes;
    }
    if (report) {
      report->sums = sums ? sums->remark : "";
      report->file_bytes_before = summary.file_bytes_before;
      report->file_bytes_after = summary.file_bytes_after;
      if (decided) add_frontier(*report, decided->decision);
    }
    QUADRANT_CHECK(write(side_, reported, report, console));
    QUADRANT_CHECK(save_recipe(options_, subject, console));
    summary.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    print(summary, summarize_rules(subject, result.analysis), decided, written, sums, subject,
          console);
    return {};
  }

 private:
  // Where there must be room for the model, too.
  [[nodiscard]] std::string scratch_folder() const {
    const auto folder = std::filesystem::path(output_).parent_path();
    return folder.empty() ? "." : folder.string();
  }
  [[nodiscard]] OnnxWriteOptions format() const {
    return {.external_from = external_from(),
            .matmul_nbits = options_.format == "matmulnbits",
            .small_floats_as_arithmetic = options_.format == "arithmetic"};
  }
  [[nodiscard]] OnnxWriteOptions write_options(Console& console) const {
    OnnxWriteOptions options = format();
    options.executor = console.context().executor;
    options.sink = &console;
    options.files = &console.files();
    options.ranks = console.context().ranks;
    return options;
  }

  [[nodiscard]] std::uint64_t external_from() const {
    constexpr std::uint64_t large = 1024;
    return external_data_ ? large : OnnxWriteOptions().external_from;
  }

  void print(const Summary& summary, const std::vector<RuleSummary>& rules,
             const std::optional<MetBudget>& decided, const std::optional<OnnxWriteReport>& written,
             const std::optional<Sums>& sums, const PreparedRun& subject, Console& console) const {
    const auto json_of = [](const auto& log) { return log ? to_json(*log) : Json(nullptr); };
    if (json_) {
      Json document{{"model", options_.model},
                    {"output", written ? Json(output_) : Json(nullptr)},
                    {"dry_run", dry_run_},
                    {"summary", quadrant::to_json(summary)},
                    {"rules", to_json(rules)},
                    {"sums_in_16_bits", sums ? sums->json : Json(nullptr)},
                    {"rounding", json_of(subject.rounding)},
                    {"low_rank", json_of(subject.low_rank)},
                    {"written", written ? to_json(*written) : Json(nullptr)},
                    {"budget", decided ? to_json(decided->decision) : Json(nullptr)}};
      add_files(document, side_);
      console.print_json(std::move(document));
      return;
    }
    console.print(to_string(summary));
    if (!rules.empty()) console.print('\n' + print_rules(rules));
    if (sums && !sums->remark.empty()) console.print(fmt::format("\n  {}\n", sums->remark));
    if (decided) console.print('\n' + to_string(decided->decision));
    if (!written) {
      const std::string files = print_files(side_);
      console.print(fmt::format("\n  dry run: {} is written\n{}",
                                files.empty() ? "nothing" : "no model", files));
      return;
    }
    console.print(fmt::format("\n  written to {}\n", printable(output_)));
    console.print(print_files(side_));
    if (!written->external_file.empty()) {
      console.print(fmt::format("  data in {}\n", printable(written->external_file)));
    }
    for (const std::string& remark : remarks_of(*written)) {
      console.print(fmt::format("  {}\n", remark));
    }
    if (options_.format == "matmulnbits") {
      console.print(
          fmt::format("  {} became MatMulNBits\n", counted(written->matmul_nbits, "product")));
      if (written->matmul_bnb4 > 0) {
        console.print(
            fmt::format("  {} became MatMulBnb4\n", counted(written->matmul_bnb4, "product")));
      }
    }
    if (!written->fallback_reason.empty()) {
      console.print(fmt::format("  {}\n", printable(written->fallback_reason)));
    }
  }

  DecisionOptions options_;
  std::string output_;
  ReportOptions side_;
  std::string plan_path_;
  CLI::Option* plan_option_ = nullptr;
  std::string memory_ = "512MB";
  CLI::Option* memory_option_ = nullptr;
  bool external_data_ = false;
  bool dry_run_ = false;
  BudgetOptions budget_;
};

}  // namespace

std::unique_ptr<Command> make_quantize(const SchemeTable& schemes) {
  return std::make_unique<Quantize>(schemes);
}

}  // namespace quadrant::cli

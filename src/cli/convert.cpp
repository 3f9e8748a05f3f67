// quadrant convert MODEL OUT: from one format to another, quantized on the way if that is wanted,
// and fused for a target: what its kernels can compute on codes, they do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "calibration/located.hpp"
#include "cli/choices.hpp"
#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/kernels_target.hpp"
#include "cli/model.hpp"
#include "cli/model_format.hpp"
#include "cli/paired_products.hpp"
#include "cli/written_model.hpp"
#include "quadrant/adapters/tbb.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/aliases.hpp"
#include "quadrant/ir/real_borders.hpp"
#include "quadrant/report/computation.hpp"
#include "quadrant/report/saturation.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::cli {
namespace {

// What whoever feeds and reads the model has to know: not all formats say it.
std::vector<std::string> describe_coded_borders(const Graph& graph) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view what, std::string_view name, const TensorType& type) {
    if (!type.is_quantized()) return;
    lines.push_back(fmt::format("{} '{}' is codes: {}", what, printable(name), to_string(type)));
  };
  for (const NodeId node : graph.inputs())
    add("input", graph.value_name({node}), graph.type({node}));
  for (const NodeId node : graph.outputs()) {
    add("output", graph.name(node), graph.type(graph.operands(node)[0]));
  }
  return lines;
}

Json to_json(const ComputationReport& report) {
  Json operations = Json::array();
  for (const Computation& row : report.operations) {
    operations.push_back({{"name", row.name},
                          {"operation", row.kind},
                          {"on_codes", row.on_codes},
                          {"reason", row.reason}});
  }
  return {{"on_codes", report.on_codes},
          {"requantized", report.requantized},
          {"operations", std::move(operations)}};
}

// Where nothing is quantized: why not, of each weight.
void remark_on_nothing(const Summary& summary, std::vector<std::string>& remarks) {
  remarks.push_back(summary.given.count == 0
                        ? std::string("nothing is quantized")
                        : fmt::format("nothing more is quantized: {} {} already",
                                      counted(summary.given.count, "weight"),
                                      summary.given.count == 1 ? "was" : "were"));
  for (const WeightLeftInFloat& weight : summary.left_in_float) {
    remarks.push_back(
        fmt::format("left in float: {}: {}", printable(weight.name), printable(weight.reason)));
  }
}

class Convert final : public Command {
 public:
  CLI::App* declare(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("convert", "Write a model in another format");
    cli::declare(*command, options_);
    command->add_option("OUT", output_, "Model to write: .onnx, .tflite, .xml, .mlir, or .qd, text")
        ->required()
        ->type_name("");
    add_choice(*command, "--target", target_, kernels_targets(),
               "Whose kernels compute on codes: what they can, they do; the rest stays in real "
               "numbers (default: tflite, for a file of that ending)");
    add_choice(*command, "--io", borders_, {"codes", "real"},
               "Whether the model takes and gives 'codes', where it quantizes its inputs and "
               "dequantizes its outputs, or 'real' numbers, the default");
    command->add_flag("--repair-ranges", repairs_ranges_,
                      "Move the range of a fake_quantize of which real zero is no code, so that it "
                      "becomes codes, too; by at most half a step where zero lies inside");
    declare_non_finite(*command, options_.non_finite);
    command->footer(
        "Examples:\n"
        "  quadrant convert model_qdq.onnx model.tflite\n"
        "  quadrant convert model.onnx model.tflite --scheme static-affine --calibration samples\n"
        "  quadrant convert model.tflite model.onnx\n"
        "  quadrant convert model.xml model.qd --target openvino-cpu");
    return command;
  }

  [[nodiscard]] bool wants_json() const noexcept override { return options_.json; }
  [[nodiscard]] bool runs_models() const noexcept override { return true; }

  Expected<void> run(Console& console) override {
    QUADRANT_TRY(const ModelFormat format, model_format(output_));
    QUADRANT_CHECK(check_target(format));
    TbbExecutor executor(options_.threads);
    const auto target = chosen_target(format);
    options_.resolves_aliases = format != ModelFormat::onnx && format != ModelFormat::text;
    std::vector<std::string> remarks;
    QUADRANT_TRY(Graph graph, model(format, target, console, executor, remarks));
    const bool is_simulated = has_simulated_quantization(graph);
    if (is_simulated && (target || format != ModelFormat::text)) {
      QUADRANT_CHECK(in_file(convert_simulated(graph, remarks), options_.model));
    }
    const bool is_for_tflite =
        format == ModelFormat::tflite || target == KernelsTarget(FusionTarget::tflite);
    if (!is_openvino(target) &&
        (target || format == ModelFormat::onnx || format == ModelFormat::mlir || is_for_tflite)) {
      const SplitForFormat split{.has_limits = !is_for_tflite, .repair_ranges = repairs_ranges_};
      QUADRANT_TRY(
          graph, in_file(without_fake_quantize(std::move(graph), split, remarks), options_.model));
    }
    std::optional<ComputationReport> report;
    // Whoever names a target hears what it computes, be it nothing.
    if (target && (!target_.empty() || has_quantization(graph))) {
      QUADRANT_TRY(OnTarget made,
                   in_file(compute_on(graph, *target, repairs_ranges_, executor), options_.model));
      graph = std::move(made.graph);
      if (is_simulated) QUADRANT_CHECK(name_unquantized(made.model, *target, remarks));
      report = report_computation(made.model, made.analysis.registry, made.analysis);
      remarks.insert(remarks.end(), made.remarks.begin(), made.remarks.end());
    }
    std::vector<LeftAlone> real_borders;
    if (borders_ == "codes") real_borders = make_borders_coded(graph);
    const std::vector<std::string> coded_borders = describe_coded_borders(graph);
    QUADRANT_CHECK(remark_on_sums(graph, format, remarks));
    QUADRANT_TRY(WrittenModel written,
                 write_model(graph, output_, format,
                             {.qoperators = target == KernelsTarget(FusionTarget::onnx_qoperator),
                              .executor = &executor},
                             console));
    remarks.insert(remarks.end(), coded_borders.begin(), coded_borders.end());
    add_remarks(remarks, "in real numbers still", real_borders);
    // What the user can do something about comes first.
    written.remarks.insert(written.remarks.begin(), remarks.begin(), remarks.end());
    print(report, target, written, console);
    return {};
  }

 private:
  // As it is, or quantized if that was asked for.
  [[nodiscard]] Expected<Graph> model(ModelFormat format, std::optional<KernelsTarget> target,
                                      Console& console, Executor& executor,
                                      std::vector<std::string>& remarks) {
    const RecipeOptions& recipe = options_.recipe;
    if (recipe.scheme.empty() && recipe.mix.empty() && recipe.preset.empty() &&
        recipe.file.empty()) {
      for (const auto& scheme : options_.schemes.all()) {
        const std::string option = options_.schemes.given_option(*scheme);
        if (option.empty()) continue;
        return fail(ErrorCode::usage,
                    fmt::format("{} is an option of {}, which --scheme names: without it nothing "
                                "is quantized",
                                option, scheme->name()));
      }
      QUADRANT_TRY(Graph graph, read_model(options_.model, console));
      if (options_.resolves_aliases) {
        QUADRANT_CHECK(in_file(resolve_aliases(graph), options_.model));
      }
      return graph;
    }
    options_.coded_borders = borders_ == "codes";
    if (target == KernelsTarget(FusionTarget::tflite) ||
        target == KernelsTarget(FusionTarget::webnn)) {
      options_.kernels = "tflite";
    }
    if (is_openvino(target) || (!target && format == ModelFormat::openvino)) {
      options_.kernels = "openvino";
    }
    QUADRANT_TRY(Subject subject, prepare(options_, console));
    made_by_ = subject.recipe.recipe;
    QuantizeOptions engine = subject.engine_options();
    engine.executor = &executor;
    engine.sink = &console;
    QUADRANT_TRY(QuantizeResult result, in_file(quantize_with(subject.steps, subject.graph,
                                                              subject.registry, engine, true),
                                                options_.model));
    const std::size_t count = result.analysis.plan.values.size();
    if (count == 0) {
      remark_on_nothing(summarize(subject.graph, subject.registry, result), remarks);
    } else {
      remarks.push_back(
          fmt::format("{} {} quantized", counted(count, "value"), count == 1 ? "is" : "are"));
    }
    return std::move(result.graph);
  }

  [[nodiscard]] Expected<void> remark_on_sums(const Graph& graph, ModelFormat format,
                                              std::vector<std::string>& remarks) const {
    QUADRANT_TRY(const auto paired,
                 in_file(paired_products(graph, format, made_by_), options_.model));
    if (!paired.empty()) remarks.push_back(saturation_remark(graph, paired));
    return {};
  }

  // What training left out: each tensor that passes through no fake quantization, and should.
  [[nodiscard]] static Expected<void> name_unquantized(const Graph& model,
                                                       const KernelsTarget& target,
                                                       std::vector<std::string>& remarks) {
    const auto* const fusion = std::get_if<FusionTarget>(&target);
    if (fusion == nullptr) return {};
    QUADRANT_TRY(const auto missing, unquantized_tensors(model, {.target = *fusion}));
    add_remarks(remarks, "no fake quantization", missing);
    return {};
  }

  [[nodiscard]] static bool is_openvino(const std::optional<KernelsTarget>& target) {
    return target && std::holds_alternative<LowPrecisionTarget>(*target);
  }

  [[nodiscard]] Expected<void> check_target(ModelFormat format) const {
    const auto target = chosen_target(format);
    if (is_openvino(target) && format != ModelFormat::text) {
      return fail(ErrorCode::usage,
                  fmt::format("--target {} shows what OpenVINO's kernels compute on codes, with "
                              "sums that no format has: it goes with .qd. OpenVINO itself finds it "
                              "in the .xml file that is written without it",
                              target_),
                  {.file = output_});
    }
    const bool keeps_fake_quantize = format == ModelFormat::openvino || format == ModelFormat::text;
    if (repairs_ranges_ && keeps_fake_quantize && !is_openvino(target)) {
      return fail(ErrorCode::usage,
                  "--repair-ranges is for a fake_quantize that becomes codes: here it stays as it "
                  "is. It goes with .onnx, .tflite, and --target openvino-cpu and its like",
                  {.file = output_});
    }
    if (format != ModelFormat::tflite || target != KernelsTarget(FusionTarget::onnx_qoperator)) {
      return {};
    }
    return fail(ErrorCode::usage,
                "--target onnx-qoperator fuses what ONNX's operators compute: it goes with .onnx",
                {.file = output_});
  }

  [[nodiscard]] std::optional<KernelsTarget> chosen_target(ModelFormat format) const {
    if (!target_.empty()) return parse_kernels_target(target_);
    return format == ModelFormat::tflite ? std::optional<KernelsTarget>(FusionTarget::tflite)
                                         : std::nullopt;
  }

  static constexpr std::size_t most = 20;  ///< lines of one sort

  void print(const std::optional<ComputationReport>& fused, std::optional<KernelsTarget> target,
             const WrittenModel& written, Console& console) const {
    if (options_.json) {
      console.print_json({{"model", options_.model},
                          {"output", output_},
                          {"bytes", written.bytes},
                          {"target", target ? Json(name_of(*target)) : Json(nullptr)},
                          {"fused", fused ? to_json(*fused) : Json(nullptr)},
                          {"summary", written.summary},
                          {"remarks", written.remarks}});
      return;
    }
    if (fused) {
      const ComputationReport& report = *fused;
      console.print(fmt::format("{}\n", table_of_kinds(report).print()));
      const Table reals = table_of_reals(report, most);
      if (!reals.is_empty()) console.print(fmt::format("{}\n", reals.print()));
      const std::size_t left = report.operations.size() - report.on_codes;
      if (left > most) {
        console.print(fmt::format("  and {} more: --json has all\n\n", left - most));
      }
      console.print(fmt::format("  {} of {} operations compute on codes, for {}", report.on_codes,
                                report.operations.size(), target ? name_of(*target) : ""));
      if (report.requantized > 0) {
        console.print(fmt::format(
            "; {}", report.requantized == 1
                        ? "one value is requantized"
                        : fmt::format("{} values are requantized", report.requantized)));
      }
      console.print("\n");
    }
    console.print(
        fmt::format("  written to {}: {}\n", printable(output_), format_bytes(written.bytes)));
    if (!written.summary.empty()) console.print(fmt::format("  {}\n", written.summary));
    for (std::size_t i = 0; i < std::min(most, written.remarks.size()); ++i) {
      console.print("  " + written.remarks[i] + '\n');
    }
    if (written.remarks.size() > most) {
      console.print(fmt::format("  and {} more: --json has all\n", written.remarks.size() - most));
    }
  }

  DecisionOptions options_;
  Recipe made_by_;
  std::string output_;
  std::string target_;
  std::string borders_;
  bool repairs_ranges_ = false;
};

}  // namespace

std::unique_ptr<Command> make_convert() { return std::make_unique<Convert>(); }

}  // namespace quadrant::cli

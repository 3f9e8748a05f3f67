// quadrant optimize MODEL -o OUT: quantizes statically, looks at the accuracy, and tries more only
// where it is of use.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/located.hpp"
#include "cli/command.hpp"
#include "cli/data_options.hpp"
#include "cli/decision.hpp"
#include "cli/labels.hpp"
#include "cli/model.hpp"
#include "cli/model_format.hpp"
#include "cli/paired_products.hpp"
#include "cli/resources.hpp"
#include "cli/runtimes.hpp"
#include "cli/scope.hpp"
#include "cli/static_affine.hpp"
#include "cli/written_model.hpp"
#include "quadrant/adapters/tbb.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/real_borders.hpp"
#include "quadrant/numerics/agreement.hpp"
#include "quadrant/report/saturation.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/report/table.hpp"
#include "quadrant/report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::vector<std::string>> all_steps() {
  return {{}, {"cle", "hba"}, {"cle", "hba", "bc"}};
}

/// One way to quantize, and what came of it.
struct Attempt {
  std::vector<std::string> optimizations;
  Graph graph;
  Agreement worst;              ///< of the output that agrees least
  std::optional<double> loss;   ///< percentage points of top-1 that are lost; empty: no labels
  std::uint64_t weights = 0;    ///< of real numbers that could be quantized
  std::uint64_t quantized = 0;  ///< of these
  bool is_float = false;        ///< no value is quantized, be it a weight or not
  std::uint64_t nan = 0;        ///< elements of outputs that are NaN in the float model
  double seconds = 0;

  [[nodiscard]] std::string name() const {
    return optimizations.empty() ? "none" : fmt::format("{}", fmt::join(optimizations, ","));
  }
};

/// Whether `a` is the better of two.
bool better_than(const Attempt& a, const Attempt& b) {
  const double loss_a = a.loss.value_or(0);
  const double loss_b = b.loss.value_or(0);
  return loss_a != loss_b ? loss_a < loss_b : worse_than(b.worst, a.worst);
}

class Optimize final : public Command {
 public:
  CLI::App* declare(CLI::App& app) override {
    CLI::App* command = app.add_subcommand(
        "optimize", "Quantize statically, with as much effort as the accuracy needs");
    command->add_option("MODEL", model_, "Model to read: .onnx, .tflite, .xml, or .qd, text")
        ->required()
        ->type_name("");
    command->add_option("-o,--output", output_, "Model to write")->required()->type_name("FILE");
    command
        ->add_option("--data", data_,
                     "Samples to look at the accuracy on (default: those of --calibration)")
        ->type_name("PATH");
    command
        ->add_option("--labels", labels_,
                     "Which classes are right, a row of scores each: .txt with an integer a line, "
                     ".npy or .npz")
        ->type_name("FILE");
    command
        ->add_option("--accept", accept_,
                     "It is good enough when so many percentage points of top-1 are lost, or fewer")
        ->check(CLI::Range(0.0, 100.0).description(""))
        ->type_name("POINTS")
        ->capture_default_str();
    command
        ->add_option("--accept-sqnr", accept_sqnr_,
                     "The same, in decibels at the outputs, where there are no labels")
        ->type_name("DB")
        ->capture_default_str();
    cli::declare(*command, scope_);
    declare_json(*command, json_);
    declare_threads(*command, threads_);
    declare_under_heading(*scheme_, *command);
    // Encodings are of the model as it is, not of what optimizations make of it.
    for (const char* const name : {"--optimize", "--encodings"}) {
      command->remove_option(command->get_option(name));
    }
    command->footer(
        "Tries, until the accuracy is good enough: no optimization; cle and hba; and, where that "
        "came within 2 points (6 dB), cle, hba and bc, from the float model again.\n\n"
        "Example:\n"
        "  quadrant optimize model.onnx -o small.onnx --calibration samples --labels labels.txt");
    return command;
  }

  [[nodiscard]] bool wants_json() const noexcept override { return json_; }
  [[nodiscard]] bool runs_models() const noexcept override { return true; }

  [[nodiscard]] std::string_view replaceable() const noexcept override { return "MODEL"; }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(check_onnx_ending(output_));
    QUADRANT_CHECK(check_patterns(scope_));
    QUADRANT_CHECK(scheme_->check(choices(), {}));
    if (scheme_->has_statistics_alone()) {
      return fail(ErrorCode::usage,
                  "optimize runs the model: give samples to --calibration, not statistics",
                  {.file = scheme_->calibration()});
    }
    if (!labels_.empty()) {
      QUADRANT_TRY(classes_, read_labels(labels_));
    }
    QUADRANT_TRY(const Graph graph, read_model(model_, console));
    for (const auto& step : all_steps()) {
      if (std::ranges::find(step, "bc") != step.end() && !is_worth_correcting()) break;
      QUADRANT_TRY(Attempt attempt, in_file(attempt_with(graph, step, console), model_));
      attempts_.push_back(std::move(attempt));
      if (is_good_enough(attempts_.back())) break;
      // What keeps all in float, or is NaN in float, is no matter of effort.
      if (attempts_.back().is_float || attempts_.back().nan != 0) break;
    }
    const auto best = std::ranges::find_if(attempts_, [&](const Attempt& attempt) {
      return std::ranges::none_of(
          attempts_, [&](const Attempt& other) { return better_than(other, attempt); });
    });
    QUADRANT_TRY(const OnnxWriteReport written,
                 write_onnx(best->graph, output_, {.sink = &console, .files = &console.files()}));
    QUADRANT_TRY(const auto paired,
                 in_file(paired_products(best->graph, ModelFormat::onnx), output_));
    if (std::ranges::any_of(paired, &PairedProduct::can_saturate)) {
      console.report(
          {Severity::warning, saturation_remark(best->graph, paired), {.file = output_}});
    }
    print(*best, written, console);
    return {};
  }

 private:
  [[nodiscard]] std::vector<SchemeChoice> choices() const {
    const std::string name(scheme_->name());
    return {{name, name, scheme_->given()}};
  }

  // Bias correction mends shifts, nothing else: what is poor after cle stays poor.
  [[nodiscard]] bool is_worth_correcting() const {
    constexpr double points = 2;
    constexpr double decibels = 6;
    const Attempt& last = attempts_.back();
    return last.loss ? *last.loss <= accept_ + points : reaches(last, accept_sqnr_ - decibels);
  }

  [[nodiscard]] bool is_good_enough(const Attempt& attempt) const {
    if (attempt.is_float || attempt.nan != 0) return false;
    return attempt.loss ? *attempt.loss <= accept_ : reaches(attempt, accept_sqnr_);
  }

  // What is infinite or NaN in one of the models alone has no SQNR.
  static bool reaches(const Attempt& attempt, double sqnr_db) {
    return attempt.worst.non_finite == 0 && attempt.worst.sqnr_db() >= sqnr_db;
  }

  [[nodiscard]] Expected<Attempt> attempt_with(const Graph& graph,
                                               const std::vector<std::string>& optimizations,
                                               Console& console) const {
    const Clock::time_point start = Clock::now();
    OptionValues before = scheme_->given_for_model();
    if (!optimizations.empty()) before["optimize"] = optimizations;
    TbbExecutor executor(threads_);
    SchemeSubject subject{model_, graph, &executor, &console};
    QUADRANT_TRY(const Registry registry, scheme_->make(subject, choices(), before));
    const auto gains = make_gain_model(scheme_->entry().gain);
    QuantizeOptions engine;
    QUADRANT_TRY(Scope scope, find_scope(subject.graph, registry, scope_, {}));
    engine.vetoes = std::move(scope.vetoes);
    engine.value_vetoes = std::move(scope.value_vetoes);
    engine.gains = gains.get();
    engine.executor = &executor;
    QUADRANT_TRY(QuantizeResult result,
                 quantize_with(subject.steps, subject.graph, registry, engine, true));
    const Summary summary = summarize(subject.graph, registry, result);
    Attempt attempt{.optimizations = optimizations,
                    .graph = std::move(result.graph),
                    .weights = summary.eligible.count,
                    .quantized = summary.eligible_quantized.count,
                    .is_float = result.analysis.plan.values.empty()};
    QUADRANT_CHECK(measure(graph, attempt, executor, console));
    attempt.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return attempt;
  }

  Expected<void> measure(const Graph& graph, Attempt& attempt, Executor& executor,
                         Console& console) const {
    const std::string& path = data_.empty() ? scheme_->calibration() : data_;
    QUADRANT_TRY(const auto data, open_samples(path, graph, console));
    CompareOptions options;
    options.names = {.first = model_, .second = attempt.name(), .labels = labels_, .objects = {}};
    options.executor = &executor;
    options.labels = classes_;
    Graph real = attempt.graph;
    make_borders_real(real);
    QUADRANT_TRY(const auto interpreter, make_interpreter(console));
    QUADRANT_TRY(const Comparison comparison, compare(graph, real, *interpreter, *data, options));
    for (const ValueAgreement& output : comparison.outputs) attempt.nan += output.agreement.nan;
    const auto worst = std::ranges::min_element(
        comparison.outputs, [](const auto& a, const auto& b) { return worse_than(a, b); },
        &ValueAgreement::agreement);
    if (worst != comparison.outputs.end()) attempt.worst = worst->agreement;
    if (comparison.first && comparison.second) {
      attempt.loss = 100 * (comparison.first->top1_share() - comparison.second->top1_share());
    }
    return {};
  }

  [[nodiscard]] std::string verdict(const Attempt& best) const {
    if (best.is_float) {
      return "nothing is quantized: 'quadrant explain' with --scheme static-affine and the same "
             "samples says why";
    }
    if (best.nan != 0) {
      return fmt::format("{} of the float model's outputs {} NaN: how good the rest is says little",
                         counted(best.nan, "element"), best.nan == 1 ? "is" : "are");
    }
    if (is_good_enough(best)) return "good enough";
    if (attempts_.size() == all_steps().size()) return "all was tried" + finer_codes();
    return "poor after cle: correcting biases (bc) would hardly help; 'quadrant sensitivity' finds "
           "weights to --exclude" +
           finer_codes();
  }

  // What of this call could be finer.
  [[nodiscard]] std::string finer_codes() const {
    const OptionValues& options = scheme_->given();
    std::vector<std::string_view> finer;
    const auto* const weight_bits = given<std::int64_t>(options, "weight_bits");
    if (weight_bits != nullptr && *weight_bits < 8) finer.emplace_back("--weight-bits 8");
    const auto* const weights = given<std::string>(options, "weights");
    if (weights != nullptr && *weights == "tensor" && !options.contains("asymmetric_weights")) {
      finer.emplace_back("--weights channel");
    }
    const auto* const bits = given<std::int64_t>(options, "activation_bits");
    if (bits == nullptr || *bits < 16) finer.emplace_back("--activation-bits 16");
    if (finer.empty()) return {};
    return fmt::format("; finer: {}", fmt::join(finer, ", "));
  }

  static std::string print(const Agreement& agreement) {
    const std::string sqnr = fmt::format("{:.2f} dB", agreement.sqnr_db());
    return agreement.non_finite == 0 ? sqnr
                                     : fmt::format("{}, {} not finite", sqnr, agreement.non_finite);
  }

  void print(const Attempt& best, const OnnxWriteReport& written, Console& console) const {
    if (json_) {
      Json attempts = Json::array();
      for (const Attempt& attempt : attempts_) {
        attempts.push_back({{"optimizations", attempt.optimizations},
                            {"sqnr_db", attempt.worst.sqnr_db()},
                            {"non_finite", attempt.worst.non_finite},
                            {"nan", attempt.nan},
                            {"weights", attempt.weights},
                            {"quantized_weights", attempt.quantized},
                            {"points_lost", attempt.loss ? Json(*attempt.loss) : Json(nullptr)},
                            {"seconds", attempt.seconds},
                            {"is_written", &attempt == &best}});
      }
      console.print_json(Json{{"model", model_},
                              {"output", output_},
                              {"is_good_enough", is_good_enough(best)},
                              {"attempts", std::move(attempts)}});
      return;
    }
    using enum Table::Align;
    Table table({{"optimizations"},
                 {"weights quantized", right},
                 {"top-1 lost", right},
                 {"SQNR", right},
                 {"time", right},
                 {""}});
    for (const Attempt& attempt : attempts_) {
      table.add({attempt.name(), fmt::format("{} of {}", attempt.quantized, attempt.weights),
                 attempt.loss ? fmt::format("{:.2f} points", *attempt.loss) : std::string("-"),
                 print(attempt.worst), fmt::format("{:.1f} s", attempt.seconds),
                 &attempt == &best ? "written" : ""});
    }
    console.print(fmt::format("{}\n  {}\n  written to {}\n", table.print(), verdict(best),
                              printable(output_)));
    for (const std::string& remark : remarks_of(written)) {
      console.print(fmt::format("  {}\n", remark));
    }
  }

  std::string model_;
  std::string output_;
  std::string data_;
  std::string labels_;
  ScopeOptions scope_;
  double accept_ = 0.5;
  double accept_sqnr_ = 30;
  unsigned threads_ = 0;
  bool json_ = false;
  std::unique_ptr<StaticAffineScheme> scheme_ =
      make_static_affine(*find_scheme("static_affine").value());
  std::optional<std::vector<std::int64_t>> classes_;
  std::vector<Attempt> attempts_;
};

}  // namespace

std::unique_ptr<Command> make_optimize() { return std::make_unique<Optimize>(); }

}  // namespace quadrant::cli

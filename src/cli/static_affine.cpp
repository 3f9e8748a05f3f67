#include "cli/static_affine.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibration/located.hpp"
#include "cli/data_options.hpp"
#include "cli/model.hpp"
#include "cli/optimizations.hpp"
#include "cli/prescribed.hpp"
#include "cli/runtimes.hpp"
#include "cli/table_options.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/find_quantization.hpp"
#include "quadrant/ir/moves.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/runtime/fold_constants.hpp"

namespace quadrant::cli {
namespace {

Expected<void> check_float(const Graph& graph) {
  const auto found = find_quantization(graph);
  if (!found) return {};
  return fail(ErrorCode::impossible,
              fmt::format("this model is quantized already, as this {} shows: quantize the float "
                          "model that it was made of (quantizing twice adds both errors)",
                          graph.kind(*found)),
              {.node = std::string(label(graph, *found))});
}

// What a weight is computed with: a cast of one that is stored as float16, say. Codes move as they
// are, so that moves can stay.
bool computes_reals(NodeRef node) {
  const auto is_real = [](const TensorType* type) {
    return type == nullptr || is_float(type->element);
  };
  if (find_move(node) != nullptr || !is_real(&node.type())) return false;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    if (!is_real(node.operand_type(i))) return false;
  }
  return true;
}

// Inputs and outputs that are real values although codes are asked for.
void tell_real_borders(const Graph& graph, const StaticAffineOptions& options,
                       const std::string& path, Sink& sink) {
  const auto tell = [&](std::string_view what, Value value) {
    const TensorType& type = graph.type(value);
    if (type.is_quantized() || is_integer(type.element)) return;
    sink.report(
        {Severity::warning,
         fmt::format("this {} of the model stays real values: 'quadrant explain' says why", what),
         {.file = path, .tensor = std::string(graph.value_name(value))}});
  };
  for (const NodeId node : graph.inputs()) {
    if (options.quantized_inputs) tell("input", {node});
  }
  for (const NodeId node : graph.outputs()) {
    if (options.quantized_outputs) tell("output", graph.operands(node)[0]);
  }
}

// A run in which `choice` is the one scheme, under its own name.
QuantizeOptions alone(const QuantizeOptions& run, const Registry& registry,
                      const std::string& choice) {
  QuantizeOptions made = run;
  const auto own = run.scheme_vetoes.find(choice);
  if (own != run.scheme_vetoes.end()) made.vetoes.insert(own->second.begin(), own->second.end());
  made.scheme_vetoes.clear();
  if (registry.names() != StaticAffine().name()) made.plan = nullptr;  // it names other schemes
  return made;
}

class StaticAffineCommand final : public StaticAffineScheme {
 public:
  explicit StaticAffineCommand(const SchemeEntry& entry) : StaticAffineScheme(entry) {}

  [[nodiscard]] bool is_data(const std::string& option) const override {
    return option == "--calibration" || option == "--encodings";
  }

  [[nodiscard]] Expected<void> check(std::span<const SchemeChoice> choices,
                                     const OptionValues& model) const override {
    const Optimizations wanted = optimizations_of(model);
    if (!encodings_.empty() && !wanted.names.empty()) {
      return fail(ErrorCode::usage,
                  "--optimize changes the values that were encoded: leave out it or --encodings",
                  {.file = encodings_});
    }
    if (is_statistics_file(calibration_) && !wanted.names.empty()) {
      return fail(ErrorCode::usage,
                  "--optimize changes the values that were measured: give samples to "
                  "--calibration, not statistics",
                  {.file = calibration_});
    }
    QUADRANT_CHECK(cli::check(wanted));
    return SchemeCommand::check(choices, model);
  }

  [[nodiscard]] Expected<void> check_format(std::string_view format,
                                            const OptionValues& /*options*/) const override {
    if (format != "matmulnbits") return {};
    return fail(ErrorCode::usage,
                "quantize: MatMulNBits has codes of weights alone: --format matmulnbits goes with "
                "--scheme weight-only");
  }

  // Ranges are found once, for all choices.
  [[nodiscard]] Expected<Registry> make(SchemeSubject& subject,
                                        std::span<const SchemeChoice> choices,
                                        const OptionValues& model) const override {
    const Optimizations wanted = optimizations_of(model);
    if (calibration_.empty() && encodings_.empty() && subject.statistics.values.empty()) {
      return fail(ErrorCode::usage,
                  "static_affine finds ranges on data: --calibration PATH, of samples or of "
                  "statistics that 'quadrant calibrate' saved; or --encodings FILE prescribes "
                  "them; or the model has 'stats' of its own");
    }
    if (!subject.statistics.values.empty() && !wanted.names.empty()) {
      return fail(ErrorCode::usage,
                  "--optimize changes the values that the model has 'stats' of: leave it out",
                  {.file = subject.path});
    }
    QUADRANT_CHECK(in_file(check_float(subject.graph), subject.path));
    Prescribed prescribed;
    if (!encodings_.empty()) {
      QUADRANT_TRY(prescribed, Prescribed::read(encodings_, subject.graph, *subject.console));
    }
    // Values keep their names where weights are computed and normalizations folded, so that what
    // was saved holds.
    QUADRANT_TRY(const FoldedConstants folded,
                 in_file(fold_constants(subject.graph, computes_reals), subject.path));
    StatisticsTable statistics;
    const bool is_saved = is_statistics_file(calibration_);
    if (is_saved) {
      QUADRANT_TRY(statistics, read_statistics_of(subject.graph, calibration_));
    }
    QUADRANT_TRY(
        MomentsTable moments,
        in_file(transform(subject.graph, wanted, subject.path, *subject.console), subject.path));
    subject.is_transformed = true;
    subject.has_calibrated = !calibration_.empty();
    QUADRANT_CHECK(prescribed.check_names(subject.graph));
    if (!is_saved && !calibration_.empty()) {
      QUADRANT_TRY(statistics, observe(subject, choices));
    }
    statistics.merge(subject.statistics);
    std::erase_if(subject.ungathered,
                  [&](const LeftAlone& each) { return statistics.find(each.name) != nullptr; });
    SchemeData data;
    data.statistics = std::make_shared<const StatisticsTable>(std::move(statistics));
    if (!encodings_.empty()) {
      QUADRANT_TRY(data.prescribed, prescribed.table());
    }
    for (const SchemeChoice& choice : choices) {
      QUADRANT_TRY(StaticAffineOptions options, static_affine_options(choice.options));
      options.statistics = data.statistics;
      options.prescribed = data.prescribed;
      add_notes(subject, choice.name, options);
    }
    set_steps(subject, wanted, std::move(prescribed), std::move(moments));
    return make_registry(choices, data);
  }

  [[nodiscard]] bool has_statistics_alone() const override {
    return is_statistics_file(calibration_);
  }
  [[nodiscard]] const std::string& calibration() const noexcept override { return calibration_; }

 protected:
  void declare_data(CLI::App& options, OptionValues& for_model) override {
    options
        .add_option("--calibration", calibration_,
                    "Samples (as for 'quadrant calibrate --data'): to find ranges on, and, of "
                    "weight_only, to round weights by. Of static_affine also statistics that "
                    "'quadrant calibrate' saved: a .json file")
        ->type_name("PATH");
    options
        .add_option("--encodings", encodings_,
                    "Encodings that count instead of what would be found: a file as AIMET exports "
                    "and 'quadrant encodings' writes. --calibration can be left out where they "
                    "are all that is needed")
        ->type_name("FILE");
    cli::declare(options, recipe_model_options(), for_model);
  }

 private:
  [[nodiscard]] Expected<StatisticsTable> observe(SchemeSubject& subject,
                                                  std::span<const SchemeChoice> choices) const {
    bool histograms = false;
    for (const SchemeChoice& choice : choices) {
      QUADRANT_TRY(const StaticAffineOptions options, static_affine_options(choice.options));
      histograms = histograms || options.activations.method != EncodingMethod::minmax;
    }
    QUADRANT_TRY(const auto data, open_samples(calibration_, subject.graph, *subject.console));
    QUADRANT_TRY(const auto interpreter, make_interpreter(*subject.console));
    return in_file(
        calibrate(
            subject.graph, *interpreter, *data,
            {.histograms = histograms, .executor = subject.executor, .sink = subject.console}),
        subject.path);
  }

  // What there is to say of one choice.
  void add_notes(SchemeSubject& subject, const std::string& choice,
                 const StaticAffineOptions& options) const {
    Console& console = *subject.console;
    if (!encodings_.empty() && calibration_.empty()) {
      subject.steps.before.emplace_back(
          [&console, options, choice, path = encodings_](
              const Graph& graph, const Registry& registry, const QuantizeOptions& run) {
            return tell_unknown_ranges(graph, options, alone(run, registry, choice), path, console);
          });
    }
    if (options.quantized_inputs || options.quantized_outputs) {
      subject.steps.review.emplace_back(
          [&console, options, path = subject.path](const Graph&, const QuantizeResult& result) {
            tell_real_borders(result.graph, options, path, console);
          });
    }
  }

  void set_steps(SchemeSubject& subject, const Optimizations& wanted, Prescribed prescribed,
                 MomentsTable moments) const {
    Console& console = *subject.console;
    if (wanted.correct_biases() && !wanted.has("cle")) {
      console.report(
          {Severity::warning,
           "bc without cle: it corrects what is shifted, not what is lost to ranges that differ "
           "from channel to channel; --optimize cle,bc does both",
           {.file = subject.path}});
    }
    if (!encodings_.empty()) {
      subject.steps.review.emplace_back([&console, prescribed = std::move(prescribed)](
                                            const Graph& graph, const QuantizeResult& result) {
        prescribed.tell_unused(graph, result, console);
      });
    }
    if (wanted.has("bc-analytic")) {
      subject.steps.before.emplace_back(
          [&console, path = subject.path, moments = std::move(moments)](
              Graph& graph, const Registry& registry, const QuantizeOptions& run) {
            return in_file(correct_from_moments(graph, moments, registry, run, console), path);
          });
    }
    if (wanted.has("bc")) subject.steps.finish.push_back(bias_correction(subject, calibration_));
  }

  std::string calibration_;
  std::string encodings_;
};

}  // namespace

std::unique_ptr<StaticAffineScheme> make_static_affine(const SchemeEntry& entry) {
  return std::make_unique<StaticAffineCommand>(entry);
}

}  // namespace quadrant::cli

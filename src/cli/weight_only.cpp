#include "cli/weight_only.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "calibration/located.hpp"
#include "cli/data_options.hpp"
#include "cli/model.hpp"
#include "cli/optimizations.hpp"
#include "cli/runtimes.hpp"
#include "cli/table_options.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/numerics/round_weights.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "support/counted.hpp"

namespace quadrant::cli {
namespace {

double decibels(double of, double error) { return 10 * std::log10(of / error); }

// Weights that became codes without: the first few, and why.
void tell_nearest(const SecondMomentsTable& moments, const Graph& graph, const Graph& quantized,
                  const std::string& path, Sink& sink) {
  constexpr std::size_t most = 5;
  std::size_t count = 0;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.constant(node) == nullptr || !quantized.contains(node)) continue;
    const std::string name(graph.value_name({node}));
    const bool is_new = quantized.type({node}).is_quantized() && !graph.type({node}).is_quantized();
    const bool is_meant = moments.find(name) != nullptr;  // rounded, or nearest by a choice
    if (!is_new || is_meant) continue;
    if (++count > most) continue;
    const auto left = std::ranges::find(moments.left, name, &LeftAlone::name);
    sink.report({Severity::note,
                 fmt::format("its codes are the nearest ones: {}",
                             left != moments.left.end()
                                 ? left->reason
                                 : "no layer's inputs tell what it is multiplied by (a lookup, an "
                                   "einsum, or a weight that is computed first)"),
                 {.file = path, .tensor = name}});
  }
  if (count > most) {
    sink.report({Severity::note,
                 fmt::format("{} more have the nearest codes", counted(count - most, "weight")),
                 {.file = path}});
  }
}

// How much less error layers have than with codes that are nearest, on the whole.
void tell(const RoundingLog& log, const std::string& path, Sink& sink) {
  double gained = 0;
  std::size_t measured = 0;
  for (const auto& [name, each] : log.weights) {
    if (!(each.error > 0) || !(each.nearest > 0)) continue;
    gained += decibels(each.nearest, each.error);
    ++measured;
  }
  if (measured == 0) return;
  sink.report(
      {Severity::note,
       fmt::format("{} rounded by what layers multiply them by: on these samples, each layer's "
                   "results have {:.1f} dB less error on average than with the nearest codes",
                   counted(log.weights.size(), "weight"), gained / static_cast<double>(measured)),
       {.file = path}});
}

// Samples that say less than there is to know.
void tell_few(const SecondMomentsTable& moments, const std::string& path, Sink& sink) {
  std::size_t few = 0;
  for (const auto& [name, each] : moments.weights) {
    const auto columns = static_cast<std::int64_t>(each.layout().columns.size());
    if (each.count(0) < columns) ++few;
  }
  if (few == 0) return;
  sink.report(
      {Severity::note,
       fmt::format("{} fewer inputs in these samples than a sum has terms: with more, codes "
                   "would hold better for other samples",
                   few == 1 ? "the layer of 1 weight has"
                            : fmt::format("the layers of {} weights have", few)),
       {.file = path}});
}

// Of the worst output, in dB.
Expected<double> nearness(const Graph& graph, const Graph& quantized, const std::string& samples,
                          Executor& executor, Console& console) {
  QUADRANT_TRY(const auto data, open_samples(samples, graph, console));
  QUADRANT_TRY(const auto interpreter, make_interpreter(console));
  QUADRANT_TRY(const Comparison compared,
               compare(graph, quantized, *interpreter, *data, {.executor = &executor}));
  double worst = std::numeric_limits<double>::infinity();
  for (const ValueAgreement& each : compared.outputs) {
    worst = std::min(worst, each.agreement.sqnr_db());
  }
  return worst;
}

// bc, unless the outputs are farther from the float model's then, on the same samples: the shifts
// of layers need not add up to those of outputs.
SchemeSteps::Finish checked_correction(const SchemeSubject& subject, const std::string& samples) {
  return [correct = bias_correction(subject, samples), &console = *subject.console,
          path = subject.path,
          samples](const Graph& graph, Graph& quantized, Executor& executor) -> Expected<void> {
    Graph before = quantized;
    QUADRANT_CHECK(correct(graph, quantized, executor));
    QUADRANT_TRY(const double was, nearness(graph, before, samples, executor, console));
    QUADRANT_TRY(const double is, nearness(graph, quantized, samples, executor, console));
    if (!(is < was)) return {};
    quantized = std::move(before);
    console.report({Severity::warning,
                    fmt::format("bc: biases stay as they were: on these samples, the worst output "
                                "has {:.1f} dB with them, and {:.1f} dB with corrected ones",
                                was, is),
                    {.file = path}});
    return {};
  };
}

class WeightOnlyCommand final : public SchemeCommand {
 public:
  explicit WeightOnlyCommand(const SchemeEntry& entry) : SchemeCommand(entry) {}

  [[nodiscard]] bool is_data(const std::string& option) const override {
    return option == "--calibration";
  }

  [[nodiscard]] Expected<void> check(std::span<const SchemeChoice> choices,
                                     const OptionValues& model) const override {
    const Optimizations wanted = optimizations_of(model);
    QUADRANT_CHECK(cli::check(wanted));
    if (wanted.has("bc") && calibration().empty()) {
      return fail(ErrorCode::usage,
                  "--optimize bc looks at what layers compute: --calibration PATH says where "
                  "samples are");
    }
    if (wanted.has("bc") && is_statistics_file(calibration())) {
      return fail(ErrorCode::usage,
                  "--optimize bc runs the model: give samples to --calibration, not statistics",
                  {.file = calibration()});
    }
    return SchemeCommand::check(choices, model);
  }

  [[nodiscard]] Expected<void> check_format(std::string_view format,
                                            const OptionValues& options) const override {
    const auto* const form = quadrant::given<std::string>(options, "form");
    if (format != "matmulnbits" || form == nullptr || *form != "behind") return {};
    return fail(ErrorCode::usage,
                "quantize: MatMulNBits has its scales in front: --format matmulnbits does not go "
                "with --form behind");
  }

  [[nodiscard]] Expected<Registry> make(SchemeSubject& subject,
                                        std::span<const SchemeChoice> choices,
                                        const OptionValues& model) const override {
    const std::string path = calibration();
    QUADRANT_CHECK(transform_for(subject, optimizations_of(model), path));
    const auto rounding = [](const SchemeChoice& choice) {
      const auto* const word = quadrant::given<std::string>(choice.options, "rounding");
      return word == nullptr ? std::string_view() : std::string_view(*word);
    };
    if (path.empty()) {
      for (const SchemeChoice& choice : choices) {
        if (rounding(choice).empty() || rounding(choice) == "nearest") continue;
        return fail(ErrorCode::usage,
                    fmt::format("--rounding {} looks at what weights are multiplied by: "
                                "--calibration PATH says where samples are",
                                rounding(choice)));
      }
      return make_registry(choices);
    }
    const bool is_nearest = std::ranges::all_of(
        choices, [&](const SchemeChoice& choice) { return rounding(choice) == "nearest"; });
    if (is_nearest) {
      QUADRANT_CHECK(open_samples(path, subject.graph, *subject.console));
      return make_registry(choices);
    }
    if (is_statistics_file(path)) {
      const bool is_asked = std::ranges::any_of(
          choices, [&](const SchemeChoice& choice) { return !rounding(choice).empty(); });
      if (subject.has_calibrated && !is_asked) return make_registry(choices);
      return fail(ErrorCode::usage,
                  "weight_only rounds weights by samples: statistics, which are of one value at a "
                  "time, are a --calibration of static_affine ('quadrant list weight_only' shows "
                  "the options)",
                  {.file = path});
    }
    SchemeData data;
    QUADRANT_TRY(data.moments, moments_on(path, subject));
    const auto log = std::make_shared<RoundingLog>();
    subject.rounding = log;
    data.on_rounded = [log](std::string_view weight, const RoundedWeights& rounded) {
      const std::lock_guard lock(log->mutex);
      log->weights.insert_or_assign(std::string(weight), rounded);
    };
    subject.steps.review.emplace_back(
        [log, moments = data.moments, console = subject.console, model = subject.path,
         is_alone = !subject.has_calibrated](const Graph& graph, const QuantizeResult& result) {
          if (is_alone) tell_nearest(*moments, graph, result.graph, model, *console);
          tell(*log, model, *console);
        });
    subject.weights = data;
    return make_registry(choices, data);
  }

 protected:
  void declare_data(CLI::App& options, OptionValues& for_model) override {
    shared_ = options.get_option_no_throw("--calibration");
    if (shared_ != nullptr) return;  // another scheme's
    options
        .add_option("--calibration", own_,
                    "Samples to round weights by (as for 'quadrant calibrate --data')")
        ->type_name("PATH");
    cli::declare(options, recipe_model_options(), for_model);
  }

 private:
  // Unless another scheme of the run has done so.
  static Expected<void> transform_for(SchemeSubject& subject, const Optimizations& wanted,
                                      const std::string& samples) {
    if (wanted.names.empty() || std::exchange(subject.is_transformed, true)) return {};
    if (wanted.has("bc-analytic")) {
      return fail(ErrorCode::impossible,
                  "bc-analytic knows what weights become in products on codes, not in weight_only: "
                  "--optimize bc corrects biases on samples");
    }
    QUADRANT_CHECK(
        in_file(transform(subject.graph, wanted, subject.path, *subject.console), subject.path));
    if (wanted.has("bc")) subject.steps.finish.push_back(checked_correction(subject, samples));
    return {};
  }

  [[nodiscard]] std::string calibration() const {
    if (shared_ == nullptr) return own_;
    return shared_->count() == 0 ? std::string() : shared_->as<std::string>();
  }

  [[nodiscard]] static Expected<std::shared_ptr<const SecondMomentsTable>> moments_on(
      const std::string& path, SchemeSubject& subject) {
    QUADRANT_TRY(const auto samples, open_samples(path, subject.graph, *subject.console));
    QUADRANT_TRY(const auto interpreter, make_interpreter(*subject.console));
    auto found =
        in_file(collect_second_moments(subject.graph, *interpreter, *samples,
                                       {.executor = subject.executor, .sink = subject.console}),
                subject.path);
    if (!found) {
      const bool cannot_run = found.error().code == ErrorCode::impossible;
      if (cannot_run) found.error().message += "; with --rounding nearest it is not run";
      return fail(std::move(found).error());
    }
    tell_few(*found, subject.path, *subject.console);
    return std::make_shared<const SecondMomentsTable>(*std::move(found));
  }

  CLI::Option* shared_ = nullptr;
  std::string own_;
};

}  // namespace

std::unique_ptr<SchemeCommand> make_weight_only(const SchemeEntry& entry) {
  return std::make_unique<WeightOnlyCommand>(entry);
}

}  // namespace quadrant::cli

// quadrant sensitivity MODEL: which layer, quantized alone, costs how much at the outputs.
#include "quadrant/calibration/sensitivity.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/data_options.hpp"
#include "cli/decision.hpp"
#include "cli/model.hpp"
#include "cli/runtimes.hpp"
#include "cli/thread_executor.hpp"
#include "quadrant/recipe/sensitivity_json.hpp"
#include "quadrant/report/sensitivity.hpp"

namespace quadrant::cli {
namespace {

// Where quantized values begin: a weight, or what stands in for one.
struct Layer {
  std::string name;
  NodeId node;
};

bool is_root(const Graph& graph, const Selection& selection, NodeId node) {
  const auto operands = graph.operands(node);
  return graph.result_count(node) != 0 && selection.is_selected({node, 0}) &&
         std::ranges::none_of(operands, [&](Value operand) {
           return !operand.is_absent() && selection.is_selected(operand);
         });
}

std::vector<Layer> find_layers(const Graph& graph, const Analysis& analysis) {
  std::vector<Layer> layers;
  for (const NodeId node : analysis.order) {
    if (!is_root(graph, analysis.selection, node)) continue;
    layers.push_back({std::string(graph.value_name({node, 0})), node});
  }
  return layers;
}

class Sensitivity final : public Command {
 public:
  CLI::App* declare(CLI::App& app) override {
    CLI::App* command = app.add_subcommand(
        "sensitivity", "Quantize each weight alone and say what that costs at the outputs");
    cli::declare(*command, options_);
    cli::declare(*command, data_);
    declare_runtime(*command, runtime_);
    command
        ->add_option("--cache", cache_,
                     "File of what was measured: read if it is there, written as the work goes on")
        ->type_name("FILE");
    command->footer(
        "Weights are those that 'quadrant quantize' with the same options would quantize, the "
        "most\n"
        "sensitive first.\n\n"
        "Example:\n"
        "  quadrant sensitivity model.onnx --scheme weight-only --bits 4 --data samples");
    return command;
  }

  [[nodiscard]] bool wants_json() const noexcept override { return options_.json; }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(check(data_));
    QUADRANT_TRY(const auto runtime, make_runtime(runtime_));
    if (!cache_.empty()) QUADRANT_CHECK(check_side_output(cache_, options_.model));
    QUADRANT_TRY(Subject subject, prepare(options_, console));
    QUADRANT_TRY(const auto data, open_data(data_, subject.graph, console));
    QUADRANT_CHECK(hold_constants(subject.graph));
    const QuantizeOptions engine = subject.engine_options();
    QUADRANT_TRY(const Analysis analysis, analyze(subject.graph, subject.registry, engine));
    const std::vector<Layer> layers = find_layers(subject.graph, analysis);
    if (layers.empty()) {
      return fail(ErrorCode::impossible,
                  "with these options no weight is quantized: there is nothing to measure",
                  {.file = options_.model});
    }
    SensitivityCache cache;
    QUADRANT_TRY(cache.fingerprint, fingerprint(subject, *data));
    QUADRANT_CHECK(load(cache, console));
    ThreadExecutor executor(data_.threads);
    const auto quantize_alone = [&](const std::string& name) -> Expected<Graph> {
      QuantizeOptions alone = subject.engine_options();
      for (const Layer& layer : layers) {
        if (layer.name != name) alone.vetoes[layer.node] = "another weight is measured";
      }
      QUADRANT_TRY(QuantizeResult result, quantize(subject.graph, subject.registry, alone));
      return std::move(result.graph);
    };
    std::vector<std::string> names;
    for (const Layer& layer : layers) names.push_back(layer.name);
    QUADRANT_TRY(std::vector<LayerSensitivity> study,
                 measure_sensitivity(subject.graph, names, quantize_alone, *runtime, *data,
                                     {.executor = &executor, .sink = &console, .cache = &cache},
                                     [&] { return save(cache); }));
    std::ranges::stable_sort(study, {}, &LayerSensitivity::sqnr_db);
    print(study, console);
    return {};
  }

 private:
  // The scheme's own description has all of its options.
  [[nodiscard]] Expected<std::uint64_t> fingerprint(const Subject& subject,
                                                    const DataSet& data) const {
    std::string settings = fmt::format("{} {}", options_.gain, runtime_);
    for (std::uint32_t i = 0; i < subject.registry.scheme_count(); ++i) {
      settings += " " + subject.registry.scheme(i).describe();
    }
    return sensitivity_fingerprint(subject.graph, data, settings);
  }

  Expected<void> load(SensitivityCache& cache, Sink& sink) const {
    if (cache_.empty() || !std::filesystem::exists(cache_)) return {};
    QUADRANT_TRY(const std::string text, read_text(cache_));
    Expected<SensitivityCache> saved = parse_sensitivity(text);
    if (!saved) {
      Error error = std::move(saved).error();
      error.place.file = cache_;
      return fail(std::move(error));
    }
    if (saved->fingerprint == cache.fingerprint) {
      cache = *std::move(saved);
    } else {
      sink.report({Severity::note,
                   "it was measured with another model, other samples or other options: measured "
                   "anew",
                   {.file = cache_}});
    }
    return {};
  }

  [[nodiscard]] Expected<void> save(const SensitivityCache& cache) const {
    if (cache_.empty()) return {};
    return write_text(cache_, print_sensitivity(cache));
  }

  void print(const std::vector<LayerSensitivity>& study, Console& console) const {
    if (options_.json) {
      console.print_json(
          Json{{"model", options_.model},
               {"layers", quadrant::to_json(std::span<const LayerSensitivity>(study))}});
    } else {
      console.print(to_string(std::span<const LayerSensitivity>(study)));
    }
  }

  DecisionOptions options_;
  DataOptions data_;
  std::string runtime_ = std::string(runtime_names.front());
  std::string cache_;
};

}  // namespace

std::unique_ptr<Command> make_sensitivity() { return std::make_unique<Sensitivity>(); }

}  // namespace quadrant::cli

// quadrant sensitivity MODEL: which layer, quantized alone, costs how much at the outputs.
#include "quadrant/calibration/sensitivity.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "calibration/located.hpp"
#include "cli/command.hpp"
#include "cli/data_options.hpp"
#include "cli/decision.hpp"
#include "cli/model.hpp"
#include "cli/runtimes.hpp"
#include "cli/sensitivity_cache.hpp"
#include "quadrant/adapters/tbb.hpp"
#include "quadrant/recipe/plan_json.hpp"
#include "quadrant/recipe/recipe_json.hpp"
#include "quadrant/recipe/sensitivity_json.hpp"
#include "quadrant/report/sensitivity.hpp"
#include "quadrant/runtime/runtime.hpp"
#include "quadrant/support/content_hash.hpp"

namespace quadrant::cli {
namespace {

// What is quantized alone: a weight, or what stands in for one; or several, where the quantization
// of something that is made of them (a concatenation, say) needs them all.
struct Layer {
  std::string name;
  std::vector<NodeId> weights;
};

// Quantized values begin where no operand is one.
std::vector<Layer> find_layers(const Graph& graph, const Analysis& analysis) {
  const Selection& selection = analysis.selection;
  std::vector<std::uint32_t> rank(graph.index_bound());
  std::vector<std::uint32_t> parent(graph.index_bound());
  std::iota(parent.begin(), parent.end(), 0U);
  boost::disjoint_sets together(rank.data(), parent.data());
  std::vector<NodeId> roots;
  for (const NodeId node : analysis.order) {
    if (graph.result_count(node) == 0 || !selection.is_selected({node, 0})) continue;
    bool is_root = true;
    for (const Value operand : graph.operands(node)) {
      if (operand.is_absent() || !selection.is_selected(operand)) continue;
      together.union_set(node.index, operand.node.index);
      is_root = false;
    }
    if (is_root) roots.push_back(node);
  }
  std::vector<Layer> layers;
  std::unordered_map<std::uint32_t, std::size_t> known;
  for (const NodeId root : roots) {
    const auto [found, is_new] = known.try_emplace(together.find_set(root.index), layers.size());
    const std::string name = name_in_json(graph.value_name({root, 0}));
    if (is_new) {
      layers.push_back({name, {root}});
    } else {
      Layer& layer = layers[found->second];
      layer.name += " + " + name;
      layer.weights.push_back(root);
    }
  }
  return layers;
}

// Layers of a model, each quantized without the others.
class Alone {
 public:
  Alone(const Subject& subject, Vetoes vetoes, std::vector<Layer> layers)
      : subject_(subject), vetoes_(std::move(vetoes)), layers_(std::move(layers)) {}

  [[nodiscard]] std::size_t size() const noexcept { return layers_.size(); }

  // Its name, and what tells how it is quantized.
  [[nodiscard]] Expected<SensitivityLayer> decide(std::size_t layer) const {
    QUADRANT_TRY(const Analysis analysis,
                 analyze(subject_.graph, subject_.registry, options(layer)));
    ContentHash hash;
    for (const NodeId weight : layers_[layer].weights) {
      const std::string_view name = subject_.graph.value_name({weight, 0});
      if (!analysis.selection.is_selected({weight, 0})) {
        return fail(ErrorCode::impossible,
                    "without the other weights it is not quantized: leave it out with --exclude",
                    {.tensor = std::string(name)});
      }
      hash.add(std::as_bytes(std::span(name)));
    }
    const std::string plan = print_plan(analysis.plan);
    hash.add(std::as_bytes(std::span(plan)));
    return SensitivityLayer{layers_[layer].name, hash.value()};
  }

  [[nodiscard]] Expected<Graph> quantize(std::size_t layer) const {
    QUADRANT_TRY(QuantizeResult result,
                 quadrant::quantize(subject_.graph, subject_.registry, options(layer)));
    return std::move(result.graph);
  }

 private:
  [[nodiscard]] QuantizeOptions options(std::size_t layer) const {
    QuantizeOptions options = subject_.engine_options();
    options.vetoes = vetoes_;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (i == layer) continue;
      for (const NodeId weight : layers_[i].weights) {
        options.vetoes[weight] = "another weight is measured";
      }
    }
    return options;
  }

  const Subject& subject_;
  Vetoes vetoes_;
  std::vector<Layer> layers_;
};

// Of all layers; the first error in their order.
Expected<std::vector<SensitivityLayer>> decide(const Alone& alone, Executor& executor) {
  std::vector<Expected<SensitivityLayer>> decided(alone.size());
  executor.parallel_for(alone.size(), [&](std::size_t i) { decided[i] = alone.decide(i); });
  std::vector<SensitivityLayer> layers;
  for (auto& each : decided) {
    QUADRANT_TRY(layers.emplace_back(), std::move(each));
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
    declare_non_finite(*command, options_.non_finite);
    declare_runtime(*command, runtime_);
    command
        ->add_option("--cache", cache_,
                     "File of what was measured: read if it is there, written as the work goes on")
        ->type_name("FILE");
    command->footer(
        "Weights are those that 'quadrant quantize' with the same options would quantize, the "
        "most\n"
        "sensitive first. Several that can only be quantized together are measured together.\n\n"
        "Example:\n"
        "  quadrant sensitivity model.onnx --scheme weight-only --bits 4 --data samples");
    return command;
  }

  [[nodiscard]] bool wants_json() const noexcept override { return options_.json; }
  [[nodiscard]] bool runs_models() const noexcept override { return true; }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(check(data_));
    QUADRANT_TRY(const auto runtime, make_runtime(runtime_, console));
    QUADRANT_TRY(Subject subject, prepare(options_, console));
    QUADRANT_TRY(const auto data, open_data(data_, subject.graph, console));
    QUADRANT_TRY(std::vector<LayerSensitivity> study,
                 in_file(measure(subject, *runtime, *data, console), options_.model));
    std::ranges::stable_sort(study, [](const LayerSensitivity& a, const LayerSensitivity& b) {
      return worse_than(a, b);
    });
    print(study, console);
    return {};
  }

 private:
  [[nodiscard]] Expected<std::vector<LayerSensitivity>> measure(Subject& subject,
                                                                const Runtime& runtime,
                                                                const DataSet& data,
                                                                Console& console) const {
    TbbExecutor executor(options_.threads);
    QUADRANT_CHECK(hold_constants(subject.graph));
    QuantizeOptions engine = subject.engine_options();
    engine.executor = &executor;
    QUADRANT_TRY(const QuantizeResult all,
                 quantize_with(subject.steps, subject.graph, subject.registry, engine, false));
    const Alone alone(subject, all.analysis.vetoes, find_layers(subject.graph, all.analysis));
    if (alone.size() == 0) {
      return fail(ErrorCode::impossible,
                  "with these options no weight is quantized: there is nothing to measure");
    }
    QUADRANT_TRY(const std::vector<SensitivityLayer> layers, decide(alone, executor));
    SensitivityCache cache;
    QUADRANT_TRY(cache.fingerprint, fingerprint(subject, data));
    QUADRANT_CHECK(in_file(load(cache, subject.graph, console), cache_));
    return measure_sensitivity(
        subject.graph, layers, [&](std::size_t layer) { return alone.quantize(layer); }, runtime,
        data, {.executor = &executor, .sink = &console, .cache = &cache},
        [&] { return save(cache); });
  }

  // The scheme's own description has all of its options.
  [[nodiscard]] Expected<std::uint64_t> fingerprint(const Subject& subject,
                                                    const DataSet& data) const {
    std::string settings = fmt::format("{}{} {}", options_.gain, options_.hardware, runtime_);
    for (std::uint32_t i = 0; i < subject.registry.scheme_count(); ++i) {
      settings +=
          fmt::format(" {} {}", subject.registry.name(i), subject.registry.scheme(i).describe());
    }
    if (subject.weights.moments != nullptr) {
      settings += print_recipe(subject.recipe.recipe);
      for (const auto& [name, moments] : subject.weights.moments->weights) {
        settings += fmt::format(" {} {:x}", name, moments.fingerprint());
      }
    }
    return sensitivity_fingerprint(subject.graph, data, settings);
  }

  Expected<void> load(SensitivityCache& cache, const Graph& graph, Sink& sink) const {
    std::error_code ignored;  // reading says more
    if (cache_.empty() || !std::filesystem::exists(cache_, ignored)) return {};
    QUADRANT_TRY(const std::string text, read_text(cache_));
    QUADRANT_TRY(SensitivityCache saved, parse_sensitivity(text));
    if (saved.fingerprint == cache.fingerprint) {
      QUADRANT_CHECK(check_outputs(saved, graph));
      cache = std::move(saved);
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
    const std::string text = print_sensitivity(cache);
    QUADRANT_TRY(NewFile file, NewFile::create(cache_));
    QUADRANT_CHECK(file.write(std::as_bytes(std::span(text))));
    return file.commit();
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

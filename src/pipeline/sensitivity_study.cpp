#include <fmt/format.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <filesystem>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "quadrant/pipeline/gather.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/files.hpp"
#include "quadrant/support/ranks.hpp"
#include "report/json.hpp"
#include "support/content_hash.hpp"
#include "support/input_file.hpp"

namespace quadrant::inline v0 {
namespace {

// The name that a reader of JSON gets to see, which is also that of what was saved before.
std::string name_in_json(std::string_view name) {
  return Json::parse(text_of(Json(std::string(name)))).get<std::string>();
}

// What was saved must be of this model's outputs.
Expected<void> check_outputs(const SensitivityCache& saved, const Graph& graph) {
  const std::vector<Value> outputs = output_values(graph);
  for (const auto& [name, layer] : saved.layers) {
    bool is_same = layer.outputs.size() == outputs.size();
    for (std::size_t i = 0; is_same && i < outputs.size(); ++i) {
      is_same = layer.outputs[i].name == name_in_json(graph.name(graph.outputs()[i])) &&
                layer.outputs[i].kind == name_in_json(graph.kind(outputs[i].node));
    }
    if (!is_same) {
      return fail(ErrorCode::invalid_model,
                  fmt::format("layer '{}': its outputs are not the model's", name));
    }
  }
  return {};
}

Expected<std::vector<LayerSensitivity>> parse_study(std::string_view text, const Graph& graph) {
  QUADRANT_TRY(SensitivityCache saved, parse_sensitivity(text));
  QUADRANT_CHECK(check_outputs(saved, graph));
  std::vector<LayerSensitivity> study;
  study.reserve(saved.layers.size());
  for (auto& [name, layer] : saved.layers) {
    study.push_back({name, std::move(layer.outputs), true});
  }
  std::ranges::stable_sort(
      study, [](const LayerSensitivity& a, const LayerSensitivity& b) { return worse_than(a, b); });
  return study;
}

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
  Alone(const PreparedRun& run, Vetoes vetoes, std::vector<Layer> layers)
      : run_(run), vetoes_(std::move(vetoes)), layers_(std::move(layers)) {}

  [[nodiscard]] std::size_t size() const noexcept { return layers_.size(); }

  // Its name, and what tells how it is quantized.
  [[nodiscard]] Expected<SensitivityLayer> decide(std::size_t layer) const {
    QUADRANT_TRY(const Analysis analysis, analyze(run_.graph, run_.registry, options(layer)));
    ContentHash hash;
    for (const NodeId weight : layers_[layer].weights) {
      const std::string_view name = run_.graph.value_name({weight, 0});
      if (!analysis.selection.is_selected({weight, 0})) {
        return fail(ErrorCode::impossible,
                    "without the other weights it is not quantized: exclude it",
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
                 quadrant::quantize(run_.graph, run_.registry, options(layer)));
    return std::move(result.graph);
  }

 private:
  [[nodiscard]] QuantizeOptions options(std::size_t layer) const {
    QuantizeOptions options = run_.engine_options();
    options.executor = nullptr;  // layers run at the same time
    options.sink = nullptr;
    options.vetoes = vetoes_;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (i == layer) continue;
      for (const NodeId weight : layers_[i].weights) {
        options.vetoes[weight] = "another weight is measured";
      }
    }
    return options;
  }

  const PreparedRun& run_;
  Vetoes vetoes_;
  std::vector<Layer> layers_;
};

// Of all layers; the first error in their order.
Expected<std::vector<SensitivityLayer>> decide(const Alone& alone, Executor* executor) {
  std::vector<Expected<SensitivityLayer>> decided(alone.size());
  SerialExecutor serial;
  (executor != nullptr ? *executor : serial).parallel_for(alone.size(), [&](std::size_t i) {
    decided[i] = alone.decide(i);
  });
  std::vector<SensitivityLayer> layers;
  for (auto& each : decided) {
    QUADRANT_TRY(layers.emplace_back(), std::move(each));
  }
  return layers;
}

// The scheme's own description has all of its options.
Expected<std::uint64_t> fingerprint(const PreparedRun& run, const DataSet& data,
                                    std::string settings) {
  for (std::uint32_t i = 0; i < run.registry.scheme_count(); ++i) {
    settings += fmt::format(" {} {}", run.registry.name(i), run.registry.scheme(i).describe());
  }
  if (run.weights.moments != nullptr) {
    settings += print_recipe(run.recipe.recipe);
    for (const auto& [name, saved] : run.weights.moments->weights) {
      QUADRANT_TRY(const auto moments, run.weights.moments->load(name));
      settings += fmt::format(" {} {:x}", name, moments->fingerprint());
    }
  }
  return sensitivity_fingerprint(run.graph, data, settings);
}

// Of the first rank's file: ranks that know different layers would measure different ones.
Expected<std::optional<std::string>> read_cache(const std::string& path, Ranks* ranks) {
  constexpr std::string_view found = "found";
  const auto read = [&]() -> Expected<std::string> {
    std::error_code ignored;  // reading says more
    if (!is_first(ranks) || !std::filesystem::exists(path, ignored)) return std::string();
    return read_text(path).map([&](const std::string& text) { return std::string(found) + text; });
  };
  QUADRANT_TRY(const std::string text, ranks == nullptr ? read() : ranks->of_first(read()));
  if (text.empty()) return std::nullopt;
  return text.substr(found.size());
}

Expected<void> load(const std::string& path, SensitivityCache& cache, const PreparedRun& run) {
  if (path.empty()) return {};
  QUADRANT_TRY(const std::optional<std::string> text, read_cache(path, run.context.ranks));
  if (!text) return {};
  QUADRANT_TRY(SensitivityCache saved, parse_sensitivity(*text));
  if (saved.fingerprint == cache.fingerprint) {
    QUADRANT_CHECK(check_outputs(saved, run.graph));
    cache = std::move(saved);
  } else {
    run.context.note(
        "it was measured with another model, other samples or other options: measured anew",
        {.file = path});
  }
  return {};
}

// At once, whatever becomes of the rest.
Expected<void> save(const std::string& path, const SensitivityCache& cache) {
  if (path.empty()) return {};
  const std::string text = print_sensitivity(cache);
  QUADRANT_TRY(NewFile file, NewFile::create(path));
  QUADRANT_CHECK(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

Expected<std::vector<LayerSensitivity>> measure(PreparedRun& run, const Runtime& runtime,
                                                const DataSet& data,
                                                const SensitivityStudyOptions& options) {
  QUADRANT_CHECK(hold_constants(run.graph));
  QUADRANT_TRY(const QuantizeResult all, run.quantize({.is_to_be_used = false}));
  const Alone alone(run, all.analysis.vetoes, find_layers(run.graph, all.analysis));
  if (alone.size() == 0) {
    return fail(ErrorCode::impossible,
                "with these options no weight is quantized: there is nothing to measure");
  }
  const RunContext& context = run.context;
  QUADRANT_TRY(const std::vector<SensitivityLayer> layers, decide(alone, context.executor));
  SensitivityCache cache;
  QUADRANT_TRY(cache.fingerprint, fingerprint(run, data, options.settings));
  if (context.ranks != nullptr) {
    QUADRANT_CHECK(
        context.ranks->check_same("a sample, or an option,", std::to_string(cache.fingerprint)));
  }
  QUADRANT_CHECK(in_file(load(options.cache, cache, run), options.cache));
  return measure_sensitivity(
      run.graph, layers, [&](std::size_t layer) { return alone.quantize(layer); }, runtime, data,
      {.executor = context.executor, .sink = context.sink, .ranks = context.ranks, .cache = &cache},
      [&]() -> Expected<void> {
        QUADRANT_CHECK(context.check_stop());
        if (!is_first(context.ranks)) return {};
        return save(options.cache, cache);
      });
}

}  // namespace

Expected<std::vector<LayerSensitivity>> study_sensitivity(PreparedRun& run, const Runtime& runtime,
                                                          const DataSet& data,
                                                          const SensitivityStudyOptions& options) {
  QUADRANT_TRY(std::vector<LayerSensitivity> study,
               in_file(measure(run, runtime, data, options), run.model));
  std::ranges::stable_sort(
      study, [](const LayerSensitivity& a, const LayerSensitivity& b) { return worse_than(a, b); });
  return study;
}

Expected<std::vector<LayerSensitivity>> read_sensitivity(const std::string& path,
                                                         const Graph& graph) {
  QUADRANT_TRY(const std::string text, read_text(path));
  return in_file(parse_study(text, graph), path);
}

}  // namespace quadrant::inline v0

#include "cli/sensitivity_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "calibration/located.hpp"
#include "cli/model.hpp"
#include "quadrant/recipe/sensitivity_json.hpp"
#include "report/json.hpp"

namespace quadrant::cli {

std::string name_in_json(std::string_view name) {
  return Json::parse(text_of(Json(std::string(name)))).get<std::string>();
}

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

namespace {

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

}  // namespace

Expected<std::vector<LayerSensitivity>> read_sensitivity(const std::string& path,
                                                         const Graph& graph) {
  QUADRANT_TRY(const std::string text, read_text(path));
  return in_file(parse_study(text, graph), path);
}

}  // namespace quadrant::cli

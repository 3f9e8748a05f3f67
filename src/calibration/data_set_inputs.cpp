#include "calibration/data_set_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quadrant::inline v0::data_set {

std::vector<Input> inputs_of(const Graph& graph) {
  std::vector<Input> inputs;
  for (const NodeId node : graph.inputs()) {
    const Value value{node, 0};
    const TensorType& type = graph.type(value);
    inputs.push_back({std::string(graph.value_name(value)), type.element, type.shape});
  }
  return inputs;
}

std::string listed(std::span<const std::string> names) {
  constexpr std::size_t most = 8;
  if (names.empty()) return "nothing";
  std::string text;
  for (const std::string& name : names.first(std::min(most, names.size()))) {
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name);
  }
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

std::string listed(std::span<const Input> inputs) {
  std::vector<std::string> names;
  for (const Input& input : inputs) names.push_back(input.name);
  return listed(names);
}

}  // namespace quadrant::inline v0::data_set

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/shape_inference.hpp"
#include "quadrant/transforms/prepare.hpp"

namespace quadrant::inline v0 {

Expected<void> fix_shapes(Graph& graph, const std::map<std::string, Shape>& shapes) {
  if (shapes.empty()) return {};
  std::vector<std::string_view> names;
  for (const NodeId input : graph.inputs()) names.push_back(graph.value_name({input}));
  for (const auto& [name, shape] : shapes) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      return fail(ErrorCode::usage, fmt::format("the model has no input '{}': it has {}", name,
                                                fmt::join(names, ", ")));
    }
    const Value input{graph.inputs()[static_cast<std::size_t>(found - names.begin())]};
    TensorType type = graph.type(input);
    auto fixed = merged(type.shape, shape);
    if (!fixed) {
      return fail(ErrorCode::usage,
                  fmt::format("the model's input is of shape [{}], which cannot be [{}]",
                              to_string(type.shape), to_string(shape)),
                  {.tensor = name});
    }
    type.shape = *std::move(fixed);
    graph.set_type(input, std::move(type));
  }
  return infer_shapes(graph);
}

}  // namespace quadrant::inline v0

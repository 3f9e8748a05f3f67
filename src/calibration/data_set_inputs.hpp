// What the inputs of a model ask of a sample.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::data_set {

struct Input {
  std::string name;
  ElementType element = ElementType::undefined;
  Shape shape;
};

[[nodiscard]] std::vector<Input> inputs_of(const Graph& graph);

/// `'a', 'b' and 3 more`, for messages.
[[nodiscard]] std::string listed(std::span<const std::string> names);
[[nodiscard]] std::string listed(std::span<const Input> inputs);

}  // namespace quadrant::inline v0::data_set

// What a quantized graph says of a value of the float model.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "build.hpp"
#include "ir/scales.hpp"

namespace quadrant::test {

/// The type of the codes that the value of that name is, was quantized to, or is made of; null
/// where there are none.
inline std::shared_ptr<const UniformType> type_of_codes(const Graph& graph, std::string_view name) {
  const Value value = graph.find_value(name);
  REQUIRE_MESSAGE(!value.is_absent(), name);
  if (graph.type(value).is_quantized()) return graph.type(value).uniform();
  if (graph.kind(value.node) == ops::Dequantize::kind) {
    return graph.type(graph.operands(value.node)[0]).uniform();
  }
  for (const Use& use : graph.uses(value.node)) {
    if (use.result == value.result && graph.kind(use.user) == ops::Quantize::kind) {
      return graph.type({use.user}).uniform();
    }
  }
  return nullptr;
}

inline std::vector<float> scales_of(const UniformType& type) {
  return value_of(read_scales(type.scales));
}

/// As many as scales.
inline std::vector<std::int64_t> zero_points_of(const UniformType& type) {
  if (type.zero_points) return value_of(read_integers(type.zero_points));
  return std::vector<std::int64_t>(scales_of(type).size(), 0);
}

/// Statistics of values that were seen to be of these ranges.
struct SeenRange {
  std::string_view name;
  float low = 0;
  float high = 0;
};
inline std::shared_ptr<StatisticsTable> statistics_of(const std::vector<SeenRange>& ranges) {
  auto table = std::make_shared<StatisticsTable>();
  for (const auto& [name, low, high] : ranges) {
    table->values[std::string(name)].histogram.add(std::vector<float>{low, high});
  }
  return table;
}

}  // namespace quadrant::test

// Tensors in number formats, with what they stand for computed by the definition.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/round_weights.hpp"

namespace quadrant::test {

/// Numbers that differ along all axes, some of them 0.
inline std::vector<float> some_numbers(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = 12345;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    const auto bits = static_cast<float>(static_cast<std::int32_t>(state) >> 8);
    value = state % 11 == 0 ? 0.0F : bits / 4e6F;
  }
  return values;
}

/// `%y = dequantize(%codes)` of such numbers in `format`, and `%y` is an output.
inline Graph graph_of(const NumberFormat& format, const Shape& shape) {
  const std::int64_t count = *shape.element_count();
  const Constant real = Constant::from_vector(ElementType::float32, shape, some_numbers(count));
  const auto encoded = encode_constant(real, format);
  REQUIRE_MESSAGE(encoded, to_string(encoded.error()));
  Graph graph;
  const Value codes = graph.add_constant("codes", encoded->codes);
  graph.set_constant(codes.node, encoded->codes, encoded->quantization);
  graph.add_output("y", {graph.add({.kind = std::string(ops::Dequantize::kind),
                                    .operands = {codes},
                                    .results = {{"y", {ElementType::float32, shape, {}}}}})});
  return graph;
}

}  // namespace quadrant::test

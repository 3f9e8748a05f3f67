// Small float graphs for the scheme's tests.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/shape_inference.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace build {

using namespace quadrant;

/// A float32 constant with element i = values(i).
template <class Values>
Value weight(Graph& graph, std::string name, const std::vector<std::int64_t>& extents,
             Values values) {
  const Shape shape(extents);
  std::vector<float> contents(static_cast<std::size_t>(*shape.element_count()));
  for (std::size_t i = 0; i < contents.size(); ++i) contents[i] = values(i);
  return graph.add_constant(
      std::move(name),
      Constant::from_values(ElementType::float32, shape, std::span<const float>(contents)));
}

inline Value weight(Graph& graph, std::string name, const std::vector<std::int64_t>& extents) {
  // Distinct values, so that a wrong axis or order shows.
  return weight(graph, std::move(name), extents, [](std::size_t i) {
    return static_cast<float>(i % 17) - 8.0F + static_cast<float>(i) / 64.0F;
  });
}

inline Value input(Graph& graph, std::string name, const std::vector<std::int64_t>& extents) {
  return graph.add_input(std::move(name), {ElementType::float32, Shape(extents), nullptr});
}

inline Value node(Graph& graph, std::string_view kind, std::string name,
                  std::vector<Value> operands, Attributes attributes = {}) {
  return {graph.add({.kind = std::string(kind),
                     .name = name,
                     .operands = std::move(operands),
                     .results = {{name, {ElementType::float32, Shape(), nullptr}}},
                     .attributes = std::move(attributes)})};
}

/// A reshape to `extents`, with the shape as a constant operand.
inline Value reshape(Graph& graph, std::string name, Value data,
                     const std::vector<std::int64_t>& extents) {
  const Value shape = graph.add_constant(
      name + "_shape",
      Constant::from_values(ElementType::int64, Shape{static_cast<std::int64_t>(extents.size())},
                            std::span<const std::int64_t>(extents)));
  return node(graph, ops::Reshape::kind, std::move(name), {data, shape});
}

/// Infers shapes and quantizes; the result is verified.
inline QuantizeResult quantize(Graph& graph, const WeightOnlyOptions& scheme,
                               const QuantizeOptions& options = {}) {
  const auto inferred = infer_shapes(graph);
  REQUIRE_MESSAGE(inferred.has_value(), to_string(inferred ? Error{} : inferred.error()));
  auto result = quantize_weight_only(graph, scheme, options);
  REQUIRE_MESSAGE(result.has_value(), to_string(result ? Error{} : result.error()));
  const auto verified = verify(result->graph);
  REQUIRE_MESSAGE(verified.has_value(), to_string(verified ? Error{} : verified.error()));
  return *std::move(result);
}

inline QuantizeResult quantize(Graph& graph, const QuantizeOptions& options = {}) {
  return quantize(graph, WeightOnlyOptions{}, options);
}

/// Counts operands instead of bytes, so that small weights are worth something.
inline QuantizeOptions by_operands() {
  static const UnitGain unit;
  QuantizeOptions options;
  options.gains = &unit;
  return options;
}

/// The planned constraint of a value, or "float".
inline std::string planned(const QuantizeResult& result, std::string_view value) {
  for (const PlannedValue& entry : result.analysis.plan.values) {
    if (entry.value == value) return entry.constraint;
  }
  return "float";
}

}  // namespace build

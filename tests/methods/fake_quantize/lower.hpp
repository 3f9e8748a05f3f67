// Models as text, lowered, and what they compute.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ir/scales.hpp"
#include "model_text.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/methods/fake_quantize.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::test {

inline constexpr FakeQuantizeOptions cpu{.target = KernelsTarget::openvino_cpu};
inline constexpr FakeQuantizeOptions gpu{.target = KernelsTarget::openvino_gpu};
inline constexpr FakeQuantizeOptions generic{.target = KernelsTarget::openvino_generic};

/// Kinds of the operations, as `operations_of` has them.
inline std::string kinds_of(const Graph& graph) {
  return fmt::format("{}", fmt::join(operations_of(graph), ", "));
}

/// The type of a value, as text.
inline std::string type_of(const Graph& graph, std::string_view name) {
  const Value value = graph.find_value(name);
  REQUIRE_MESSAGE(!value.is_absent(), name);
  return to_string(graph.type(value));
}

inline LowPrecision lowered(const Graph& graph, const FakeQuantizeOptions& options = {}) {
  LowPrecision result = value_of(quantize_simulated(graph, options));
  const auto verified = verify(result.graph);
  REQUIRE_MESSAGE(verified, (verified ? std::string() : to_string(verified.error())));
  return result;
}

inline LowPrecision lowered(std::string_view text, const FakeQuantizeOptions& options = {}) {
  return lowered(parsed(text), options);
}

/// Why a value of the model is what it is.
inline std::string reason(const LowPrecision& result, std::string_view name) {
  const Value value = result.model.find_value(name);
  REQUIRE_MESSAGE(!value.is_absent(), name);
  return explain(result.model, result.analysis.registry, result.analysis, value.node).reason;
}

/// Evenly spread over [low, high], the same at each call.
inline Tensor spread(const Shape& shape, float low, float high, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(*shape.element_count()));
  for (float& value : values) {
    value = low + (high - low) * static_cast<float>(random()) / 4294967296.0F;
  }
  return Tensor::from_values<float>(ElementType::float32, shape, values);
}

/// What the first output of the model is; codes are made explicit.
inline std::vector<float> run(Graph graph, const Tensors& inputs) {
  make_quantization_explicit(graph);
  const auto watched = output_values(graph);
  const auto model = value_of(Interpreter().load(graph, watched));
  const Tensors results = value_of(run_model(*model, inputs, watched.size()));
  const auto values = results.front().as<float>();
  return {values.begin(), values.end()};
}

/// The largest distance between what the model and its lowered form give, for data in [low, high].
inline double distance(const Graph& model, const Graph& lower, float low, float high) {
  Tensors inputs;
  for (const NodeId input : model.inputs()) {
    inputs.push_back(
        spread(model.type({input}).shape, low, high, static_cast<unsigned>(inputs.size()) + 1));
  }
  const auto expected = run(model, inputs);
  const auto found = run(lower, inputs);
  REQUIRE(expected.size() == found.size());
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    REQUIRE(std::isfinite(found[i]));
    largest = std::max(largest,
                       std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])));
  }
  return largest;
}

}  // namespace quadrant::test

// Small float models, with statistics from running them, for the scheme's tests.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "calibration/memory_data.hpp"
#include "ir/build.hpp"
#include "ir/opset.hpp"
#include "ir/shape_inference.hpp"
#include "model_text.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::test {

/// A graph that grows; shapes are known after each step.
class Model {
 public:
  explicit Model(unsigned seed = 1) : random_(seed) {
    graph.attributes().set(std::string(opset_domains_key), std::vector<std::string>{""});
    graph.attributes().set(std::string(opset_versions_key), std::vector<std::int64_t>{17});
  }

  Graph graph;

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool coin() { return number(0, 1) == 1; }
  std::vector<float> reals(const Shape& shape, float size = 1, float offset = 0) {
    std::normal_distribution<float> normal(offset, size);
    std::vector<float> values(static_cast<std::size_t>(*shape.element_count()));
    for (float& value : values) value = normal(random_);
    return values;
  }

  Value input(std::string name, const Shape& shape) {
    return graph.add_input(std::move(name), build::f32(shape));
  }
  Value constant(std::string name, const Shape& shape, const std::vector<float>& values) {
    return graph.add_constant(std::move(name), build::floats(shape, values));
  }
  Value weight(std::string name, const Shape& shape, float size = 0.5F) {
    return constant(std::move(name), shape, reals(shape, size));
  }
  Value integers(const std::vector<std::int64_t>& values) {
    return graph.add_constant("integers", build::integers(values));
  }
  Value add(std::string kind, std::vector<Value> operands, std::string name = "v",
            Attributes attributes = {}) {
    const Value made = build::add(graph, std::move(kind), std::move(operands), build::f32(Shape()),
                                  std::move(attributes), std::move(name));
    infer();
    if (!shape(made).is_static()) find_shape(made);
    return made;
  }
  void output(Value value) { graph.add_output(std::string(graph.value_name(value)), value); }
  void infer() {
    const auto inferred = infer_shapes(graph);
    REQUIRE_MESSAGE(inferred, (inferred ? std::string() : to_string(inferred.error())));
  }
  [[nodiscard]] Shape shape(Value value) const { return graph.type(value).shape; }

  std::vector<Tensor> sample() {
    std::vector<Tensor> tensors;
    for (const NodeId node : graph.inputs()) {
      const Shape& extents = graph.type({node}).shape;
      tensors.push_back(
          Tensor::from_values<float>(ElementType::float32, extents, reals(extents, 1, 0.2F)));
    }
    return tensors;
  }
  /// Of `count` samples.
  std::shared_ptr<StatisticsTable> statistics(std::size_t count = 4) {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < count; ++i) samples.push_back({sample()});
    return std::make_shared<StatisticsTable>(
        value_of(calibrate(graph, Interpreter(), MemoryData(std::move(samples)))));
  }

 private:
  // Where inference does not know the operation, by running it.
  void find_shape(Value value) {
    const std::vector<Value> watched{value};
    const auto model = value_of(Interpreter().load(graph, watched));
    std::vector<Tensor> inputs;
    for (const NodeId node : graph.inputs()) {
      const TensorType& type = graph.type({node});
      inputs.push_back(value_of(Tensor::from_constant(build::zeros(type.element, type.shape))));
    }
    const auto tensors = value_of(run_model(*model, inputs, 1));
    graph.set_type(value, build::tensor(tensors[0].element(), tensors[0].shape()));
  }

  std::mt19937 random_;
};

/// A convolution, 1x1, of three channels with a bias.
inline Value one_by_one(Model& model, Value x, const std::string& name) {
  return model.add(
      "conv", {x, model.weight(name + ".w", {3, 3, 1, 1}), model.weight(name + ".b", {3})}, name);
}

/// What the first output of a graph is.
inline std::vector<float> first_output(const Graph& graph, const std::vector<Tensor>& inputs) {
  const std::vector<Value> watched{graph.ref(graph.outputs().front()).operand(0)};
  const auto model = value_of(Interpreter().load(graph, watched));
  const auto tensors = value_of(run_model(*model, inputs, 1));
  const auto values = tensors[0].as<float>();
  return {values.begin(), values.end()};
}

inline QuantizeResult quantized(const Graph& graph, StaticAffineOptions options,
                                const QuantizeOptions& run = {}) {
  QuantizeResult result = value_of(quantize_static(graph, std::move(options), run));
  const auto valid = verify(result.graph);
  REQUIRE_MESSAGE(valid, (valid ? std::string() : to_string(valid.error())));
  return result;
}

/// Counts operands, so that small models are worth their conversions.
inline QuantizeOptions by_operands() {
  static const UnitGain unit;
  QuantizeOptions options;
  options.gains = &unit;
  return options;
}

inline QuantizeResult quantized_by_operands(Model& model, StaticAffineOptions options = {}) {
  if (options.statistics == nullptr) options.statistics = model.statistics();
  return quantized(model.graph, std::move(options), by_operands());
}

/// The planned constraint of a value, or `float`.
inline std::string planned(const QuantizeResult& result, std::string_view value) {
  for (const PlannedValue& entry : result.analysis.plan.values) {
    if (entry.value == value) return entry.constraint;
  }
  return "float";
}

/// Why the value is what it is. `graph`: what was quantized.
inline std::string reason(const Graph& graph, const QuantizeResult& result,
                          std::string_view value) {
  return explain(graph, result.analysis.registry, result.analysis, graph.find_value(value).node)
      .reason;
}

}  // namespace quadrant::test

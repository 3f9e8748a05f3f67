// Small models of random weights, and their outputs, for the tests of this room.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/build.hpp"
#include "ir/opset.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::test {

using Reals = std::vector<double>;

inline std::vector<float> to_floats(const Reals& values) { return {values.begin(), values.end()}; }

inline std::vector<float> contents(const Graph& graph, Value value) {
  const Constant* constant = graph.constant(value.node);
  REQUIRE(constant);
  const ConstantBytes bytes = constant->read().value();
  return {bytes.as<float>().begin(), bytes.as<float>().end()};
}

/// Of the constant that is an operand of whoever makes the value of that name.
inline std::vector<float> operand_contents(const Graph& graph, std::string_view name,
                                           std::size_t operand) {
  const Value value = graph.find_value(name);
  REQUIRE(!value.is_absent());
  return contents(graph, graph.operands(value.node)[operand]);
}

inline std::string_view kind_of(const Graph& graph, std::string_view name) {
  const Value value = graph.find_value(name);
  return value.is_absent() ? "" : graph.kind(value.node);
}

inline bool has_kind(const Graph& graph, std::string_view kind) {
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (node.is_valid() && graph.kind(node) == kind) return true;
  }
  return false;
}

struct ConvShape {
  std::int64_t inputs = 1;
  std::int64_t outputs = 1;
  std::int64_t kernel = 1;
  std::int64_t groups = 1;
  std::int64_t pad = 0;
  std::int64_t stride = 1;
  bool bias = true;
};

/// Adds operations to a graph; random weights, with channels of very different size.
class ModelBuilder {
 public:
  explicit ModelBuilder(unsigned seed = 0, double decades = 1) : random_(seed), decades_(decades) {}

  Graph graph;

  Value constant(Shape shape, const Reals& values, std::string name = "constant") {
    return graph.add_constant(std::move(name), build::floats(std::move(shape), to_floats(values)));
  }
  /// Normally distributed.
  Value random_constant(const Shape& shape, double size = 1, double offset = 0) {
    return constant(shape,
                    random_reals(static_cast<std::size_t>(*shape.element_count()), size, offset));
  }
  Reals random_reals(std::size_t count, double size = 1, double offset = 0) {
    std::normal_distribution<double> normal(offset, size);
    Reals values(count);
    for (double& value : values) value = normal(random_);
    return values;
  }
  /// Normally distributed, each run of `run` elements of a size of its own.
  Value random_weight(const Shape& shape, std::int64_t run) {
    std::uniform_real_distribution<double> exponent(-decades_ / 2, decades_ / 2);
    Reals values = random_reals(static_cast<std::size_t>(*shape.element_count()));
    double size = 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % static_cast<std::size_t>(run) == 0) size = std::pow(10.0, exponent(random_));
      values[i] *= size;
    }
    return constant(shape, values, "w");
  }
  Value add(std::string kind, std::vector<Value> operands, std::string name = {},
            Attributes attributes = {}) {
    return build::add(graph, std::move(kind), std::move(operands), {}, std::move(attributes),
                      std::move(name));
  }
  Value conv(Value x, const ConvShape& shape, std::string name = {}) {
    const Shape weights{shape.outputs, shape.inputs / shape.groups, shape.kernel, shape.kernel};
    std::vector<Value> operands{x,
                                random_weight(weights, *weights.element_count() / shape.outputs)};
    if (shape.bias) operands.push_back(random_constant({shape.outputs}));
    return add("conv", std::move(operands), std::move(name), attributes_of(shape));
  }
  Value conv_transpose(Value x, const ConvShape& shape, std::string name = {}) {
    const Shape weights{shape.inputs, shape.outputs / shape.groups, shape.kernel, shape.kernel};
    std::vector<Value> operands{x, random_weight(weights, shape.kernel * shape.kernel)};
    if (shape.bias) operands.push_back(random_constant({shape.outputs}));
    return add("conv_transpose", std::move(operands), std::move(name), attributes_of(shape));
  }
  Value batch_norm(Value x, std::int64_t channels, std::string name = {}) {
    Reals variance = random_reals(static_cast<std::size_t>(channels));
    for (double& value : variance) value = value * value + 0.1;
    return add("onnx.BatchNormalization",
               {x, random_constant({channels}, 1, 0.5), random_constant({channels}),
                random_constant({channels}), constant({channels}, variance)},
               std::move(name), {{"epsilon", 1e-3}});
  }
  Value clip(Value x, double low, double high, std::string name = {}) {
    return add("onnx.Clip",
               {x, constant(Shape::scalar(), {low}), constant(Shape::scalar(), {high})},
               std::move(name));
  }
  void set_opset(std::int64_t version) {
    graph.attributes().set(std::string(opset_domains_key), std::vector<std::string>{""});
    graph.attributes().set(std::string(opset_versions_key), std::vector<std::int64_t>{version});
  }
  std::mt19937& random() { return random_; }
  std::int64_t random_index(std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random_);
  }

 private:
  static Attributes attributes_of(const ConvShape& shape) {
    return {{"group", shape.groups},
            {"pads", std::vector<std::int64_t>(4, shape.pad)},
            {"strides", std::vector<std::int64_t>(2, shape.stride)}};
  }

  std::mt19937 random_;
  double decades_;
};

inline Tensor random_tensor(const Shape& shape, unsigned seed, double offset = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(static_cast<float>(offset));
  std::vector<float> values(static_cast<std::size_t>(*shape.element_count()));
  for (float& value : values) value = normal(random);
  return Tensor::from_values<float>(ElementType::float32, shape, values);
}

inline Tensor build_input(const Shape& shape, const Reals& values) {
  return Tensor::from_values<float>(ElementType::float32, shape, to_floats(values));
}

/// The same model, and the same input, in float64.
inline Graph in_double(Graph graph) {
  const auto widened = [](TensorType type) {
    if (type.element == ElementType::float32) type.element = ElementType::float64;
    return type;
  };
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid() || graph.result_count(node) == 0) continue;
    const Constant* constant = graph.constant(node);
    if (constant && constant->element() == ElementType::float32) {
      const std::vector<float> values = contents(graph, {node});
      graph.set_constant(node,
                         Constant::from_values<double>(ElementType::float64, constant->shape(),
                                                       Reals(values.begin(), values.end())));
    } else if (!constant) {
      graph.set_type({node}, widened(graph.type({node})));
    }
  }
  return graph;
}
inline Tensor in_double(const Tensor& tensor) {
  const auto values = tensor.as<float>();
  return Tensor::from_values<double>(ElementType::float64, tensor.shape(),
                                     Reals(values.begin(), values.end()));
}

/// What the interpreter makes of the graph's outputs, one after the other.
inline Reals outputs_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  REQUIRE(verify(graph));
  const std::vector<Value> values = output_values(graph);
  const auto model = Interpreter().load(graph, values);
  REQUIRE_MESSAGE(model, (model ? std::string() : to_string(model.error())));
  const auto tensors = run_model(**model, inputs, values.size());
  REQUIRE_MESSAGE(tensors, (tensors ? std::string() : to_string(tensors.error())));
  Reals result;
  for (const Tensor& tensor : *tensors) {
    if (tensor.element() == ElementType::float64) {
      result.insert(result.end(), tensor.as<double>().begin(), tensor.as<double>().end());
    } else {
      result.insert(result.end(), tensor.as<float>().begin(), tensor.as<float>().end());
    }
  }
  return result;
}

inline bool contains(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

/// The largest difference, relative to the largest number.
inline double relative_error(const Reals& expected, const Reals& found) {
  REQUIRE(expected.size() == found.size());
  double largest = 0;
  double off = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(std::isfinite(found[i]));
    largest = std::max(largest, std::abs(expected[i]));
    off = std::max(off, std::abs(expected[i] - found[i]));
  }
  return largest == 0 ? off : off / largest;
}

}  // namespace quadrant::test

// Models that the tests of this room share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "ir/build.hpp"
#include "quadrant/ir/ops.hpp"

namespace models {

using namespace quadrant;

/// Contents that nobody may read: of any size.
inline Constant unread(ElementType element, Shape shape) {
  return build::deferred(element, std::move(shape), true);
}

inline Value weight(Graph& graph, std::string name, ElementType element, Shape shape) {
  return graph.add_constant(std::move(name), unread(element, std::move(shape)));
}

/// One scale, or one for each index of axis 0.
inline TensorType coded(ElementType storage, const Shape& shape, Granularity granularity = {}) {
  auto type = std::make_shared<UniformType>();
  type->storage = storage;
  type->granularity = granularity;
  type->scales = unread(ElementType::float32, parameter_shape(shape, granularity));
  return {storage, shape, std::move(type)};
}

/// Codes, and a `dequantize` behind them.
inline Value coded_weight(Graph& graph, std::string name, ElementType storage, Shape shape,
                          Granularity granularity = {}) {
  const TensorType type = coded(storage, shape, granularity);
  const Value codes = graph.add_constant(std::move(name), unread(storage, shape));
  graph.set_constant(codes.node, *graph.constant(codes.node), type.quantization);
  return build::add(graph, "dequantize", {codes}, build::f32(std::move(shape)));
}

/// To codes and back.
inline Value requantized(Graph& graph, Value value) {
  const Shape shape = graph.type(value).shape;
  const Value codes = build::add(graph, "quantize", {value}, coded(ElementType::uint8, shape));
  return build::add(graph, "dequantize", {codes}, build::f32(shape));
}

/// y = relu(x w) v + b, with w of 4 x 6 and v of 6 x 2, all in floats.
inline Graph floating() {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1, 4}));
  const Value w = weight(graph, "w", ElementType::float32, {4, 6});
  const Value v = weight(graph, "v", ElementType::float32, {6, 2});
  const Value b = weight(graph, "b", ElementType::float32, {2});
  const Value h = build::add(graph, "matmul", {x, w}, build::f32({1, 6}), {}, "h");
  const Value r = build::add(graph, "onnx.Relu", {h}, build::f32({1, 6}), {}, "r");
  graph.add_output("y", build::add(graph, "gemm", {r, v, b}, build::f32({1, 2}), {}, "z"));
  return graph;
}

/// The same with 8-bit weights, one of them with a scale for each row, a bias of 32 bits, and codes
/// for all activations.
inline Graph quantized() {
  Graph graph;
  const Value x = requantized(graph, graph.add_input("x", build::f32({1, 4})));
  const Value w = coded_weight(graph, "w", ElementType::int8, {4, 6});
  const Value v = coded_weight(graph, "v", ElementType::uint8, {6, 2}, Granularity::per_axis(0));
  const Value b = coded_weight(graph, "b", ElementType::int32, {2});
  const Value h = build::add(graph, "matmul", {x, w}, build::f32({1, 6}), {}, "h");
  const Value r = build::add(graph, "onnx.Relu", {h}, build::f32({1, 6}), {}, "r");
  const Value z =
      build::add(graph, "gemm", {requantized(graph, r), v, b}, build::f32({1, 2}), {}, "z");
  graph.add_output("y", requantized(graph, z));
  return graph;
}

}  // namespace models

// Scales, zero points and what else the operators of one quantized type need, as initializers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// Adds constants to a graph, one for all conversions that have the same parameters: equality of
/// constants is identity. `name` is what a new one is called after. Types without scales throw
/// `impossible`.
class Parameters {
 public:
  explicit Parameters(Graph& graph) : graph_(graph) {}

  // --- as DequantizeLinear and QuantizeLinear read them: of the type's `parameter_shape` ---

  Value scales(const std::string& name, const UniformType& type);
  /// Of the storage type; zeros where the type has none.
  Value zero_points(const std::string& name, const UniformType& type);
  /// A scalar 1, which makes codes floats and nothing else.
  Value unit_scale();

  // --- for arithmetic: float32, of a shape that broadcasts to that of `codes` ---

  Value factors(const std::string& name, Value codes, const UniformType& type);
  Value offsets(const std::string& name, Value codes, const UniformType& type);

  /// A scalar of the storage type.
  Value code(ElementType storage, std::int64_t value, std::string name);

 private:
  template <class Make>
  Value shared(const Constant& constant, int variant, Make make);
  Value broadcast(Constant parameters, std::string name, Value codes, const UniformType& type);
  Value block_indices(std::int64_t extent, std::int64_t block_size);

  Graph& graph_;
  std::unordered_map<const Shape*, std::vector<std::pair<int, Value>>> shared_;
  std::vector<Constant> kept_alive_;  // the keys of shared_
  std::map<std::pair<std::int64_t, std::int64_t>, Value> block_indices_;
  Value unit_scale_;
};

/// The axis of a type that has one, counted from the front; throws where `value` has no such axis.
[[nodiscard]] std::int64_t axis_of(const Graph& graph, Value value, const UniformType& type);

/// The same numbers as another element type of the same width: 4-bit codes as 8-bit ones.
[[nodiscard]] Constant with_element(const Constant& constant, ElementType element);

}  // namespace quadrant::inline v0::onnx

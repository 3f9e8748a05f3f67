// Products with a quantized weight as operators of ONNX Runtime that read its codes, packed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"

namespace quadrant::inline v0::onnx {

/// Why a weight cannot go this way: the end of a sentence that begins with its name.
struct Obstacle {
  std::string reason;
};

[[noreturn]] void stay(std::string reason);  ///< throws an Obstacle

/// A dequantized matrix behind transposes, on either side of the `dequantize`.
struct PackableWeight {
  NodeId dequantize;
  NodeId constant;
  bool codes_transposed = false;   ///< between the constant and the `dequantize`
  bool floats_transposed = false;  ///< between the `dequantize` and the product's `[K, N]`
};

/// How the codes that are dequantized lie: products sum over `columns`, an axis of them.
struct MatrixAxes {
  std::int64_t summed = 0;  ///< the axis of the columns
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
/// Throws an Obstacle where the codes, of shape `codes`, are no matrix that has elements.
[[nodiscard]] MatrixAxes axes_of(const Shape& codes, const PackableWeight& weight);

/// Which parameter belongs to block `b` of row `n`.
struct ParameterIndex {
  std::int64_t row_step = 0;
  std::int64_t block_step = 0;
  std::int64_t repeat = 1;  ///< blocks that share one

  [[nodiscard]] std::size_t at(std::int64_t row, std::int64_t block) const noexcept {
    return static_cast<std::size_t>(row * row_step + block / repeat * block_step);
  }
};

/// The operands of a packed product besides the activation and the bias, and its attributes.
struct PackedOperands {
  Value codes;
  Value scales;
  Value zero_points;  ///< absent where the operator's default is meant, or there are none
  std::int64_t rows = 0;
  Attributes attributes;
};

/// An operator of com.microsoft that multiplies by packed codes.
class PackedForm {
 public:
  PackedForm() = default;
  PackedForm(const PackedForm&) = delete;
  PackedForm& operator=(const PackedForm&) = delete;
  virtual ~PackedForm() = default;

  [[nodiscard]] virtual std::string_view op_type() const = 0;
  /// Whether operand 5 is a bias, of an element for each row.
  [[nodiscard]] virtual bool has_bias() const = 0;
  /// Whether codes that mean this are to be packed, or the user hears why they are not.
  [[nodiscard]] virtual bool is_for(const Quantization& quantization) const = 0;
  /// Adds the operands. Throws an Obstacle where the operator has no such weights.
  [[nodiscard]] virtual PackedOperands pack(Graph& graph, const PackableWeight& weight) const = 0;
};

/// Turns each `matmul` and `gemm` of floats with a dequantized weight into the operator of `form`,
/// which reads the weight's codes, where it can; every other `dequantize` stays, and `sink` (may be
/// null) hears why. Returns the number of products. Linear in the size of the graph; reads scales
/// and zero points, no codes. Throws what reading them throws.
std::int64_t pack_products(Graph& graph, const PackedForm& form, Sink* sink);

}  // namespace quadrant::inline v0::onnx

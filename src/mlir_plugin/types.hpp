// MLIR's types, and the library's.
//
// Codes are signless integers of their width in MLIR, whether they have a sign is what their
// quantized type says:
//
//   tensor<4x8xi8>   <- quant.scast ->   tensor<4x8x!quant.uniform<u8:f32, 0.1:128>>
#pragma once

#include <mlir/IR/BuiltinTypes.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mlir_plugin/headers.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Of a ranked or unranked tensor. What the library has no type for, and whatever is no tensor, is
/// `opaque`.
[[nodiscard]] TensorType to_tensor_type(mlir::Type type);

/// Of a float that MLIR has, too; of other elements, f32.
[[nodiscard]] mlir::FloatType to_float_type(mlir::MLIRContext* context, ElementType element);

/// `type` with elements of another type; of a scalar, that type.
[[nodiscard]] mlir::Type with_element(mlir::Type type, mlir::Type element);

/// Null where the library has none: `!quant.any`, `!quant.calibrated`, blocks along several axes.
[[nodiscard]] std::shared_ptr<const UniformType> to_uniform_type(mlir::quant::QuantizedType type);

/// A quantized type with a scale for each block.
struct BlockType {
  std::vector<std::int64_t> blocks;  ///< their extents along each axis
  Shape scale_shape;                 ///< how many there are along each
  std::vector<double> scales;
  std::vector<std::int64_t> zero_points;
};

/// Empty for other types, and where the type does not say the block of each axis.
[[nodiscard]] std::optional<BlockType> to_block_type(mlir::quant::QuantizedType type);

/// `impossible`: blocks before version 20 of MLIR, parameters that cannot be read or that are not
/// inside their limits.
[[nodiscard]] Expected<mlir::quant::QuantizedType> to_quantized_type(mlir::MLIRContext* context,
                                                                     const UniformType& type);

/// Whether `to_quantized_type` has one for a tensor of that type, which is quantized: another
/// format, scales below zero, blocks that do not divide their axis or have scales that the
/// expressed type has not, and blocks before version 20 have none.
[[nodiscard]] bool has_quantized_type(const TensorType& type);

/// The integer type that holds the codes.
[[nodiscard]] mlir::IntegerType to_code_type(mlir::MLIRContext* context, const Quantization& type);

}  // namespace quadrant::inline v0::mlir_plugin

// Codes of number formats that no type of MLIR says become floats by arithmetic.
#pragma once

#include <mlir/IR/AffineMap.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinTypes.h>

#include <vector>

#include "quadrant/ir/number_format.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// A tensor of numbers, and where that of an element of the codes is.
struct HeldNumbers {
  mlir::Value tensor;
  mlir::AffineMap map;
  bool is_signed = true;  ///< of integers
  /// What the integers are indices into; null: they stand for themselves. With an axis for each
  /// result of `table_map` in front, of one table for each group.
  mlir::Value table;
  mlir::AffineMap table_map;
};

/// Exactly what `dequantize` computes, in float32, with `arith`, `linalg` and `tensor`:
///
///   value(code) * (outermost scale * next * ...) - (outermost minimum * next * ...)
///
/// or (code - zero point) * scale. Integers are converted; what other codes stand for is read from
/// a table. Scales and minima are constants of the type that the format gives them, those of small
/// floats as their bits and a table of what these stand for.
class CodeArithmetic {
 public:
  /// Constants where `builder` stands, behind `codes`, a ranked tensor of integers.
  [[nodiscard]] static Expected<CodeArithmetic> make(mlir::OpBuilder& builder, mlir::Value codes,
                                                     const ScaledFormat& format);

  /// What all of the codes stand for: the result of a `linalg.generic` where `builder` stands.
  [[nodiscard]] mlir::Value all(mlir::OpBuilder& builder) const;

  /// Elements of `floats`, which `all` made, that are read alone are computed where they are read:
  /// a table of which a few rows are looked up is never there in real numbers.
  void compute_where_read(mlir::Value floats) const;

 private:
  CodeArithmetic() = default;
  [[nodiscard]] mlir::Value decode(mlir::OpBuilder& builder, mlir::Location location,
                                   mlir::ValueRange elements, mlir::ValueRange indices) const;

  std::vector<HeldNumbers> numbers_;  // codes, scales, minima or zero points
  std::size_t scales_ = 0;            // how many of them are scales
  bool has_zero_points_ = false;
  mlir::FloatType expressed_;
};

}  // namespace quadrant::inline v0::mlir_plugin

// The sums of products that tosa has.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/IR/Operation.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace quadrant::inline v0::mlir_plugin {

/// Operand 0 is the data, operand 1 the weight
/// (https://www.mlplatform.org/tosa/tosa_spec.html#_tensor_operators).
struct TosaProduct {
  llvm::StringRef name;
  /// Of data and weight: the axis along which the result keeps scales apart, and one that is
  /// summed; -1: none. A window's sum runs over several axes of the data, of which scales may not
  /// depend.
  std::array<std::int64_t, 2> channels{-1, -1};
  std::array<std::int64_t, 2> contracted{-1, -1};
  /// The axis of the sum that the weight's channels become.
  std::int64_t of_sum = -1;
  /// Of data, weight, sum and bias: a letter for each axis. The same one is the same extent, but
  /// `z`, `y`, `x` of data are more: windows of `w`, `v`, `u` of the weight move there. Where the
  /// sum has one axis more than the result, its last two are the result's last; so are the bias's.
  llvm::StringRef data;
  llvm::StringRef weight;
  llvm::StringRef sum;
  llvm::StringRef bias;  // empty: it has none
  /// The same sum as an operation of linalg has it, of the type of `init`, with the window as
  /// attributes; null: none has it by name.
  mlir::linalg::LinalgOp (*make)(mlir::OpBuilder&, mlir::Location, mlir::ValueRange inputs,
                                 mlir::Value init,
                                 llvm::ArrayRef<mlir::NamedAttribute> window) = nullptr;
  /// Whether windows move over the result instead, and each element of the data is spread over one.
  bool is_transposed = false;
};

/// Null where `op` is none.
[[nodiscard]] const TosaProduct* find_tosa_product(mlir::Operation& op);

/// The extents that each of its sums runs over.
[[nodiscard]] std::vector<std::int64_t> summed_extents(const TosaProduct& product,
                                                       mlir::Operation& op);

/// Why linalg has no such sum; empty: it has. What it reads may have types and extents that do not
/// fit together, which not all versions of MLIR verify.
[[nodiscard]] std::string why_not_in_linalg(const TosaProduct& product, mlir::Operation& op);

/// The sum as linalg has it, in front of `op`, of which linalg has one: where it has no name, a
/// `linalg.generic` of which the loops alone mean something. Its operands 0 and 1 are those of
/// `op`, the data, which are integers, with `padding` around them, and between them where they are
/// spread; it begins with the bias.
[[nodiscard]] mlir::linalg::LinalgOp as_linalg(const TosaProduct& product, mlir::Operation& op,
                                               std::int64_t padding);

}  // namespace quadrant::inline v0::mlir_plugin

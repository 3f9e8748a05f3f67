// What reads a weight, and along which of its axes scales may differ.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Value.h>

#include <cstdint>

namespace quadrant::inline v0::mlir_plugin {

/// Of an argument that is a weight: that its function may take codes and scales instead.
inline constexpr llvm::StringLiteral weight_mark = "quadrant.weight";
/// Of an argument that is the scales of such a one: it is no weight itself.
inline constexpr llvm::StringLiteral scales_mark = "quadrant.scales";

/// -1: none.
struct WeightAxes {
  std::int64_t channel = -1;     ///< that sums keep, or along which rows are looked up
  std::int64_t contracted = -1;  ///< that is summed
};

/// Of floats, whose extents are all known; null: it is none.
[[nodiscard]] bool is_weight_type(mlir::RankedTensorType type);

/// Products, lookups and calls (MlirCall).
struct WeightReaders {
  bool are_there = false;
  bool agree = true;           ///< on the channels
  bool multiply_by_it = true;  ///< products have it on the right, where weights are, of data
  WeightAxes axes;
};

/// Those of a ranked tensor, behind transposes, too. Linear in what reads it.
[[nodiscard]] WeightReaders readers_of(mlir::Value weight);

}  // namespace quadrant::inline v0::mlir_plugin

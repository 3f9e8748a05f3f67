// What reads a weight, and along which of its axes scales may differ.
#pragma once

#include <mlir/IR/Value.h>

#include <cstdint>

namespace quadrant::inline v0::mlir_plugin {

/// -1: none.
struct WeightAxes {
  std::int64_t channel = -1;     ///< that sums keep, or along which rows are looked up
  std::int64_t contracted = -1;  ///< that is summed
};

/// Products, lookups and calls (MlirCall).
struct WeightReaders {
  bool are_there = false;
  bool agree = true;           ///< on the channels
  bool multiply_by_it = true;  ///< products have it on the right, where weights are
  WeightAxes axes;
};

/// Those of a ranked tensor, behind transposes, too. Linear in what reads it.
[[nodiscard]] WeightReaders readers_of(mlir::Value weight);

}  // namespace quadrant::inline v0::mlir_plugin

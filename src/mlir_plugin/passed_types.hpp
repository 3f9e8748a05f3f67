// Which types the weights have that functions are given as codes.
#pragma once

#include <string>

#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/weight_readers.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// The type that such an argument has, but for its scales, which are 1. `impossible`: the scheme
/// has none.
[[nodiscard]] Expected<mlir::quant::QuantizedType> type_of_codes(const WeightOnly& scheme,
                                                                 const WeightAxes& axes,
                                                                 mlir::RankedTensorType floats);

/// Why no argument becomes codes and scales; empty: some may.
[[nodiscard]] std::string why_not_passed(const WeightOnly& scheme);

}  // namespace quadrant::inline v0::mlir_plugin

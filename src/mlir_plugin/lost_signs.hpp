// Weights below zero, and number formats that have no such values.
#pragma once

#include <mlir/IR/Location.h>

#include <string>
#include <vector>

#include "mlir_plugin/function_graph.hpp"
#include "quadrant/engine/phases/plan.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Whether no code of the format of that text is below zero: `u8 * f32[channel] : f32`. False for
/// what is no format.
[[nodiscard]] bool lacks_negatives(const std::string& type);

/// A float constant that has elements below zero, as it was before it became codes.
struct SignedWeight {
  std::string name;
  mlir::Location location;
};
/// Reads each constant up to the first of them.
[[nodiscard]] std::vector<SignedWeight> weights_below_zero(const FunctionGraph& graph);

/// Warns of those that `plan` makes codes of, of the format `type`: what is below zero becomes
/// zero.
void warn_of_clipping(const std::vector<SignedWeight>& weights, const Plan& plan,
                      const std::string& type);

}  // namespace quadrant::inline v0::mlir_plugin

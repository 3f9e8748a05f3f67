// Weights that a model holds as integers, beside what they mean.
#pragma once

#include <memory>
#include <optional>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::low_precision {

/// Weights that are stored as integers: `node` multiplies them.
///
///   multiply(subtract(cast(codes), cast(zero points)), scales)     either order; no subtraction
///
struct StoredWeight {
  NodeId codes;  ///< the constant
  std::shared_ptr<const UniformType> type;
};

/// Empty where `node` is nothing of the kind. `impossible`, with the reason, where it is and cannot
/// be a quantized type: scales that are zero or along several axes, zero points that are no codes,
/// by more than `tolerance` of a 256th of the range.
[[nodiscard]] Expected<std::optional<StoredWeight>> read_stored_weight(NodeRef node,
                                                                       double tolerance);

}  // namespace quadrant::inline v0::low_precision

// Constants that a model holds quantized, in either of the ways in which models hold them, as
// codes.
#pragma once

#include <optional>

#include "fake_quantize/grid.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0::low_precision {

/// The codes of `type` that a fake_quantize with `ranges` makes of `real`, floats or integers,
/// computed when they are read, any part at a time. `type` is constant_types' for these ranges.
/// Reading fails with `invalid_model` where there is a NaN. `ranges` along an axis are of one for
/// each of its indices.
[[nodiscard]] Expected<Constant> fake_quantized_codes(const Constant& real, const Ranges& ranges,
                                                      const UniformType& type);

/// Weights that are stored as integers: `node` multiplies them.
///
///   multiply(subtract(cast(codes), cast(zero points)), scales)     either order; no subtraction
///
struct StoredWeight {
  NodeId codes;  ///< the constant
  std::shared_ptr<const UniformType> type;
};

/// Empty where `node` is nothing of the kind. `impossible`, with the reason, where it is and cannot
/// be a quantized type: scales that are zero or along several axes, zero points that are no codes.
[[nodiscard]] Expected<std::optional<StoredWeight>> read_stored_weight(NodeRef node);

}  // namespace quadrant::inline v0::low_precision

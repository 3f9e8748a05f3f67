// Constants that a model holds quantized, in either of the ways in which models hold them, as
// codes.
#pragma once

#include "fake_quantize/grid.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::low_precision {

/// The constant that `value` is, or that is cast to it without being rounded; invalid for none.
[[nodiscard]] NodeId constant_behind_cast(const GraphView& graph, Value value);

/// The codes of `type` that a fake_quantize with `ranges` makes of `real`, floats or integers,
/// computed when they are read, any part at a time. `type` is constant_types' for these ranges.
/// Reading fails with `invalid_model` where there is a NaN. `ranges` along an axis are of one for
/// each of its indices.
[[nodiscard]] Expected<Constant> fake_quantized_codes(const Constant& real, const Ranges& ranges,
                                                      const UniformType& type);

}  // namespace quadrant::inline v0::low_precision

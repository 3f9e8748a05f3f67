// Names that the float values of codes have in the float model.
#pragma once

#include <string>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0 {

/// `real_name_of` codes of `quantized`; where `real` has no value of that name, and one of that
/// name without its ending, or of the name of the codes, as formats without names for both have it,
/// that.
[[nodiscard]] std::string float_name(const Graph& quantized, const Graph& real, Value codes);

}  // namespace quadrant::inline v0

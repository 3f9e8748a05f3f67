// The encodings that a quantized model has, as a file of encodings.
#pragma once

#include "quadrant/ir/graph.hpp"
#include "quadrant/recipe/encodings_file.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Of each quantized value, by the name that its real values have in the float model, as far as the
/// quantized one tells (`real_name_of`). Constants are parameters, everything else is an
/// activation. Constants that only move, transposed or looked up, are told once, as they lie.
///
/// Symmetric codes of a constant that does not use the lowest one leave it out. Reads scales, zero
/// points, and the codes of such constants. `sink`, which may be null, hears of names that two
/// values with different encodings would have: the first counts.
///
/// `impossible`, with the name: types that `to_tensor_encoding` refuses.
[[nodiscard]] Expected<EncodingsFile> encodings_of(const Graph& graph, Sink* sink = nullptr);

}  // namespace quadrant::inline v0

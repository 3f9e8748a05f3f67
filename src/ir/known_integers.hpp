// Integers that follow from shapes: exporters compute extents while the model runs, even those that
// are fixed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::detail {

/// Each element of a list; empty for one that only the run tells.
using KnownIntegers = std::vector<std::optional<std::int64_t>>;

/// The elements of `value`, of rank 0 or 1, as far as they follow from constants and from extents
/// that are known, through what exporters compute shapes with: Shape, Gather, Slice, Concat,
/// arithmetic, casts to float32 and back, ... Empty where nothing does, and for long lists. Looks
/// at a limited number of nodes.
[[nodiscard]] std::optional<KnownIntegers> known_integers(const GraphView& graph, Value value);

/// The same where each of them is known.
[[nodiscard]] std::optional<std::vector<std::int64_t>> all_known_integers(const GraphView& graph,
                                                                          Value value);

/// Lists of int32 and int64 that are known become constants, of the same names, where they are
/// computed from shapes; what is then not read goes. Shapes have to be inferred. Linear.
Expected<void> fold_shapes(Graph& graph);

}  // namespace quadrant::inline v0::detail

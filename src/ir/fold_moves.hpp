// Codes that are moved before they are read, moved in advance.
#pragma once

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Constants of codes behind operations that move elements (moves.hpp) become constants of moved
/// codes where the scales follow: those of blocks may be those of an axis then, which more formats
/// hold. A move of a dequantized constant comes before the dequantize, with which the weight is
/// again a constant. What is larger behind the move, or moved by computed indices, stays. Contents
/// are only read where their order changes.
[[nodiscard]] Expected<void> fold_moved_codes(Graph& graph);

/// Constants of integers of 4 bits without a meaning, as files of other formats say codes that they
/// cast and multiply, are moved in advance, too: runtimes have kernels for few of their moves.
[[nodiscard]] Expected<void> fold_moves_of_4_bits(Graph& graph);

}  // namespace quadrant::inline v0

// What a model computes from constants alone becomes constants.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/left_alone.hpp"

namespace quadrant::inline v0 {

struct FoldedConstants {
  std::int64_t folded = 0;  ///< operations that are gone
  /// Operations on constants that stand as before, with the reason: results that would take more
  /// than their operands and a mebibyte more, or that no kernel computes.
  std::vector<LeftAlone> left;
};

/// Computes each operation whose operands are all constants of plain numbers, as the interpreter
/// does, and puts a constant of the same name in its place; what nobody reads then goes. Codes, and
/// whatever says how to quantize (`quantize`, fake quantization, instrumentation), stay: what they
/// know would be lost. `folds` is asked of each of the others; where it is false they stay, too.
///
/// Linear in the graph and in what is computed. Reads the constants whole. The graph needs
/// exclusive access. `invalid_model` for a cycle; what a constant's file says when it cannot be
/// read.
[[nodiscard]] Expected<FoldedConstants> fold_constants(Graph& graph,
                                                       bool (*folds)(NodeRef node) = nullptr);

}  // namespace quadrant::inline v0

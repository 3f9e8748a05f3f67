// One grid for branches that meet, where a reader of all of them takes one scale only.
#pragma once

#include "quadrant/methods/fake_quantize.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::low_precision {

/// Branches of a concat whose result is data of a product, and that were quantized differently, are
/// quantized on one grid, which covers all of their ranges; each keeps its own part of it:
///
///   [0, 2.55] and [0, 1.275]       codes 0 to 255 and 0 to 128 of u8 0.01:0
///   [0, 2.55] and [-1.28, 1.27]    codes 85 to 255 and 0 to 170 of u8 0.01502:85
///
/// That is less precise than what the model says, so `split.notes` says which branches it was, and
/// which concats could not be aligned: a branch of two levels or fewer would be left. Linear.
[[nodiscard]] Expected<void> align_branches(SplitGraph& split, KernelsTarget target);

}  // namespace quadrant::inline v0::low_precision

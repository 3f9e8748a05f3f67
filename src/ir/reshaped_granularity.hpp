// Groups of elements through a row-major reshape.
#pragma once

#include <optional>

#include "quadrant/ir/shape.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0 {

/// The groups of a tensor of shape `from` that its reshape to `to` sees as `wanted`: the same sets
/// of elements exactly. Empty where no such groups can be written down, an axis that was made of a
/// part of one axis and the whole of another, say; and where every element would have a scale of
/// its own, but for those of the one axis that is not of extent 1.
///
///   16x8x3 to 128x3, axis=0         ->  axis=2 block=3    (each of the 128 is a pair of indices)
///   128x3 to 16x8x3, axis=2 block=3 ->  axis=0
///   16x8 to 16x2x4, axis=2          ->  none
[[nodiscard]] std::optional<Granularity> reshaped_granularity(const Shape& from, const Shape& to,
                                                              const Granularity& wanted);

}  // namespace quadrant::inline v0

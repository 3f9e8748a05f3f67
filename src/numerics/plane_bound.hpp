// A lower bound for the error of any scale and minimum of a group.
#pragma once

#include "numerics/code_values.hpp"
#include "numerics/level_search.hpp"

namespace quadrant::inline v0 {

/// For values w with weights h, and codes l of a scale s and a minimum m, both any reals,
///
///   gain(s, m) / s = sum h max over l of (2 (w + m) l - s l^2)
///
/// is convex in both, an upper envelope of planes: in a triangle it lies below the plane through
/// the corners. So cost = sum h (w + m)^2 - gain is at least the least value in the triangle of a
/// quadratic form, which is known. Triangles of the lowest bound are halved until none is further
/// below `known` than `tolerance` times that, or as many were looked at as is sensible.
///
/// `search` has been loaded; it is left with no shift. `known`: what some s and m cost. 0 where
/// nothing can be said.
[[nodiscard]] double least_cost_of_plane(LevelSearch& search, const CodeValues& codes, double known,
                                         double tolerance);

}  // namespace quadrant::inline v0

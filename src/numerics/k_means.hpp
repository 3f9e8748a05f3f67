// The table of least squared error for values on a line.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace quadrant::inline v0 {

struct MeansOnALine {
  std::vector<double>
      means;         ///< in ascending order, `count` of them; where values are fewer, again
  double bound = 0;  ///< no table has less error
};

/// Exact for up to 2^20 values: clusters are intervals of the sorted values, their cost is concave
/// Monge, so that best last borders do not fall from one prefix to the next (Wu 1991; Grønlund et
/// al., arXiv 1701.07204). Dynamic programming by divide and conquer over prefixes, O(k n log n);
/// borders are found again by halves of the clusters (Hirschberg 1975): O(n) memory.
///
/// More values are joined to 2^20 of their neighbours first. As vectors of all values, joining
/// moves by the root of what it costs, V, and so, by the triangle inequality, does every table's
/// error: sqrt(bound) = sqrt(least error of the joined) - sqrt(V).
///
/// `weights`, not negative: as many as `values`, which are finite.
[[nodiscard]] MeansOnALine means_on_a_line(std::span<const float> values,
                                           std::span<const float> weights, std::size_t count);

}  // namespace quadrant::inline v0

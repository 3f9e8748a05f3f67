// Rounding in which layers know what the rounding of those before them does to their inputs.
#pragma once

#include <span>

#include "pipeline/scheme_run.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Makes of the moments of a float graph those that layers have where the layers before are rounded
/// as the choices say, with aims. Layers are in `most_groups` groups by how many are before them,
/// and a group is rounded before the next one is looked at: each costs two runs of the samples
/// through the float and the rounded model side by side, and rounding once more.
///
/// With x of the float model and z of the rounded one, and weights W, codes are to be near to W x
/// where z comes in: W' = W + W E[(x - z) z^T] (E[z z^T] + r)^-1 is the aim, and E[z z^T] the
/// moments. r, and a factor for the correction, are by how many inputs there were. There is an aim
/// for products that sum over the last axis and for convolutions of one group; others, and all of a
/// graph with subgraphs, have moments alone.
inline constexpr std::size_t most_groups = 12;
[[nodiscard]] Expected<void> round_in_sequence(const SchemeSubject& subject, const DataSet& samples,
                                               std::span<const SchemeChoice> choices,
                                               SecondMomentsTable& moments);

}  // namespace quadrant::inline v0

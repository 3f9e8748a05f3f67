// What several runs left unchanged, merged.
#pragma once

#include <vector>

#include "quadrant/support/diagnostics.hpp"

namespace quadrant::inline v0 {

/// Adds what others left: each name once, with the lesser of its reasons, in the order of names. So
/// it does not matter who comes first.
void merge_left(std::vector<LeftAlone>& left, const std::vector<LeftAlone>& others);

}  // namespace quadrant::inline v0

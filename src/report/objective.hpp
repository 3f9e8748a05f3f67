// What a decision is worth, and how near that is to the best, for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "quadrant/engine/gains/gain.hpp"

namespace quadrant::inline v0 {

/// `no decision gains more`, or `within 0.8 % of the best possible`: a share of the bound, rounded
/// up.
[[nodiscard]] std::string describe_bound(Gain objective, Gain bound);

/// `90 bytes (no decision gains more)`; without a bound, `90 bytes`.
[[nodiscard]] std::string describe_objective(Gain objective, std::optional<Gain> bound,
                                             std::string_view unit);

}  // namespace quadrant::inline v0

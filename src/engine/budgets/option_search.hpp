// Choosing one option for each item under a limit: the multiple-choice knapsack.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace quadrant::inline v0 {

/// What an option costs, of what is limited, and what is lost by it. Both finite.
struct OptionFigures {
  double cost = 0;
  double loss = 0;
};

/// The options of each item, one at least.
using OptionTable = std::vector<std::vector<OptionFigures>>;

/// One option for each item, and the sums.
struct OptionChoice {
  std::vector<std::uint32_t> options;
  double cost = 0;
  double loss = 0;
};

[[nodiscard]] OptionChoice choice_of(const OptionTable& table, std::vector<std::uint32_t> options);

/// The choices that are best for some price of what is limited (those on the lower convex hull of
/// all choices), cheapest first. All of them, since items do not depend on one another: the steps
/// of the items' own hulls, steepest first (Sinha and Zoltners, "The multiple-choice knapsack
/// problem", Operations Research 27, 1979).
[[nodiscard]] std::vector<OptionChoice> hull_choices(const OptionTable& table);

struct OptionSearch {
  OptionChoice best;
  /// No choice within the limit loses less: what the hull, cut at the limit, loses.
  double bound = 0;
};

/// The choice within the limit that loses little: the last one of the hull, and one by dynamic
/// programming with costs rounded up to a 4096th of the range, both improved by single changes and
/// exchanges of two that fit, until there are none. Empty: none is within the limit.
[[nodiscard]] std::optional<OptionSearch> search_options(const OptionTable& table, double limit);

}  // namespace quadrant::inline v0

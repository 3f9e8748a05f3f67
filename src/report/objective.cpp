#include "report/objective.hpp"

#include <fmt/format.h>

#include <cmath>

namespace quadrant::inline v0 {

std::string describe_bound(Gain objective, Gain bound) {
  if (bound == objective) return "no decision gains more";
  const auto most = static_cast<double>(bound.amount());
  if (most <= 0) return fmt::format("no decision gains more than {}", bound.amount());
  const double missing = most - static_cast<double>(objective.amount());
  return fmt::format("within {:.1f} % of the best possible", std::ceil(1000 * missing / most) / 10);
}

std::string describe_objective(Gain objective, std::optional<Gain> bound, std::string_view unit) {
  const std::string amount = fmt::format("{} {}", objective.amount(), unit);
  return bound ? fmt::format("{} ({})", amount, describe_bound(objective, *bound)) : amount;
}

}  // namespace quadrant::inline v0

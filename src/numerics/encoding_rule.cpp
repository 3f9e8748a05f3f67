#include <fmt/format.h>

#include <limits>
#include <utility>

#include "quadrant/numerics/encoding.hpp"

namespace quadrant::inline v0 {

Expected<void> check(const EncodingRule& rule) {
  const auto refuse = [](std::string message) {
    return fail(ErrorCode::impossible, std::move(message));
  };
  if (rule.bits < 2 || rule.bits > 16) {
    return refuse(fmt::format("codes of {} bits: choose 2 to 16", rule.bits));
  }
  // A NaN fits nowhere.
  const auto lies = [](double value, double least, double most) {
    return value >= least && value <= most;
  };
  constexpr double largest = std::numeric_limits<double>::max();
  if (!lies(rule.minimum_range, 0, largest)) {
    return refuse(fmt::format("a minimum range of {}: choose 0 or more", rule.minimum_range));
  }
  if (!lies(rule.gamma, 1, 100)) {
    return refuse(fmt::format("a gamma of {}: choose 1 to 100", rule.gamma));
  }
  if (!lies(rule.percentile, 50, 100) || rule.percentile == 50) {
    return refuse(
        fmt::format("a percentile of {}: choose one above 50, 100 at most", rule.percentile));
  }
  return {};
}

}  // namespace quadrant::inline v0

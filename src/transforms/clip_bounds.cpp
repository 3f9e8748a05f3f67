#include "transforms/clip_bounds.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "quadrant/numerics/reals.hpp"

namespace quadrant::inline v0 {

namespace {

OrReason<double> read_bound(const NodeRef& clip, std::size_t operand, std::string_view attribute,
                            double fallback) {
  if (clip.operand(operand).is_absent()) return clip.attribute_or(attribute, fallback);
  const Constant* bound = clip.operand_constant(operand);
  if (!bound || !is_wide_float(bound->element()) || bound->element_count() != 1) {
    return because(fmt::format("its {} is computed", attribute));
  }
  const Expected<std::vector<double>> value = read_reals(*bound);
  if (!value) return because(to_string(value.error()));
  return value->front();
}

}  // namespace

OrReason<ClipBounds> read_clip(const NodeRef& clip) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double largest = std::numeric_limits<float>::max();
  const OrReason<double> low = read_bound(clip, 1, "min", -infinity);
  const OrReason<double> high = read_bound(clip, 2, "max", infinity);
  if (!low) return because(low.error());
  if (!high) return because(high.error());
  if (std::isnan(*low) || std::isnan(*high)) return because("a bound is not a number");
  return ClipBounds{.low = *low <= -largest ? -infinity : *low,
                    .high = *high >= largest ? infinity : *high};
}

}  // namespace quadrant::inline v0

#include "quadrant/numerics/scales.hpp"

#include <fmt/format.h>

#include <span>

#include "numerics/clip_search.hpp"
#include "numerics/found_parameters.hpp"
#include "numerics/group_reach.hpp"
#include "numerics/group_reader.hpp"
#include "numerics/groups.hpp"
#include "numerics/pieces.hpp"
#include "numerics/scale_rule.hpp"
#include "quadrant/ir/float16.hpp"

namespace quadrant::inline v0 {
namespace {

// The parameters of the groups, or the reason why there are none.
struct Found {
  FoundParameters parameters;
  std::optional<NonFinite> non_finite;
};

Expected<Found> scan_extremes(const Constant& weights, const Groups& groups,
                              const ScaleRule& rule) {
  const auto group_count = static_cast<std::size_t>(groups.group_count());
  GroupReach reach(group_count);
  FloatReader reader(weights);
  const std::int64_t count = groups.element_count();
  for (std::int64_t first = 0; first < count; first += std::int64_t{piece_elements}) {
    QUADRANT_TRY(const std::span<const float> values, reader.read(first, piece_size(first, count)));
    if (!reach.add(groups, first, values)) return Found{{}, first_non_finite(values, first)};
  }
  Found found{FoundParameters(rule, group_count), {}};
  found.parameters.set_unsearched(rule, 0, reach.above(), reach.below());
  return found;
}

Expected<Found> search_each(const Constant& weights, const Groups& groups, const ScaleRule& rule) {
  GroupReader reader(weights, groups);
  ClipSearch search(rule);
  Found found{FoundParameters(rule, static_cast<std::size_t>(groups.group_count())), {}};
  for (std::int64_t group = 0; group < groups.group_count(); ++group) {
    QUADRANT_TRY(const std::span<const float> values, reader.read(group));
    if (reader.non_finite()) return Found{{}, reader.non_finite()};
    found.parameters.set(static_cast<std::size_t>(group), search.best(values));
  }
  return found;
}

}  // namespace

Expected<ParameterScan> scan_parameters(const Constant& weights, const Granularity& granularity,
                                        const ScaleRule& rule) {
  if (weights.element() == ElementType::float16 && rule.least < float16_spacing) {
    ScaleRule spaced = rule;
    spaced.least = float16_spacing;
    return scan_parameters(weights, granularity, spaced);
  }
  if (!is_float(weights.element())) {
    return fail(ErrorCode::impossible,
                fmt::format("weights of type {} cannot be quantized: only floats can",
                            to_string(weights.element())));
  }
  QUADRANT_CHECK(check(rule));
  QUADRANT_TRY(const Groups groups, Groups::of(weights.shape(), granularity));
  QUADRANT_TRY(const Found found, rule.clip == Clip::mse ? search_each(weights, groups, rule)
                                                         : scan_extremes(weights, groups, rule));
  if (found.non_finite) return ParameterScan{{}, {}, found.non_finite};
  return found.parameters.constants(rule, parameter_shape(weights.shape(), granularity));
}

}  // namespace quadrant::inline v0

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "ir/float16.hpp"
#include "numerics/clip_search.hpp"
#include "numerics/found_parameters.hpp"
#include "numerics/group_reach.hpp"
#include "numerics/group_reader.hpp"
#include "numerics/groups.hpp"
#include "numerics/pieces.hpp"
#include "numerics/scale_rule.hpp"
#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0 {
namespace {

// The parameters of the groups, or the reason why there are none.
struct Found {
  FoundParameters parameters;
  std::optional<NonFinite> non_finite;
};

// Groups that lie together are done with before the next ones are read: what is kept of them
// meanwhile stays in the processor's cache.
Expected<Found> scan_extremes(const Constant& weights, const Groups& groups,
                              const ScaleRule& rule) {
  constexpr auto elements = static_cast<std::int64_t>(piece_elements);
  const std::int64_t group_count = groups.group_count();
  const std::int64_t at_a_time = groups.groups_in(elements);
  Found found{FoundParameters(rule, static_cast<std::size_t>(group_count)), {}};
  GroupReach reach;
  FloatReader reader(weights);
  for (std::int64_t group = 0; group < group_count; group += at_a_time) {
    const std::int64_t count = std::min(at_a_time, group_count - group);
    const std::int64_t end = groups.members(group + count - 1).end();
    reach.start(static_cast<std::size_t>(group), static_cast<std::size_t>(count));
    for (std::int64_t first = groups.members(group).first; first < end; first += elements) {
      QUADRANT_TRY(const std::span<const float> values, reader.read(first, piece_size(first, end)));
      if (!reach.add(groups, first, values)) return Found{{}, first_non_finite(values, first)};
    }
    found.parameters.set_unsearched(rule, static_cast<std::size_t>(group), reach.above(),
                                    reach.below());
  }
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
  if (!is_float(weights.element())) {
    return fail(ErrorCode::impossible,
                fmt::format("weights of type {} cannot be quantized: only floats can",
                            to_string(weights.element())));
  }
  QUADRANT_CHECK(check(rule));
  const ScaleRule spaced = rule_for(weights.element(), rule);
  QUADRANT_TRY(const Groups groups, Groups::of(weights.shape(), granularity));
  QUADRANT_TRY(Found found, rule.clip == Clip::mse ? search_each(weights, groups, spaced)
                                                   : scan_extremes(weights, groups, spaced));
  if (found.non_finite) return ParameterScan{{}, {}, found.non_finite};
  return std::move(found.parameters)
      .constants(spaced, parameter_shape(weights.shape(), granularity));
}

}  // namespace quadrant::inline v0

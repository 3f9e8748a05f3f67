#include "quadrant/numerics/scales.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "numerics/clip_search.hpp"
#include "numerics/extremes.hpp"
#include "numerics/group_reader.hpp"
#include "numerics/groups.hpp"
#include "numerics/pieces.hpp"
#include "numerics/scale_rule.hpp"
#include "quadrant/ir/float16.hpp"
#include "quadrant/ir/scales.hpp"

namespace quadrant::inline v0 {
namespace {

// The parameters of the groups, or the reason why there are none.
struct Found {
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  std::optional<NonFinite> non_finite;

  void add(const GroupParameters& group) {
    scales.push_back(group.scale);
    zero_points.push_back(group.zero_point);
  }
};

Found nothing(const std::optional<NonFinite>& because) { return {{}, {}, because}; }

Found room_for(std::int64_t groups) {
  Found found;
  found.scales.reserve(static_cast<std::size_t>(groups));
  found.zero_points.reserve(static_cast<std::size_t>(groups));
  return found;
}

Expected<Found> scan_extremes(const Constant& weights, const Groups& groups,
                              const ScaleRule& rule) {
  Extremes extremes(static_cast<std::size_t>(groups.group_count()));
  FloatReader reader(weights);
  const std::int64_t count = groups.element_count();
  for (std::int64_t first = 0; first < count; first += std::int64_t{piece_elements}) {
    QUADRANT_TRY(const std::span<const float> values, reader.read(first, piece_size(first, count)));
    if (const auto found = first_non_finite(values, first)) return nothing(found);
    groups.for_each_run(first, values.size(),
                        [&](std::size_t group, std::size_t position, std::size_t length) {
                          const auto run = values.subspan(position, length);
                          if (groups.interleaved()) {
                            extremes.add_each(group, run);
                          } else {
                            extremes.add(group, run);
                          }
                        });
  }
  Found found = room_for(groups.group_count());
  for (std::size_t group = 0; group < extremes.size(); ++group) {
    found.add(unsearched_parameters(rule, rule.clip, {extremes.min(group), extremes.max(group)}));
  }
  return found;
}

Expected<Found> search_each(const Constant& weights, const Groups& groups, const ScaleRule& rule) {
  GroupReader reader(weights, groups);
  ClipSearch search(rule);
  Found found = room_for(groups.group_count());
  for (std::int64_t group = 0; group < groups.group_count(); ++group) {
    QUADRANT_TRY(const std::span<const float> values, reader.read(group));
    if (reader.non_finite()) return nothing(reader.non_finite());
    found.add(search.best(values));
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
  ParameterScan scan{{}, {}, found.non_finite};
  if (scan.non_finite) return scan;

  const Shape shape = parameter_shape(weights.shape(), granularity);
  const bool fits_rule =
      rule.scale == ElementType::float32 || std::ranges::all_of(found.scales, is_normal_half);
  scan.scales = make_scales(fits_rule ? rule.scale : ElementType::float32, shape, found.scales);
  if (rule.symmetry == Symmetry::asymmetric || fixed_zero_point(rule) != 0) {
    const std::vector<std::int64_t> zero_points(found.zero_points.begin(), found.zero_points.end());
    scan.zero_points = make_zero_points(rule.storage, shape, zero_points);
  }
  return scan;
}

}  // namespace quadrant::inline v0

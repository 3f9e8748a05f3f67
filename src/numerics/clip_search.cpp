#include "numerics/clip_search.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "numerics/kernels/extremes.hpp"
#include "numerics/kernels/squared_error.hpp"

namespace quadrant::inline v0 {
namespace {

kernels::CodedBy coded_by(const GroupParameters& parameters, const ScaleRule& rule) {
  const CodeRange codes = codes_around(rule, parameters.zero_point);
  return {parameters.scale, static_cast<float>(codes.lo), static_cast<float>(codes.hi)};
}

}  // namespace

GroupParameters ClipSearch::best(std::span<const float> values) {
  values_ = values;
  kernels::reach_of_rows(values.data(), {1, values.size(), values.size()},
                         {&range_.max, &range_.min});
  range_.min = -range_.min;
  best_ = unsearched_parameters(rule_, Clip::minmax, range_);
  const GroupParameters other = unsearched_parameters(rule_, Clip::absmax, range_);
  const auto errors = kernels::squared_errors(values.data(), values.size(),
                                              {coded_by(best_, rule_), coded_by(other, rule_)});
  error_ = errors[0];
  if (errors[1] < errors[0]) {
    best_ = other;
    error_ = errors[1];
  }
  if (error_ == 0) return best_;

  is_small_ =
      values.size() <= SmallScaleSearch::most_values && steps() <= SmallScaleSearch::most_codes;
  if (is_small_) {
    small_search_.load(values, range_);
  } else {
    search_.load(values);
  }
  if (rule_.symmetry == Symmetry::asymmetric) {
    search_zero_points();
    return best_;
  }
  const CodeRange codes = codes_around(rule_, fixed_zero_point(rule_));
  search_scales(codes, 1);
  if (rule_.symmetry == Symmetry::signed_scale && !codes.is_balanced()) {
    search_scales(codes.mirrored(), -1);
  }
  return best_;
}

void ClipSearch::consider(const GroupParameters& other) {
  const double error =
      kernels::squared_error(values_.data(), values_.size(), coded_by(other, rule_));
  if (!(error < error_)) return;
  best_ = other;
  error_ = error;
}

// Above the scale that clips nothing more codes can coincide with weights, which helps where both
// are few. With many codes it would take long to gain nothing.
double ClipSearch::reach() const noexcept { return steps() < 256 ? 2 : 1; }

void ClipSearch::search_scales(const CodeRange& codes, double sign) {
  const ScaleDomain domain{
      .most = reach() * containing_scale(range_, codes), .below = -codes.lo, .above = codes.hi};
  const auto found = is_small_ ? small_search_.best(domain, error_) : search_.best(domain, error_);
  if (!found) return;
  const auto parameters = usable(rule_, range_, sign * found->scale, fixed_zero_point(rule_));
  // A second search would want to know the cost.
  const bool is_last = rule_.symmetry == Symmetry::symmetric && is_small_;
  if (is_last && small_search_.is_surely_better() &&
      parameters.scale == static_cast<float>(found->scale)) {
    best_ = parameters;
    return;
  }
  consider(parameters);
}

void ClipSearch::search_zero_points() {
  const double width = static_cast<double>(range_.max) - static_cast<double>(range_.min);
  const double most = reach() * width / static_cast<double>(std::max<std::int64_t>(steps() - 1, 1));
  const auto consider_found = [&](const std::optional<FoundScale>& found) {
    if (found) consider(usable(rule_, range_, found->scale, rule_.storage_min + found->below));
  };
  if (!is_small_) {
    consider_found(search_.best({.most = most, .below = steps(), .free_zero = true}, error_));
    return;
  }
  // From the zero point on that fits the range best: the less is known to cost, the fewer scales
  // there are to look at.
  const auto balanced = static_cast<std::int64_t>(
      std::nearbyint(-static_cast<double>(range_.min) / width * static_cast<double>(steps())));
  for (std::int64_t i = 0; i <= 2 * steps(); ++i) {
    const std::int64_t below = balanced + (i % 2 == 0 ? i / 2 : -(i + 1) / 2);
    if (below < 0 || below > steps()) continue;
    consider_found(small_search_.best({.most = most, .below = below, .above = steps() - below},
                                      error_, i == 0));
  }
}

}  // namespace quadrant::inline v0

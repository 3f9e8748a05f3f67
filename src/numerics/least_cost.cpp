#include "numerics/least_cost.hpp"

#include <algorithm>
#include <limits>

namespace quadrant::inline v0 {
namespace {

struct Cost {
  double squared_error = 0;
  double clipped = 0;  ///< the part of it that is outside the encoding's range

  [[nodiscard]] double total(double gamma) const noexcept {
    return squared_error + (gamma - 1) * clipped;
  }
};

Cost cost_of(std::span<const WeightedValue> values, const Encoding& encoding,
             const RoundingProfile& rounding) {
  Cost cost;
  for (const WeightedValue& value : values) {
    const double error =
        value.value - dequantize_value(quantize_value(value.value, encoding, rounding), encoding);
    const double squares = error * error * static_cast<double>(value.count);
    cost.squared_error += squares;
    if (value.value < encoding.min || value.value > encoding.max) cost.clipped += squares;
  }
  return cost;
}

// The scales up to minmax's, which is `containing`; where zero is free up to one at which every
// range fits, wherever zero lies.
ScaleDomain domain_around(const Encoding& containing, const EncodingRule& rule, double gamma) {
  const auto steps = static_cast<double>(containing.steps);
  ScaleDomain domain;
  domain.below = containing.zero_point;
  domain.above = containing.steps - containing.zero_point;
  domain.gamma = gamma;
  domain.free_zero = rule.symmetry == EncodingSymmetry::asymmetric;
  domain.most = containing.scale * (domain.free_zero ? steps / (steps - 1) : 1);
  const double codes = domain.free_zero ? steps : static_cast<double>(domain.above);
  domain.least =
      std::max(rule.minimum_range / codes, static_cast<double>(std::numeric_limits<float>::min()));
  return domain;
}

}  // namespace

Encoding LeastCost::best(const Distribution& distribution, const EncodingRule& rule) {
  const double gamma = rule.method == EncodingMethod::enhanced ? rule.gamma : 1;
  const Encoding containing = encoding_of({distribution.min, distribution.max}, rule);
  const Cost bound = cost_of(distribution.values, containing, rule.rounding);
  if (bound.squared_error == 0) return containing;
  search_.load(distribution.values);
  const auto found = search_.best(domain_around(containing, rule, gamma), bound.total(gamma));
  if (!found) return containing;
  const Encoding best = encoding_of(found->scale, found->below, rule);
  const Cost cost = cost_of(distribution.values, best, rule.rounding);
  const bool better =
      cost.total(gamma) < bound.total(gamma) && cost.squared_error <= bound.squared_error;
  return better ? best : containing;
}

}  // namespace quadrant::inline v0

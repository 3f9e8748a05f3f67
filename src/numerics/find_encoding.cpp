#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "numerics/distribution.hpp"
#include "numerics/entropy.hpp"
#include "numerics/group_reader.hpp"
#include "numerics/groups.hpp"
#include "numerics/least_cost.hpp"
#include "numerics/percentile.hpp"
#include "numerics/pieces.hpp"
#include "numerics/range_encoding.hpp"
#include "quadrant/numerics/encoding.hpp"

namespace quadrant::inline v0 {
namespace {

// One a thread.
class Finder {
 public:
  explicit Finder(const EncodingRule& rule) : rule_(rule) {}

  [[nodiscard]] Encoding find(std::span<const float> values) {
    if (values.empty()) return encoding_of(RealRange{}, rule_);
    if (!needs_values()) {
      const auto [min, max] = std::ranges::minmax(values);
      return encoding_of({static_cast<double>(min), static_cast<double>(max)}, rule_);
    }
    return find(sorted_.of(values));
  }

  [[nodiscard]] Encoding find(const Distribution& distribution) {
    switch (rule_.method) {
      case EncodingMethod::percentile:
        return encoding_of(percentile_range(distribution, rule_.percentile), rule_);
      case EncodingMethod::entropy:
        return encoding_of(entropy_range(distribution, rule_), rule_);
      case EncodingMethod::enhanced:
      case EncodingMethod::mse:
        return least_cost_.best(distribution, rule_);
      case EncodingMethod::minmax:
      case EncodingMethod::adjusted_weights:
        break;
    }
    return encoding_of({distribution.min, distribution.max}, rule_);
  }

 private:
  [[nodiscard]] bool needs_values() const noexcept {
    return rule_.method != EncodingMethod::minmax &&
           rule_.method != EncodingMethod::adjusted_weights;
  }

  EncodingRule rule_;
  SortedValues sorted_;
  LeastCost least_cost_;
};

Expected<void> check_ends(double min, double max) {
  if (!std::isfinite(min) || !std::isfinite(max) || min > max) {
    return fail(
        ErrorCode::impossible,
        fmt::format("a range from {} to {}: its ends must be finite and in order", min, max));
  }
  return {};
}

tl::unexpected<Error> fail_at(const NonFinite& found) {
  return fail(ErrorCode::invalid_model, fmt::format("element {} is {}: there is no encoding for it",
                                                    found.index, found.value));
}

Expected<void> check_values(std::span<const WeightedValue> values, double min, double max) {
  constexpr double most = std::numeric_limits<float>::max();
  double last = std::max(min, -most);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i].value;
    const bool fits = value >= last && value <= std::min(max, most);  // a NaN does not
    if (!fits) {
      return fail(ErrorCode::invalid_model,
                  fmt::format("value {} of a distribution from {} to {} is {}: values must be in "
                              "ascending order, between the ends and in the range of float32",
                              i, min, max, value));
    }
    last = value;
  }
  return {};
}

}  // namespace

Expected<Encoding> find_encoding(double min, double max, const EncodingRule& rule) {
  QUADRANT_CHECK(check(rule));
  QUADRANT_CHECK(check_ends(min, max));
  return encoding_of({min, max}, rule);
}

Expected<Encoding> find_encoding(std::span<const float> values, const EncodingRule& rule) {
  QUADRANT_CHECK(check(rule));
  if (const auto found = first_non_finite(values, 0)) return fail_at(*found);
  return Finder(rule).find(values);
}

Expected<Encoding> find_encoding(std::span<const WeightedValue> values, double min, double max,
                                 const EncodingRule& rule) {
  QUADRANT_CHECK(check(rule));
  QUADRANT_CHECK(check_ends(min, max));
  QUADRANT_CHECK(check_values(values, min, max));
  return Finder(rule).find(Distribution{values, min, max});
}

Expected<std::vector<Encoding>> find_encodings(const Constant& weights,
                                               const Granularity& granularity,
                                               const EncodingRule& rule) {
  if (!is_float(weights.element())) {
    return fail(ErrorCode::impossible,
                fmt::format("weights of type {} have no encoding: only floats have",
                            to_string(weights.element())));
  }
  QUADRANT_CHECK(check(rule));
  QUADRANT_TRY(const Groups groups, Groups::of(weights.shape(), granularity));
  GroupReader reader(weights, groups);
  Finder finder(rule);
  std::vector<Encoding> encodings;
  encodings.reserve(static_cast<std::size_t>(groups.group_count()));
  for (std::int64_t group = 0; group < groups.group_count(); ++group) {
    QUADRANT_TRY(const std::span<const float> values, reader.read(group));
    if (const auto& found = reader.non_finite()) return fail_at(*found);
    encodings.push_back(finder.find(values));
  }
  return encodings;
}

Expected<Encoding> encoding_from_ends(double min, double max, const EncodingRule& rule) {
  QUADRANT_CHECK(check(rule));
  QUADRANT_CHECK(check_ends(min, max));
  return encoding_with_ends({min, max}, rule);
}

}  // namespace quadrant::inline v0

#include "pipeline/place_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <ranges>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "numerics/coded_range.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

// From here on it is odd: by so much is the range wider than 99.9 % of the values, or one channel
// larger than half of them.
constexpr double odd_ratio = 8;
constexpr double inner_part = 0.999;
// Of the error that rounding to the nearest of evenly spaced codes makes: more is clipped.
constexpr double most_of_rounding = 2;

// The steps' own, of all scales.
Expected<double> mean_square_of_steps(const UniformType& type) {
  QUADRANT_TRY(const std::vector<float> scales, read_scales(type.scales));
  double sum = 0;
  for (const float scale : scales) sum += static_cast<double>(scale) * scale;
  return scales.empty() ? 0 : sum / static_cast<double>(scales.size());
}

// How far each channel goes; empty where channels are not known.
std::vector<double> reaches_of(const TensorStatistics& seen) {
  std::vector<double> reaches;
  if (!seen.by_channel) return reaches;
  for (const ChannelStatistics& channel : seen.by_channel->channels) {
    reaches.push_back(
        static_cast<double>(std::max(std::fabs(channel.min), std::fabs(channel.max))));
  }
  return reaches;
}

std::vector<std::size_t> dead_channels(const TensorStatistics& before,
                                       const TensorStatistics& after) {
  std::vector<std::size_t> dead;
  if (!before.by_channel || !after.by_channel) return dead;
  const auto& ours = before.by_channel->channels;
  const auto& theirs = after.by_channel->channels;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    const bool is_constant = theirs[i].min >= theirs[i].max && theirs[i].count > 1;
    if (is_constant && ours[i].min < ours[i].max) dead.push_back(i);
  }
  return dead;
}

struct Outlier {
  std::size_t channel = 0;
  double reach = 0;
  double median = 0;

  [[nodiscard]] bool is_odd() const { return reach > odd_ratio * median; }
};

std::optional<Outlier> outlier_of(const TensorStatistics& seen) {
  constexpr std::size_t fewest = 4;
  std::vector<double> reaches = reaches_of(seen);
  if (reaches.size() < fewest) return std::nullopt;
  const auto largest = std::ranges::max_element(reaches);
  Outlier found{static_cast<std::size_t>(largest - reaches.begin()), *largest, 0};
  const auto middle = reaches.begin() + static_cast<std::ptrdiff_t>((reaches.size() - 1) / 2);
  std::ranges::nth_element(reaches, middle);
  found.median = *middle;
  return found;
}

// The range of the values without the outermost, zero included.
std::pair<double, double> inner_range(const std::vector<WeightedValue>& values,
                                      std::uint64_t count) {
  const double left_out = (1 - inner_part) / 2 * static_cast<double>(count);
  const auto first_beyond = [&](const auto& from_one_end) {
    double passed = 0;
    for (const WeightedValue& each : from_one_end) {
      passed += static_cast<double>(each.count);
      if (passed > left_out) return each.value;
    }
    return 0.0;
  };
  return {std::min(0.0, first_beyond(values)),
          std::max(0.0, first_beyond(std::views::reverse(values)))};
}

class Evidence {
 public:
  Evidence(const UniformType& type, const TensorStatistics& before, const TensorStatistics* after)
      : type_(type), before_(before), after_(after), values_(before.histogram.values()) {}

  // `measured`: the real one, where it is known.
  Expected<PlaceEvidence> find(const Agreement* measured) {
    QUADRANT_TRY(range_, coded_range(ScaledFormat::of(type_)));
    QUADRANT_TRY(mean_square_, mean_square_of_steps(type_));
    if (range_) effect_ = coding_effect(before_.histogram, *range_);
    if (measured != nullptr) {
      effect_.signal = measured->signal;
      effect_.noise = measured->noise;
    }
    PlaceEvidence made;
    made.relative_noise = effect_.signal > 0 ? effect_.noise / effect_.signal : 0;
    std::tie(made.kind, made.found) = name();
    return made;
  }

 private:
  using Named = std::pair<CauseKind, std::string>;

  [[nodiscard]] Named name() const {
    if (values_.empty()) return {CauseKind::rounding, rounding_words()};
    if (is_clipped()) return {CauseKind::clipped, clipped_words()};
    const bool is_shared = type_.granularity.kind == Granularity::Kind::tensor;
    const std::optional<Outlier> outlier = is_shared ? outlier_of(before_) : std::nullopt;
    const std::string reach =
        outlier && outlier->is_odd()
            ? fmt::format(
                  "channel {} reaches {:.3g}, half of the channels no more than {:.3g}: one "
                  "scale is for all",
                  outlier->channel, outlier->reach, outlier->median)
            : std::string();
    const auto dead =
        after_ == nullptr ? std::vector<std::size_t>() : dead_channels(before_, *after_);
    if (!dead.empty()) {
      return {CauseKind::dead_channels,
              fmt::format("{} of {} {} constant in codes and not in floats, channel {} for one{}",
                          dead.size(), reaches_of(before_).size(),
                          dead.size() == 1 ? "channels is" : "channels are", dead.front(),
                          reach.empty() ? "" : "; " + reach)};
    }
    if (!reach.empty()) return {CauseKind::outlier_channel, reach};
    if (range_) {
      const auto [low, high] = inner_range(values_, before_.histogram.finite_count());
      if (range_->high - range_->low > odd_ratio * (high - low)) {
        return {CauseKind::wide_range,
                fmt::format("{:.4g} % of the values lie in {:.3g} to {:.3g}, the codes are spread "
                            "from {:.3g} to {:.3g}",
                            100 * inner_part, low, high, range_->low, range_->high)};
      }
    }
    return {CauseKind::rounding, rounding_words()};
  }

  // What it would be if nothing lay outside.
  [[nodiscard]] double rounding_noise() const {
    return mean_square_ / 12 * static_cast<double>(before_.histogram.finite_count());
  }

  [[nodiscard]] bool is_clipped() const {
    const bool some = !range_ || effect_.clipped > 0;
    return some && effect_.noise > most_of_rounding * rounding_noise();
  }

  [[nodiscard]] std::string clipped_words() const {
    const Histogram& seen = before_.histogram;
    if (!range_) {
      return fmt::format(
          "the largest weights are clipped: the error is {:.3g} times that of rounding",
          effect_.noise / rounding_noise());
    }
    return fmt::format(
        "{:.3g} % of the values lie outside of {:.3g} to {:.3g}, which is what the "
        "codes hold: they go from {:.3g} to {:.3g}",
        100 * static_cast<double>(effect_.clipped) /
            static_cast<double>(std::max<std::uint64_t>(1, seen.finite_count())),
        range_->low, range_->high, seen.min(), seen.max());
  }

  [[nodiscard]] std::string rounding_words() const {
    const int bits = declared_bits(type_);
    if (range_) {
      return fmt::format("{} bits for {:.3g} to {:.3g} are steps of {:.3g}", bits, range_->low,
                         range_->high, range_->step);
    }
    return fmt::format("{} bits, with a scale for each {}", bits,
                       type_.granularity.kind == Granularity::Kind::axis
                           ? std::string("channel")
                           : fmt::format("block of {}", type_.granularity.block_size));
  }

  const UniformType& type_;
  const TensorStatistics& before_;
  const TensorStatistics* after_;
  std::vector<WeightedValue> values_;
  std::optional<CodedRange> range_;  // where one scale is for all
  double mean_square_ = 0;           // of the steps
  CodingEffect effect_;
};

TensorStatistics statistics_of(const Tensor& weight, std::int64_t axis) {
  TensorStatistics made(axis < weight.rank() ? std::optional(axis) : std::nullopt);
  made.add(weight);
  return made;
}

}  // namespace

Expected<std::optional<FloatRange>> range_of_codes(const UniformType& type) {
  QUADRANT_TRY(const auto range, coded_range(ScaledFormat::of(type)));
  if (!range) return std::nullopt;
  return FloatRange{static_cast<float>(range->low), static_cast<float>(range->high)};
}

Expected<PlaceEvidence> evidence_of_values(const UniformType& type, const TensorStatistics& before,
                                           const TensorStatistics* after) {
  return Evidence(type, before, after).find(nullptr);
}

Expected<PlaceEvidence> evidence_of_weight(const QuantizedPlace& place, const Quantization& type,
                                           std::int64_t axis) {
  QUADRANT_TRY(const Constant stored, dequantized(place.as_stored, type));
  QUADRANT_TRY(const Tensor ours, Tensor::from_constant(place.weight));
  QUADRANT_TRY(const Tensor theirs, Tensor::from_constant(stored));
  Agreement agreement;
  agreement.add(ours.as<float>(), theirs.as<float>());
  if (type.uniform() == nullptr) {
    return PlaceEvidence{CauseKind::rounding, "its number format is coarse",
                         agreement.signal > 0 ? agreement.noise / agreement.signal : 0};
  }
  const TensorStatistics before = statistics_of(ours, axis);
  const TensorStatistics after = statistics_of(theirs, axis);
  return Evidence(*type.uniform(), before, &after).find(&agreement);
}

}  // namespace quadrant::inline v0

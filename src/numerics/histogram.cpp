#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "numerics/finite.hpp"
#include "quadrant/numerics/statistics.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t bins = Histogram::bins_per_sign;
static_assert(bins == std::size_t{1} << static_cast<unsigned>(Histogram::bin_bits));
constexpr int least_exponent = -100;
constexpr std::uint64_t most_values = std::uint64_t{1} << 53U;

// An increment waits for the one before if that was of the same slot, and zeros come in long runs:
// neighbouring ones are counted in different slots.
constexpr std::uint32_t zero_slots = 8;

// Values whose slots are found before they are counted: a loop that vectorises, and one that
// cannot.
constexpr std::size_t piece_values = 1024;

// From so many values on, counting in slots of their own pays for adding these to the bins.
constexpr std::size_t many_values = 4096;
// Values that come at a time where some may not be finite, few enough for 32 bits of a slot.
constexpr std::size_t lot_values = std::size_t{1} << 16U;

int exponent_of(const FloatRange& range) noexcept {
  return std::max(exponent_above(range.largest_magnitude()), least_exponent);
}

// What multiplied with a magnitude gives its bin, exactly but for the digits that are cut off.
float bins_per_unit(int exponent) noexcept {
  return std::ldexp(1.0F, Histogram::bin_bits - exponent);
}

// The slot of each value. The choice is one of bits: a branch, half of the time mispredicted where
// half of the values are zeros, would cost more than all the rest.
void find_slots(std::span<const float> values, float scale,
                std::span<std::uint32_t> slots) noexcept {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(values[i]);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    const auto bin = static_cast<std::int32_t>(std::bit_cast<float>(magnitude) * scale);
    const std::uint32_t sign = bits >> 31U << static_cast<std::uint32_t>(Histogram::bin_bits);
    const std::uint32_t slot = static_cast<std::uint32_t>(bin) + sign + zero_slots;
    const std::uint32_t zero_slot = static_cast<std::uint32_t>(i) % zero_slots;
    const std::uint32_t is_zero = magnitude == 0 ? ~0U : 0U;
    slots[i] = (slot & ~is_zero) | (zero_slot & is_zero);
  }
}

template <class Visit>
void for_each_slot(std::span<const float> values, int exponent, Visit visit) {
  std::array<std::uint32_t, piece_values> slots;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const float scale = bins_per_unit(exponent);
  while (!values.empty()) {
    const std::span<const float> piece = values.first(std::min(values.size(), piece_values));
    values = values.subspan(piece.size());
    find_slots(piece, scale, slots);
    for (std::size_t i = 0; i < piece.size(); ++i) visit(slots[i]);
  }
}

// Where a value is counted, in ascending order: -i - 1 for bin i of negative values, 0 for zeros,
// i + 1 for bin i of positive ones.
std::int32_t place_of(float value, int exponent) noexcept {
  if (value == 0) return 0;
  const auto bin = static_cast<std::int32_t>(std::fabs(value) * bins_per_unit(exponent));
  return value < 0 ? -bin - 1 : bin + 1;
}

double middle_of(std::int32_t place, double width) noexcept {
  if (place == 0) return 0;
  return std::copysign((std::abs(place) - 0.5) * width, place);
}

// The places where there are values, and how many, in ascending order.
template <class Visit>
void for_each_place(const Histogram::Counts& counts, Visit visit) {
  for (std::size_t i = counts.negative.size(); i-- > 0;) {
    if (counts.negative[i] != 0) visit(-static_cast<std::int32_t>(i) - 1, counts.negative[i]);
  }
  if (counts.zeros != 0) visit(0, counts.zeros);
  for (std::size_t i = 0; i < counts.positive.size(); ++i) {
    if (counts.positive[i] != 0) visit(static_cast<std::int32_t>(i) + 1, counts.positive[i]);
  }
}

// The number of finite values of counts that some values give.
Expected<std::uint64_t> checked_count(const Histogram::Counts& counts) {
  const auto refuse = [](std::string message) {
    return fail(ErrorCode::invalid_model, std::move(message));
  };
  const auto fits = [](std::span<const std::uint64_t> sign) {
    return sign.empty() || sign.size() == bins;
  };
  if (!fits(counts.positive) || !fits(counts.negative)) {
    return refuse(fmt::format("a histogram has {} bins a sign, or none", bins));
  }
  if (!std::isfinite(counts.min) || !std::isfinite(counts.max)) {
    return refuse("the smallest and the largest value must be finite");
  }
  std::uint64_t total = 0;
  bool too_many = false;
  const auto count = [&](std::uint64_t values) {
    too_many = too_many || values > most_values - total;
    if (!too_many) total += values;
  };
  std::int32_t first = 0;
  std::int32_t last = 0;
  for_each_place(counts, [&](std::int32_t place, std::uint64_t values) {
    if (total == 0) first = place;
    last = place;
    count(values);
  });
  const std::uint64_t finite = total;
  for (const auto values : {counts.nan, counts.positive_infinity, counts.negative_infinity}) {
    count(values);
  }
  if (too_many) return refuse(fmt::format("more than {} values", most_values));
  const int exponent = exponent_of({counts.min, counts.max});
  if (place_of(counts.min, exponent) != first || place_of(counts.max, exponent) != last ||
      counts.min > counts.max || (counts.min < counts.max && finite < 2)) {
    return refuse(
        fmt::format("values from {} to {} do not fill these bins", counts.min, counts.max));
  }
  return finite;
}

}  // namespace

Expected<Histogram> Histogram::from_counts(const Counts& counts) {
  QUADRANT_TRY(const std::uint64_t finite, checked_count(counts));
  Histogram histogram;
  histogram.zeros_ = counts.zeros;
  histogram.nan_ = counts.nan;
  histogram.positive_infinity_ = counts.positive_infinity;
  histogram.negative_infinity_ = counts.negative_infinity;
  // Negative zeros become zeros.
  if (finite != 0) histogram.extend({counts.min + 0.0F, counts.max + 0.0F}, finite);
  if (counts.max > 0) histogram.positive_.add(counts.positive);
  if (counts.min < 0) histogram.negative_.add(counts.negative);
  return histogram;
}

void Histogram::add(std::span<const float> values) {
  const std::uint64_t before = finite_;
  for_each_finite_piece(
      values, lot_values,
      [this](std::span<const float> piece, const FloatRange& range) { add(piece, range); });
  if (finite_ - before != values.size()) count_non_finite(values);
}

void Histogram::count_non_finite(std::span<const float> values) noexcept {
  for (const float value : values) {
    if (std::isnan(value)) {
      ++nan_;
    } else if (std::isinf(value)) {
      ++(value > 0 ? positive_infinity_ : negative_infinity_);
    }
  }
}

void Histogram::add(std::span<const float> values, const FloatRange& range) {
  extend(range, values.size());
  if (range_ == FloatRange{} || !has_bins_) {
    zeros_ += static_cast<std::uint64_t>(std::ranges::count(values, 0.0F));
    return;
  }
  while (!values.empty()) {
    const std::span<const float> lot = values.first(std::min(values.size(), lot_values));
    values = values.subspan(lot.size());
    if (lot.size() < many_values) {
      add_few(lot);
    } else {
      add_many(lot);
    }
  }
}

void Histogram::add_few(std::span<const float> values) {
  for_each_slot(values, exponent(), [this](std::uint32_t slot) {
    if (slot < zero_slots) {
      ++zeros_;
    } else {
      const std::size_t bin = slot - zero_slots;
      (bin < bins ? positive_ : negative_).add(bin % bins, 1);
    }
  });
}

void Histogram::add_many(std::span<const float> values) {
  const bool has_negative = range_.min < 0;
  std::vector<std::uint32_t> counted(zero_slots + (has_negative ? 2 : 1) * bins);
  for_each_slot(values, exponent(), [&](std::uint32_t slot) { ++counted[slot]; });
  const std::span<const std::uint32_t> all(counted);
  for (const std::uint32_t zeros : all.first(zero_slots)) zeros_ += zeros;
  positive_.add(all.subspan(zero_slots, bins));
  if (has_negative) negative_.add(all.subspan(zero_slots + bins, bins));
}

void Histogram::merge(const Histogram& other) {
  zeros_ += other.zeros_;
  nan_ += other.nan_;
  positive_infinity_ += other.positive_infinity_;
  negative_infinity_ += other.negative_infinity_;
  if (!other.has_bins_) {
    has_bins_ = false;
    positive_ = {};
    negative_ = {};
  }
  if (other.finite_ == 0) return;
  const int other_exponent = other.exponent();
  extend(other.range_, other.finite_);
  const int steps = std::min(exponent() - other_exponent, bin_bits);
  const auto add_sign = [&](BinCounts& sum, const BinCounts& added) {
    if (added.is_empty() || !has_bins_) return;
    BinCounts coarse = added;
    coarse.coarsen(static_cast<unsigned>(steps));
    sum.add(coarse.all());
  };
  add_sign(positive_, other.positive_);
  add_sign(negative_, other.negative_);
}

void Histogram::extend(const FloatRange& range, std::uint64_t count) {
  const int before = exponent();
  range_ = finite_ == 0 ? range : united(range_, range);
  finite_ += count;
  const auto shift = static_cast<unsigned>(std::min(exponent() - before, bin_bits));
  positive_.coarsen(shift);
  negative_.coarsen(shift);
}

Histogram::Counts Histogram::counts() const {
  return {.zeros = zeros_,
          .nan = nan_,
          .positive_infinity = positive_infinity_,
          .negative_infinity = negative_infinity_,
          .min = range_.min,
          .max = range_.max,
          .positive = range_.max > 0 ? positive_.all() : std::vector<std::uint64_t>(),
          .negative = range_.min < 0 ? negative_.all() : std::vector<std::uint64_t>()};
}

int Histogram::exponent() const noexcept { return exponent_of(range_); }

double Histogram::bin_width() const noexcept { return std::ldexp(1.0, exponent() - bin_bits); }

std::vector<WeightedValue> Histogram::values() const {
  std::vector<WeightedValue> values;
  if (finite_ == 0) return values;
  const auto min = static_cast<double>(range_.min);
  const auto max = static_cast<double>(range_.max);
  const auto append = [&](double value, std::uint64_t count) {
    if (count == 0) return;
    if (!values.empty() && values.back().value == value) {
      values.back().count += count;
    } else {
      values.push_back({value, count});
    }
  };
  const double width = bin_width();
  const std::int32_t first = place_of(range_.min, exponent());
  const std::int32_t last = place_of(range_.max, exponent());
  append(min, 1);
  for_each_place(counts(), [&](std::int32_t place, std::uint64_t count) {
    // One value of the first place is `min`, and one of the last is `max`.
    if (place == first) --count;
    if (place == last && finite_ > 1) --count;
    append(std::clamp(middle_of(place, width), min, max), count);
  });
  if (finite_ > 1) append(max, 1);
  return values;
}

}  // namespace quadrant::inline v0

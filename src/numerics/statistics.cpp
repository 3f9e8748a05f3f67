#include "quadrant/numerics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "numerics/finite.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {
namespace {

// What stays in the first-level cache while it is read several times, and in the second.
constexpr std::size_t values_a_piece = 4096;
constexpr std::size_t values_a_lot = 16 * values_a_piece;

// Rounding of the sum and of the quotient could lead out of the range.
double mean_of(const ExactSum& sum, std::uint64_t count, float min, float max) noexcept {
  if (count == 0) return 0;
  return std::clamp(sum.value() / static_cast<double>(count), static_cast<double>(min),
                    static_cast<double>(max));
}

// Whether channels of that number can go on being counted. Decided by the set of all numbers that
// ever came, not by their order.
bool takes(ChannelTable& table, std::size_t extent) {
  if (table.channels.empty() && !table.is_varying) table.channels.resize(extent);
  table.is_varying = table.is_varying || extent == 0 || table.channels.size() != extent;
  if (table.is_varying) table.channels.clear();
  return !table.is_varying;
}

}  // namespace

void ChannelStatistics::add(std::span<const float> values) {
  for_each_finite_piece(values, values_a_piece,
                        [this](std::span<const float> piece, const FloatRange& range) {
                          sum.add(piece, range);
                          merge({.count = piece.size(), .min = range.min, .max = range.max});
                        });
}

void ChannelStatistics::merge(const ChannelStatistics& other) noexcept {
  if (other.count == 0) return;
  min = count == 0 ? other.min : std::min(min, other.min);
  max = count == 0 ? other.max : std::max(max, other.max);
  count += other.count;
  sum.merge(other.sum);
}

double ChannelStatistics::mean() const noexcept { return mean_of(sum, count, min, max); }

void ChannelTable::add(const Shape& shape, std::span<const float> values) {
  const std::int64_t position = normalize_axis(axis, shape.rank()).value_or(shape.rank());
  const std::int64_t extent = position == shape.rank() ? 0 : shape[position].value();
  if (!takes(*this, static_cast<std::size_t>(extent))) return;
  std::size_t run = 1;
  for (std::int64_t i = position + 1; i < shape.rank(); ++i) {
    run *= static_cast<std::size_t>(shape[i].value());
  }
  constexpr std::size_t many = 1024;  // short runs are gathered: adding pays for many at a time
  std::vector<float> gathered;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    gathered.clear();
    for (std::size_t at = i * run; at < values.size(); at += run * channels.size()) {
      const std::span<const float> part = values.subspan(at, run);
      if (run >= many) {
        channels[i].add(part);
      } else {
        gathered.insert(gathered.end(), part.begin(), part.end());
      }
    }
    channels[i].add(gathered);
  }
}

void ChannelTable::merge(const ChannelTable& other) {
  QUADRANT_ASSERT(axis == other.axis);
  if (other.channels.empty() && !other.is_varying) return;
  if (!takes(*this, other.channels.size())) return;
  for (std::size_t i = 0; i < channels.size(); ++i) channels[i].merge(other.channels[i]);
}

Expected<TensorStatistics> TensorStatistics::from_range(float lowest, float highest) {
  if (!std::isfinite(lowest) || !std::isfinite(highest) || lowest > highest) {
    return fail(ErrorCode::usage,
                fmt::format("a range of statistics is two finite numbers, the lower one first: not "
                            "{} to {}",
                            lowest, highest));
  }
  TensorStatistics statistics(std::nullopt, false);
  statistics.samples = 1;
  statistics.add_lot(std::array{lowest, highest});
  return statistics;
}

void TensorStatistics::add(const Tensor& tensor) {
  QUADRANT_ASSERT(is_float(tensor.element()));
  std::vector<float> widened;
  std::span<const float> values;
  if (tensor.element() == ElementType::float32) {
    values = tensor.as<float>();
  } else {
    widened.resize(static_cast<std::size_t>(tensor.element_count()));
    widen_to_float(tensor.element(), tensor.bytes(), widened);
    values = widened;
  }
  ++samples;
  for (std::size_t i = 0; i < values.size(); i += values_a_lot) {
    add_lot(values.subspan(i, std::min(values_a_lot, values.size() - i)));
  }
  if (by_channel) by_channel->add(tensor.shape(), values);
}

void TensorStatistics::add_lot(std::span<const float> lot) {
  FloatRange all;
  bool is_finite = true;
  for (std::size_t i = 0; i < lot.size(); i += values_a_piece) {
    const auto piece = lot.subspan(i, std::min(values_a_piece, lot.size() - i));
    const FloatRange range = range_of(piece);
    all = i == 0 ? range : united(all, range);
    is_finite = is_finite && range.is_finite();
    if (range.is_finite()) {
      sum.add(piece, range);
    } else {
      sum.add(piece);
    }
  }
  if (is_finite) {
    histogram.add(lot, all);
  } else {
    histogram.add(lot);
  }
}

void TensorStatistics::merge(const TensorStatistics& other) {
  samples += other.samples;
  histogram.merge(other.histogram);
  sum.merge(other.sum);
  if (by_channel && other.by_channel && by_channel->axis == other.by_channel->axis) {
    by_channel->merge(*other.by_channel);
  } else {
    by_channel.reset();
  }
}

double TensorStatistics::mean() const noexcept {
  return mean_of(sum, histogram.finite_count(), histogram.min(), histogram.max());
}

const TensorStatistics* StatisticsTable::find(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

void StatisticsTable::merge(const StatisticsTable& other) {
  if (model.empty()) model = other.model;
  if (model_hash == 0) model_hash = other.model_hash;
  samples += other.samples;
  for (const auto& [name, statistics] : other.values) {
    const auto [place, is_new] = values.try_emplace(name, statistics);
    if (!is_new) place->second.merge(statistics);
  }
}

}  // namespace quadrant::inline v0

// What is known of the values of a model after it has seen data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/tensor.hpp"
#include "quadrant/numerics/exact_sum.hpp"
#include "quadrant/numerics/histogram.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Of the finite values of one channel.
struct ChannelStatistics {
  std::uint64_t count = 0;
  float min = 0;  ///< 0 where there are no values
  float max = 0;
  ExactSum sum;

  void add(std::span<const float> values);
  void merge(const ChannelStatistics& other) noexcept;
  /// 0 where there are no values.
  [[nodiscard]] double mean() const noexcept;
  friend bool operator==(const ChannelStatistics&, const ChannelStatistics&) = default;
};

/// The channels of a value: its elements with the same index along an axis. Tensors in which the
/// axis has another extent than in the first, or which do not have it, leave no channels at all.
struct ChannelTable {
  std::int64_t axis = 0;    ///< counted from the end where negative
  bool is_varying = false;  ///< channels did not fit; `channels` is empty from then on
  std::vector<ChannelStatistics> channels;  ///< empty before the first tensor

  /// `values` are the elements of a tensor of that static shape.
  void add(const Shape& shape, std::span<const float> values);
  /// Of the same axis.
  void merge(const ChannelTable& other);
  friend bool operator==(const ChannelTable&, const ChannelTable&) = default;
};

/// One value, over all tensors that it was. A function of these tensors alone: neither their order,
/// nor how they were split between statistics that were merged matters; and all but `samples` is
/// the same in whatever batches the elements came.
struct TensorStatistics {
  TensorStatistics() = default;
  /// Without an axis there are no statistics by channel; without bins, a histogram of the range.
  explicit TensorStatistics(std::optional<std::int64_t> channel_axis, bool has_bins = true)
      : histogram(has_bins) {
    if (channel_axis) by_channel.emplace().axis = *channel_axis;
  }

  /// For ranges that are known without data: as of one tensor of the two ends alone, without bins,
  /// a hundred bytes or so. Encodings by range need no more; those that search find nothing in
  /// between. `usage` where one end is not finite, or they are in the wrong order.
  [[nodiscard]] static Expected<TensorStatistics> from_range(float lowest, float highest);

  std::uint64_t samples = 0;  ///< tensors that were added
  Histogram histogram;
  ExactSum sum;  ///< of the finite elements
  std::optional<ChannelTable> by_channel;

  /// The tensor must be of a float type. float64 is rounded to float32.
  void add(const Tensor& tensor);
  /// Channels remain where both have them along the same axis.
  void merge(const TensorStatistics& other);
  /// Of the finite elements; 0 where there are none.
  [[nodiscard]] double mean() const noexcept;
  friend bool operator==(const TensorStatistics&, const TensorStatistics&) = default;

 private:
  void add_lot(std::span<const float> lot);
};

/// The values of a model, by name.
struct StatisticsTable {
  std::string model;          ///< a note for people: what it was made with
  std::uint64_t samples = 0;  ///< that the model has seen
  std::map<std::string, TensorStatistics, std::less<>> values;
  std::uint64_t model_hash = 0;  ///< that graph's `model_hash`; 0: not known

  /// Null where there are none of that name.
  [[nodiscard]] const TensorStatistics* find(std::string_view name) const;
  /// As if this had seen what `other` has. Keeps its own note and hash, if it has them.
  void merge(const StatisticsTable& other);
  friend bool operator==(const StatisticsTable&, const StatisticsTable&) = default;
};

}  // namespace quadrant::inline v0

// Statistics: what is counted, summed and compared as values come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// Counts in many bins, in as little memory as they need.

/// How often each of 8192 bins was met. Bins lie in pages of 256, which take memory once one of
/// theirs was met, with counters as wide as the largest of the page needs: 1, 2, 4 or 8 bytes. A
/// plain value; equal where the counts are.
class BinCounts {
 public:
  static constexpr std::size_t bins = 8192;

  void add(std::size_t bin, std::uint64_t count);
  /// Of all bins.
  void add(std::span<const std::uint32_t> counts);
  void add(std::span<const std::uint64_t> counts);
  /// Bin i becomes part of bin i / 2^shift.
  void coarsen(unsigned shift);

  [[nodiscard]] bool is_empty() const noexcept { return pages_.empty(); }
  /// Of all bins.
  [[nodiscard]] std::vector<std::uint64_t> all() const;
  /// Bytes of memory, beside those of the object itself.
  [[nodiscard]] std::size_t memory() const noexcept;

  friend bool operator==(const BinCounts&, const BinCounts&) = default;

 private:
  static constexpr std::size_t page_bins = 256;
  /// No counters: the bins were not met.
  using Page = std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>,
                            std::vector<std::uint32_t>, std::vector<std::uint64_t>>;

  /// Counters that hold up to `largest`.
  static void make_room(Page& page, std::uint64_t largest);
  template <class Count>
  void add_all(std::span<const Count> counts);

  std::vector<Page> pages_;  // none, or for all bins
};

// A sum of floats without rounding, and so the same in any order.

/// The exact sum of float32 values: a function of which values were added and how often, whatever
/// their order and however they were split between sums that were merged. NaN and infinities are
/// left out. Exact for up to 2^63 values.
///
/// Every float32 is a multiple of 2^-149 below 2^128, so that a fixed-point number of 384 bits
/// holds every such sum (Kulisch, "Computer Arithmetic and Validity", 2008, calls it a complete
/// register).
///
///   {1e30, 1, -1e30}  ->  1
class ExactSum {
 public:
  void add(std::span<const float> values);
  /// The same for finite values of a range that is known already.
  void add(std::span<const float> values, const FloatRange& range) noexcept;
  void merge(const ExactSum& other) noexcept;

  /// The double nearest to the sum, ties to even.
  [[nodiscard]] double value() const noexcept;

  /// The sum in full, as C and Python write floats in base 16: `-0x3p-1` is -1.5. Without needless
  /// digits: equal sums give equal text.
  [[nodiscard]] std::string to_hex() const;
  /// Reads what `to_hex` writes. Empty for other text, also for numbers that are no sum of floats.
  [[nodiscard]] static std::optional<ExactSum> from_hex(std::string_view text);

  friend bool operator==(const ExactSum&, const ExactSum&) = default;

 private:
  bool add_narrow(std::span<const float> values, int top) noexcept;
  void add_wide(std::span<const float> values) noexcept;
  /// factor * 2^exponent, which is a multiple of 2^-149.
  void add_multiple(std::int64_t factor, int exponent) noexcept;

  /// In units of 2^-149, two's complement, the least significant word first.
  std::array<std::uint64_t, 6> words_{};
};

// Histograms: how often which float values occur, counted as they come, in constant memory.

/// Counts float32 values in bins of equal width; zeros, NaN and infinities are counted apart, and
/// the smallest and the largest finite value are kept as they are.
///
/// Each sign has 8192 bins over the magnitudes below 2^exponent(), where the exponent is the least
/// that holds all values: bin i counts the magnitudes of [i, i + 1) times 2^(exponent() - 13). When
/// a value comes that is too large, neighbouring bins are added in pairs until it fits. Halving i
/// is what doubling the width does, so that nothing but the values that were added decides what a
/// histogram is: not their order, and not how they were split between histograms that were merged.
///
/// A histogram takes memory by what it has counted (BinCounts): a few hundred bytes for a few
/// values, 8 to 32 KiB a sign for millions of all sizes, at most 128 KiB. It is a plain value:
/// several threads may read one, or write one each.
class Histogram {
 public:
  static constexpr int bin_bits = 13;
  static constexpr std::size_t bins_per_sign = BinCounts::bins;

  /// All that a histogram knows, to save it and to make it again.
  struct Counts {
    std::uint64_t zeros = 0;
    std::uint64_t nan = 0;
    std::uint64_t positive_infinity = 0;
    std::uint64_t negative_infinity = 0;
    float min = 0;  ///< of the finite values; 0 where there are none
    float max = 0;
    std::vector<std::uint64_t> positive;  ///< of each bin; empty: none
    std::vector<std::uint64_t> negative;
  };

  Histogram() = default;
  /// Without bins it counts and keeps the range alone, and so does what it is merged with: for
  /// those who ask for no more. `values` then knows nothing between the ends.
  explicit Histogram(bool has_bins) : has_bins_(has_bins) {}
  /// `invalid_model` for what no values give: bins that are neither none nor 8192, extremes in bins
  /// that are empty or not the outermost, more than 2^53 values.
  [[nodiscard]] static Expected<Histogram> from_counts(const Counts& counts);

  void add(std::span<const float> values);
  /// The same for finite values of a range that is known already: exactly theirs, at least one.
  void add(std::span<const float> values, const FloatRange& range);
  void merge(const Histogram& other);

  /// Bins of a sign of which there are no values are empty.
  [[nodiscard]] Counts counts() const;
  [[nodiscard]] bool has_bins() const noexcept { return has_bins_; }
  [[nodiscard]] std::uint64_t finite_count() const noexcept { return finite_; }
  [[nodiscard]] std::uint64_t non_finite_count() const noexcept {
    return nan_ + positive_infinity_ + negative_infinity_;
  }
  [[nodiscard]] std::uint64_t zero_count() const noexcept { return zeros_; }
  [[nodiscard]] std::uint64_t nan_count() const noexcept { return nan_; }
  /// Of the finite values; 0 where there are none.
  [[nodiscard]] float min() const noexcept { return range_.min; }
  [[nodiscard]] float max() const noexcept { return range_.max; }
  /// At least -100: what is below 2^-113 lies in the first bin.
  [[nodiscard]] int exponent() const noexcept;
  [[nodiscard]] double bin_width() const noexcept;

  /// The finite values as the bins know them, in ascending order: what encodings search on. The
  /// values of a bin stand in its middle, except that zeros, one `min()` and one `max()` are exact,
  /// and that nothing lies outside of these.
  [[nodiscard]] std::vector<WeightedValue> values() const;

  /// Bytes of memory, beside those of the object itself.
  [[nodiscard]] std::size_t memory() const noexcept {
    return positive_.memory() + negative_.memory();
  }

  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  void count_non_finite(std::span<const float> values) noexcept;
  /// Makes the bins wide enough for values of this range, and counts `count` of them.
  void extend(const FloatRange& range, std::uint64_t count);
  void add_few(std::span<const float> values);
  void add_many(std::span<const float> values);

  std::uint64_t finite_ = 0;
  std::uint64_t zeros_ = 0;
  std::uint64_t nan_ = 0;
  std::uint64_t positive_infinity_ = 0;
  std::uint64_t negative_infinity_ = 0;
  FloatRange range_;
  bool has_bins_ = true;
  BinCounts positive_;
  BinCounts negative_;
};

// Statistics of the values of a model on data.

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

// How well two tensors of the same shape agree, gathered over many of them.

/// Sums over pairs of a value s and its approximation a, in double. Pairs in which one is NaN or
/// infinite are left out of the sums and counted apart.
struct Agreement {
  std::uint64_t elements = 0;
  std::uint64_t equal = 0;       ///< pairs of the same value; two NaN are
  std::uint64_t non_finite = 0;  ///< pairs that differ and of which one or both are not finite
  std::uint64_t nan = 0;         ///< pairs of which s is NaN: how well a does is not known there
  double signal = 0;             ///< sum of s^2
  double approximation = 0;      ///< sum of a^2
  double product = 0;            ///< sum of s a
  double noise = 0;              ///< sum of (s - a)^2
  double largest_error = 0;      ///< the largest |s - a|

  /// Adds pairs. Spans of equal size.
  void add(std::span<const float> signal_values, std::span<const float> approximations);
  void add(std::span<const double> signal_values, std::span<const double> approximations);
  /// As if all that `other` was given had been given to this.
  void merge(const Agreement& other);

  /// 10 log10(signal / noise), in decibels: +infinity without noise, -infinity for noise alone.
  [[nodiscard]] double sqnr_db() const noexcept;
  /// product / sqrt(signal * approximation), 1 where both are zero, 0 where one is.
  [[nodiscard]] double cosine() const noexcept;

  /// Whether there can be values of which these are the sums, but for rounding.
  [[nodiscard]] bool is_possible() const noexcept;

  friend bool operator==(const Agreement&, const Agreement&) = default;
};

/// Whether `a` is the worse of two: by the share of pairs that differ in what is not finite,
/// however the others agree; then by SQNR. A weak order, to sort by.
[[nodiscard]] bool worse_than(const Agreement& a, const Agreement& b) noexcept;

}  // namespace quadrant::inline v0

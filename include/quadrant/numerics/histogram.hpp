// How often which real values occur: counted as they come, in constant memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quadrant/numerics/bin_counts.hpp"
#include "quadrant/numerics/float_range.hpp"
#include "quadrant/numerics/weighted_value.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

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

}  // namespace quadrant::inline v0

// How well two tensors of the same shape agree, gathered over many of them.
#pragma once

#include <cstdint>
#include <span>

namespace quadrant::inline v0 {

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

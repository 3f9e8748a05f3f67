// A sum of floats without rounding, and so the same in any order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quadrant/numerics/float_range.hpp"

namespace quadrant::inline v0 {

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

  /// The sum in full, as C and Python write reals in base 16: `-0x3p-1` is -1.5. Without needless
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

}  // namespace quadrant::inline v0

// How the values of a weight or an activation are spread, in float and as they come back from
// codes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace quadrant::inline v0 {

/// From `low` to `high`, ends included.
struct RealInterval {
  double low = 0;
  double high = 0;
};

/// Counts in bins of equal width over [low, high]; the last bin holds `high` too. What is not
/// finite is counted apart.
struct ValueHistogram {
  static constexpr std::size_t bin_count = 64;
  using Bins = std::array<std::uint64_t, bin_count>;

  double low = 0;  ///< least finite value, before or after
  double high = 0;
  Bins before{};
  std::optional<Bins> after{};   ///< none where they stay in float
  std::uint64_t non_finite = 0;  ///< of `before`

  /// Of a value in [low, high].
  [[nodiscard]] std::size_t bin_of(double value) const noexcept;
};

/// Both over one range, so that they can be compared bin by bin. Linear.
[[nodiscard]] ValueHistogram count_values(std::span<const float> before,
                                          std::optional<std::span<const float>> after);

}  // namespace quadrant::inline v0

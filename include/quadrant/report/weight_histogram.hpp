// How the values of a weight are spread, in float and as they come back from codes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace quadrant::inline v0 {

/// Counts in bins of equal width over [low, high]; the last bin holds `high` too. What is not
/// finite is counted apart.
struct WeightHistogram {
  static constexpr std::size_t bin_count = 64;
  using Bins = std::array<std::uint64_t, bin_count>;

  double low = 0;  ///< least finite value, before or after
  double high = 0;
  Bins before{};
  std::optional<Bins> after{};   ///< none where the weight stays in float
  std::uint64_t non_finite = 0;  ///< of `before`
};

/// Both over one range, so that they can be compared bin by bin. Linear.
[[nodiscard]] WeightHistogram count_weight(std::span<const float> before,
                                           std::optional<std::span<const float>> after);

}  // namespace quadrant::inline v0

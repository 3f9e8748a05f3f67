// The parameters that results of a kernel have, whatever they are for.
#pragma once

#include <cstdint>
#include <optional>

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0::target_kernels {

struct FixedResult {
  float scale = 0;  ///< of a step, in floats; 0: the results have parameters of their own
  std::int64_t zero = 0;
  bool has_any_zero = false;  ///< the zero point may be another, of that scale

  /// Whether `steps` codes of another scale end a quarter of a step from where these do, at most:
  /// then the kernel's results may be taken for codes of that scale.
  [[nodiscard]] constexpr bool is_near(double other, std::int64_t steps) const noexcept {
    const double off = (other - scale) / scale * static_cast<double>(steps);
    return off <= 0.25 && -off <= 0.25;
  }
};

/// `of_8_bits`: of int8; the zero point of uint8 is 128 more.
struct FixedResults {
  FixedResult of_8_bits;
  FixedResult of_16_bits;

  [[nodiscard]] constexpr std::optional<FixedResult> of(ElementType codes) const noexcept {
    const bool is_byte = codes == ElementType::int8 || codes == ElementType::uint8;
    FixedResult found;
    if (is_byte) found = of_8_bits;
    if (codes == ElementType::int16) found = of_16_bits;
    if (codes == ElementType::uint8) found.zero += 128;
    return found.scale != 0 ? std::optional(found) : std::nullopt;
  }
};

}  // namespace quadrant::inline v0::target_kernels

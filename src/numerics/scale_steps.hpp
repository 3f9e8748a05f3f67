// The scales that a level can hold, in order.
#pragma once

#include <bit>
#include <cstdint>

#include "ir/float16.hpp"
#include "ir/small_float.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0 {

/// The magnitudes that numbers of one sign have on a level, times what is above it. Step i is the
/// bits of a float, or an integer: its value grows with i.
class ScaleSteps {
 public:
  /// `outer`: the product of the levels above, 1 where there is none; 0 where that is too small.
  ScaleSteps(const ScaleLevel& level, float outer, bool negative = false);
  /// All normal numbers of float32: where a level is free.
  [[nodiscard]] static ScaleSteps free();
  /// Without those above.
  void limit(double largest) noexcept;

  /// The first and the last; none where that is less. Zero has step 0, where it is one.
  [[nodiscard]] std::int64_t first() const noexcept { return first_; }
  [[nodiscard]] std::int64_t last() const noexcept { return last_; }
  /// The first above zero.
  [[nodiscard]] std::int64_t first_above_zero() const noexcept;

  /// Of the level alone.
  [[nodiscard]] float number(std::int64_t step) const noexcept;
  /// Times `outer`, as float32.
  [[nodiscard]] float value(std::int64_t step) const noexcept { return outer_ * number(step); }
  /// The last whose value is at most that, which is not negative; first() - 1 where none is.
  [[nodiscard]] std::int64_t at_most(double value) const noexcept;
  /// The nearest to it.
  [[nodiscard]] std::int64_t nearest(double value) const noexcept;

 private:
  enum class Kind : std::uint8_t { integer, float32, float16, bfloat16, small };
  ScaleSteps() = default;

  Kind kind_ = Kind::float32;
  SmallFloat small_;
  float outer_ = 1;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

inline float ScaleSteps::number(std::int64_t step) const noexcept {
  switch (kind_) {
    case Kind::integer:
      return static_cast<float>(step);
    case Kind::float32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(step));
    case Kind::float16:
      return widen_float16(static_cast<std::uint16_t>(step));
    case Kind::bfloat16:
      return widen_bfloat16(static_cast<std::uint16_t>(step));
    case Kind::small:
      return widen_magnitude(small_, static_cast<int>(step));
  }
  return 0;
}

}  // namespace quadrant::inline v0

// The float values that the codes of a tensor in a number format can stand for, group by group.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/code_values.hpp"
#include "numerics/groups.hpp"
#include "numerics/level_tree.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// A code as it is stored, and what it stands for.
struct CodedReal {
  std::uint32_t code = 0;
  float real = 0;
};

/// Codes in memory: of `width` bytes, little-endian.
[[nodiscard]] inline std::uint32_t code_at(std::span<const std::byte> codes, std::size_t element,
                                           std::size_t width) noexcept {
  auto code = std::to_integer<std::uint32_t>(codes[element * width]);
  if (width == 2) code |= std::to_integer<std::uint32_t>(codes[element * 2 + 1]) << 8U;
  return code;
}
inline void set_code(std::span<std::byte> codes, std::size_t element, std::size_t width,
                     std::uint32_t code) noexcept {
  codes[element * width] = static_cast<std::byte>(code & 0xFFU);
  if (width == 2) codes[element * 2 + 1] = static_cast<std::byte>(code >> 8U & 0xFFU);
}

/// Of one of the innermost groups.
struct CodeGrid {
  const CodeValues* values = nullptr;
  float scale = 1;
  float minimum = 0;
  float zero_point = 0;  ///< 0, unless the codes are integers

  /// Whether all codes stand for the same.
  [[nodiscard]] bool is_constant() const noexcept { return scale == 0; }
  /// The code that stands for what is nearest to `wanted`; of a grid that is not constant.
  [[nodiscard]] CodedReal nearest(double wanted) const noexcept {
    const double level = (wanted + static_cast<double>(minimum)) / static_cast<double>(scale);
    const std::size_t place = values->place_of(level + static_cast<double>(zero_point));
    return {values->code_at(place), real(static_cast<float>(values->value_at(place)) - zero_point)};
  }
  /// Least distance of two numbers that codes stand for, but for rounding.
  [[nodiscard]] double least_step() const noexcept {
    return std::fabs(static_cast<double>(scale)) * values->least_step();
  }
  /// What a code stands for before scales.
  [[nodiscard]] float level(std::uint32_t code) const noexcept {
    return values->value_of(code) - zero_point;
  }
  /// Of a level, as `decode` computes it.
  [[nodiscard]] float real(float level) const noexcept { return level * scale - minimum; }
};

/// Of all groups, with the scales, offsets and tables of a tensor that is encoded already.
class CodeGrids {
 public:
  /// `impossible` as for `decode`.
  [[nodiscard]] static Expected<CodeGrids> make(const NumberFormat& format, const Shape& shape,
                                                const Encoded& numbers);

  [[nodiscard]] std::size_t group_count() const noexcept {
    return static_cast<std::size_t>(groups_.group_count());
  }
  /// The group of an element.
  [[nodiscard]] std::size_t group_of(std::size_t element) const noexcept;
  /// Those of all elements.
  [[nodiscard]] std::vector<std::uint32_t> groups() const;
  [[nodiscard]] CodeGrid grid(std::size_t group) const noexcept;
  /// Calls `body(i, grid)` for each of `count` elements; `first` is the one that i = 0 is.
  template <class Body>
  void for_each(std::size_t first, std::size_t count, Body body) const {
    std::size_t known = group_count();
    CodeGrid of_group;
    groups_.for_each_element(first, count, [&](std::size_t i, std::size_t group) {
      if (group != known) of_group = grid(group);
      known = group;
      body(i, of_group);
    });
  }
  /// Bytes of a code.
  [[nodiscard]] std::size_t width() const noexcept { return width_; }

  /// By level and group; those of the innermost level may be changed, of different groups at the
  /// same time.
  std::vector<std::vector<float>>& scales() noexcept { return scales_.numbers; }

 private:
  explicit CodeGrids(const Groups& groups) : groups_(groups) {}

  Groups groups_;
  LevelTree scales_;
  LevelTree minima_;
  std::vector<float> zero_points_;
  std::vector<CodeValues> values_;           ///< by table
  std::vector<std::uint32_t> table_owners_;  ///< by group; none: there is one table
  std::size_t width_ = 1;
};

}  // namespace quadrant::inline v0

// Codes of a number format as floats, any part of a tensor at a time.
#pragma once

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

/// The scales, offsets and table of a type, which are read.
[[nodiscard]] Expected<Encoded> numbers_of(const ScaledFormat& format);

class FormatDecoder {
 public:
  /// Takes scales, offsets and table of `numbers`, not its codes. `impossible` where there are not
  /// as many as a tensor of that shape has, or codes have more than 16 bits; `invalid_model` for
  /// what `verify` refuses.
  [[nodiscard]] static Expected<FormatDecoder> make(const NumberFormat& format, const Shape& shape,
                                                    const Encoded& numbers);
  /// The same of a type, whose constants are read.
  [[nodiscard]] static Expected<FormatDecoder> make(const ScaledFormat& format, const Shape& shape);

  /// Bytes of a code.
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  /// What `decode` of encode.hpp says, for the elements from `first` on, as many as `out` has;
  /// `codes`: those of them.
  void decode(std::span<const std::byte> codes, std::size_t first, std::span<float> out) const;

 private:
  FormatDecoder(Groups blocks, Groups tables) : blocks_(blocks), tables_(tables) {}

  [[nodiscard]] float level(std::span<const std::byte> codes, std::size_t i,
                            std::size_t table) const noexcept;

  Groups blocks_;
  Groups tables_;  ///< a format without has one
  LevelTree scales_;
  LevelTree minima_;
  std::vector<float> zero_points_;
  CodeValues values_;
  std::vector<float> table_;
  std::size_t levels_ = 0;  ///< of a table; 0: none is stored
  std::size_t width_ = 1;
};

}  // namespace quadrant::inline v0

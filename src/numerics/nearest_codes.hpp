// Floats as codes of a format whose scales, offsets and table are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "ir/small_float.hpp"
#include "numerics/code_grid.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Any part of a tensor at a time. Several threads may ask.
class NearestCodes {
 public:
  /// Reads the constants of `format`. Errors are those of FormatDecoder.
  [[nodiscard]] static Expected<NearestCodes> make(const ScaledFormat& format, const Shape& shape);

  /// Bytes of a code.
  [[nodiscard]] std::size_t width() const noexcept { return grids_.width(); }
  /// The codes of `values`, which are elements from `first` on, as quantized() of encode.hpp says.
  void find(std::span<const float> values, std::size_t first,
            std::span<std::byte> codes) const noexcept;

 private:
  NearestCodes(CodeGrids grids, std::optional<SmallFloat> floats)
      : grids_(std::move(grids)), floats_(floats) {}
  [[nodiscard]] std::uint32_t code_of(float value, const CodeGrid& grid) const noexcept;

  CodeGrids grids_;
  std::optional<SmallFloat> floats_;  ///< what codes are, if they are floats
};

}  // namespace quadrant::inline v0

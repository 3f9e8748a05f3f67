#include "numerics/nearest_codes.hpp"

#include <cmath>

#include "numerics/format_decoder.hpp"

namespace quadrant::inline v0 {

Expected<NearestCodes> NearestCodes::make(const ScaledFormat& format, const Shape& shape) {
  QUADRANT_TRY(const Encoded numbers, numbers_of(format));
  QUADRANT_TRY(CodeGrids grids, CodeGrids::make(format.format, shape, numbers));
  const auto* const code = std::get_if<FloatCode>(&format.format.code);
  return NearestCodes(std::move(grids), code == nullptr ? std::nullopt : small_float(code->type));
}

void NearestCodes::find(std::span<const float> values, std::size_t first,
                        std::span<std::byte> codes) const noexcept {
  grids_.for_each(first, values.size(), [&](std::size_t i, const CodeGrid& grid) {
    set_code(codes, i, width(), code_of(values[i], grid));
  });
}

std::uint32_t NearestCodes::code_of(float value, const CodeGrid& grid) const noexcept {
  if (std::isnan(value)) {
    if (const auto bits = floats_ ? nan_bits(*floats_) : std::nullopt) return *bits;
    value = 0;
  }
  if (grid.is_constant() || !std::isfinite(grid.scale))
    return grid.values->code_at(grid.values->place_of(grid.zero_point));
  if (!floats_) return grid.nearest(value).code;
  // As it is computed in float32, where a tie may be one that in reals is none.
  const float shifted = grid.minimum == 0 ? value : value + grid.minimum;  // -0 stays -0
  const float level = shifted / grid.scale;
  const std::uint32_t code = grid.values->even_code(level);
  const bool is_negative_zero = code == 0 && std::signbit(level) && floats_->has_sign;
  return is_negative_zero ? 1U << static_cast<unsigned>(floats_->exponent + floats_->mantissa)
                          : code;
}

}  // namespace quadrant::inline v0

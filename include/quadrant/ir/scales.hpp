// The scales of a quantized type as numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Whether scales may be stored so: float32, or float16 where they should take less.
[[nodiscard]] constexpr bool is_scale_type(ElementType element) noexcept {
  return element == ElementType::float32 || element == ElementType::float16;
}

/// Scales as float32, whichever type they are stored in; exact. `impossible` for a type that
/// scales do not have. Reads the constant whole.
[[nodiscard]] Expected<std::vector<float>> read_scales(const Constant& scales);

/// The opposite: float16 ones are rounded to nearest even. `values`: as many as `shape` has.
[[nodiscard]] Constant make_scales(ElementType element, Shape shape,
                                   const std::vector<float>& values);

}  // namespace quadrant::inline v0

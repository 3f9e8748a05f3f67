#include "quadrant/ir/scales.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "quadrant/ir/float16.hpp"

namespace quadrant::inline v0 {

Expected<std::vector<float>> read_scales(const Constant& scales) {
  if (!scales || !is_scale_type(scales.element())) {
    return fail(ErrorCode::impossible,
                fmt::format("scales of type {}: they are f32 or f16",
                            to_string(scales ? scales.element() : ElementType::undefined)));
  }
  QUADRANT_TRY(const ConstantBytes bytes, scales.read());
  if (scales.element() == ElementType::float32) {
    const auto values = bytes.as<float>();
    return std::vector<float>(values.begin(), values.end());
  }
  const auto halves = bytes.as<std::uint16_t>();
  std::vector<float> values(halves.size());
  std::ranges::transform(halves, values.begin(), widen_float16);
  return values;
}

Constant make_scales(ElementType element, Shape shape, const std::vector<float>& values) {
  if (element == ElementType::float32) {
    return Constant::from_values<float>(element, std::move(shape), values);
  }
  std::vector<std::uint16_t> halves(values.size());
  std::ranges::transform(values, halves.begin(), round_to_float16);
  return Constant::from_values<std::uint16_t>(element, std::move(shape), halves);
}

}  // namespace quadrant::inline v0

#include "io/openvino/filled.hpp"

#include <cstdint>
#include <span>
#include <vector>

#include "ir/float16.hpp"
#include "numerics/reals.hpp"

namespace quadrant::inline v0::openvino_ir {

Constant filled(ElementType element, const Shape& shape, double value) {
  const auto count = static_cast<std::size_t>(shape.element_count().value_or(0));
  if (is_wide_float(element)) {
    return rounded_constant(element, shape, std::vector<double>(count, value));
  }
  const auto narrow = static_cast<float>(value);
  const std::vector<std::uint16_t> bits(count, element == ElementType::bfloat16
                                                   ? round_to_bfloat16(narrow)
                                                   : round_to_float16(narrow));
  return Constant::from_values(element, shape, std::span<const std::uint16_t>(bits));
}

}  // namespace quadrant::inline v0::openvino_ir

// What the numbers of the text form mean. Errors are at the number's place in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/text_scanner.hpp"
#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0::detail {

[[nodiscard]] Expected<std::int64_t> to_integer(const Scanner& scan, const Number& number);
[[nodiscard]] Expected<float> to_float(const Scanner& scan, const Number& number);
[[nodiscard]] Expected<double> to_double(const Scanner& scan, const Number& number);

/// Adds the bytes of one element. Integers must be in the element's range, reals are rounded to the
/// nearest.
[[nodiscard]] Expected<void> append_element(const Scanner& scan, ElementType element,
                                            const Number& number, std::vector<std::byte>& out);

}  // namespace quadrant::inline v0::detail

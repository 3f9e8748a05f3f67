// Types of codes as text: `i8`, `u3`, `i8<-127:127>`.
#pragma once

#include <cstdint>
#include <string>

#include "ir/text_scanner.hpp"
#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0::detail {

/// As the members of UniformType.
struct CodesText {
  ElementType storage = ElementType::int8;
  int storage_bits = 0;
  std::int64_t storage_min = 0;
  std::int64_t storage_max = 0;
};

/// Any width from 1 to 32; the range may be left out. Checks neither that it fits nor its order.
[[nodiscard]] Expected<CodesText> parse_codes(Scanner& scan);

/// The range is left out where it is all of the width's.
[[nodiscard]] std::string print_codes(const CodesText& codes);

}  // namespace quadrant::inline v0::detail

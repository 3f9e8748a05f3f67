// Operations that make a large error of a small one, where their operand is small.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace quadrant::inline v0 {

/// The operand of Log, Exp, Reciprocal, Sqrt or Pow, and the divisor of Div: where it is near zero,
/// or, of Exp, large, the result changes by far more than it does. Empty: of another operation.
[[nodiscard]] std::optional<std::uint32_t> steep_operand(std::string_view kind) noexcept;

}  // namespace quadrant::inline v0

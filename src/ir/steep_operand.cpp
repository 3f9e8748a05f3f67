#include "ir/steep_operand.hpp"

#include <algorithm>
#include <array>

#include "ir/ops/elementwise.hpp"

namespace quadrant::inline v0 {

std::optional<std::uint32_t> steep_operand(std::string_view kind) noexcept {
  constexpr std::array<std::string_view, 5> of_first{
      ops::Log::kind, ops::Exp::kind, ops::Reciprocal::kind, ops::Sqrt::kind, ops::Pow::kind};
  if (kind == ops::Div::kind) return 1;
  const bool is_one = std::ranges::find(of_first, kind) != of_first.end();
  return is_one ? std::optional<std::uint32_t>(0) : std::nullopt;
}

}  // namespace quadrant::inline v0

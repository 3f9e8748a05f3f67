#include <fmt/format.h>

#include <charconv>

#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0 {
namespace {

// Takes `prefix` and the number behind it off the text; empty when it does not start so.
std::optional<std::int64_t> take_number(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  std::int64_t number = 0;
  const char* const first = text.data() + prefix.size();
  const auto [stop, error] = std::from_chars(first, text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return number;
}

}  // namespace

std::size_t Granularity::hash() const noexcept {
  return (static_cast<std::size_t>(block_size) * 31 + static_cast<std::size_t>(axis)) * 3 +
         static_cast<std::size_t>(kind);
}

std::string Granularity::print() const {
  switch (kind) {
    case Kind::tensor:
      return "tensor";
    case Kind::axis:
      return fmt::format("axis={}", axis);
    case Kind::block:
      return fmt::format("axis={} block={}", axis, block_size);
  }
  return {};
}

std::optional<Granularity> Granularity::parse(std::string_view text) {
  if (text == "tensor") return per_tensor();
  const auto axis = take_number(text, "axis=");
  if (!axis) return std::nullopt;
  if (text.empty()) return per_axis(*axis);
  const auto size = take_number(text, " block=");
  if (!size || *size < 1 || !text.empty()) return std::nullopt;
  return per_block(*axis, *size);
}

}  // namespace quadrant::inline v0

#include <fmt/format.h>

#include <charconv>
#include <tuple>

#include "quadrant/methods/weight_only.hpp"

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

std::size_t ScaleGroups::hash() const noexcept {
  return (static_cast<std::size_t>(granularity.block_size) * 31 +
          static_cast<std::size_t>(granularity.axis)) *
             3 +
         static_cast<std::size_t>(granularity.kind);
}

std::string ScaleGroups::print() const {
  switch (granularity.kind) {
    case Granularity::Kind::tensor:
      return "tensor";
    case Granularity::Kind::axis:
      return fmt::format("axis={}", granularity.axis);
    case Granularity::Kind::block:
      return fmt::format("axis={} block={}", granularity.axis, granularity.block_size);
  }
  return {};
}

std::optional<ScaleGroups> ScaleGroups::parse(std::string_view text) {
  if (text == "tensor") return tensor();
  const auto axis = take_number(text, "axis=");
  if (!axis) return std::nullopt;
  if (text.empty()) return channels(*axis);
  const auto size = take_number(text, " block=");
  if (!size || *size < 1 || !text.empty()) return std::nullopt;
  return blocks(*axis, *size);
}

std::strong_ordering operator<=>(const ScaleGroups& a, const ScaleGroups& b) noexcept {
  const auto key = [](const Granularity& granularity) {
    return std::tuple(granularity.kind, granularity.axis, granularity.block_size);
  };
  return key(a.granularity) <=> key(b.granularity);
}

}  // namespace quadrant::inline v0

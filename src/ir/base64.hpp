// Bytes as text: base64 of RFC 4648, with its padding.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrant::inline v0::detail {

void append_base64(std::span<const std::byte> bytes, std::string& out);

/// Nothing for what `append_base64` does not write.
[[nodiscard]] std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace quadrant::inline v0::detail

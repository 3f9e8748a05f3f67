#include "support/content_hash.hpp"

namespace quadrant::inline v0 {

void ContentHash::add(std::span<const std::byte> bytes) noexcept {
  std::uint64_t value = value_;
  for (const std::byte byte : bytes) {
    value = (value ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  value_ = value;
}

}  // namespace quadrant::inline v0

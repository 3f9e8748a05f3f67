// A number that tells one run of bytes from another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quadrant::inline v0 {

/// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv): equal contents have equal hashes on
/// every machine. Tells accidents apart, not attackers.
class ContentHash {
 public:
  void add(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace quadrant::inline v0

#include "recipe/hash_text.hpp"

#include <fmt/format.h>

#include <charconv>

namespace quadrant::inline v0 {

std::string print_hash(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::uint64_t read_hash(ObjectReader& reader, const char* key) {
  const std::string text = reader.string(key);
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || stop != end) {
    reader.refuse(key, "must be a hexadecimal number");
  }
  return value;
}

}  // namespace quadrant::inline v0

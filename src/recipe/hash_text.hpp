// Hashes in JSON.
#pragma once

#include <cstdint>
#include <string>

#include "recipe/json_reader.hpp"

namespace quadrant::inline v0 {

/// Sixteen hexadecimal digits: JSON's numbers are doubles to many programs.
[[nodiscard]] std::string print_hash(std::uint64_t hash);

/// Reads that, or makes it a mistake of the reader's.
[[nodiscard]] std::uint64_t read_hash(ObjectReader& reader, const char* key);

}  // namespace quadrant::inline v0

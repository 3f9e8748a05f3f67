// A number of two bytes, read where it lies.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "ir/float16.hpp"

namespace quadrant::inline v0::kernels {

/// A binary16 in memory, at any address.
struct Float16 {
  std::array<std::byte, sizeof(std::uint16_t)> bytes;
};

/// As float32, by itself; a NaN stays what it is.
[[nodiscard]] inline float to_float(float number) noexcept { return number; }
[[nodiscard]] inline float to_float(Float16 number) noexcept {
  return v0::widen_float16(std::bit_cast<std::uint16_t>(number.bytes));
}

}  // namespace quadrant::inline v0::kernels

// Codes of 4 bits, two in a byte, and of 2 bits, four.
#pragma once

#include <cstddef>

namespace quadrant::inline v0::kernels {

/// Puts the low halves of `count` bytes into (count + 1) / 2 bytes, the first of a pair in the low
/// half; the half behind a last odd one is 0. May work in place.
void pack_halves(const std::byte* codes, std::size_t count, std::byte* packed) noexcept;

/// The inverse: the `count` halves of `packed` become bytes; their upper bits repeat the sign where
/// `is_signed`, else they are 0. No overlap.
void unpack_halves(const std::byte* packed, std::size_t count, bool is_signed,
                   std::byte* codes) noexcept;

/// The same of codes of `bits` bits, 2 or 4, the first of a byte in its lowest bits.
void pack_bits(const std::byte* codes, std::size_t count, int bits, std::byte* packed) noexcept;
void unpack_bits(const std::byte* packed, std::size_t count, int bits, bool is_signed,
                 std::byte* codes) noexcept;

}  // namespace quadrant::inline v0::kernels

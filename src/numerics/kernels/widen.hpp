// Numbers of 16-bit float types as float32.
#pragma once

#include <cstddef>

namespace quadrant::inline v0::kernels {

/// quadrant::widen_float16 of each of `count` numbers of two bytes, NaNs included. No overlap; they
/// may lie anywhere.
void widen_float16(const std::byte* half, std::size_t count, float* wide) noexcept;

/// As above, quadrant::widen_bfloat16 of each.
void widen_bfloat16(const std::byte* half, std::size_t count, float* wide) noexcept;

}  // namespace quadrant::inline v0::kernels

// Orthogonal matrices that spread one number over many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quadrant::inline v0 {

/// The largest power of four that divides `width`, which is at least 1.
[[nodiscard]] std::int64_t rotation_block(std::int64_t width) noexcept;

/// How the elements of an axis lie: `outer` times `extent` times `inner`.
struct AxisView {
  std::size_t outer = 1;
  std::size_t extent = 1;
  std::size_t inner = 1;
};

/// Multiplies each run of elements along the axis by H, which has blocks of `block`, a power of
/// four that divides the extent, on its diagonal: Kronecker products of J / 2 - I, of four rows, J
/// being all ones. That is a regular Hadamard matrix over the root of its order: all elements have
/// the same magnitude, H is orthogonal, symmetric and so its own inverse, and a row of equal
/// numbers stays as it is. Additions and halves alone, `extent` log of them for each run.
void rotate_along(std::span<double> values, const AxisView& axis, std::int64_t block) noexcept;

}  // namespace quadrant::inline v0

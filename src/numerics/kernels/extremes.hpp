// The smallest and the largest of many numbers, as fast as they come from memory.
#pragma once

#include <cstddef>

#include "numerics/kernels/float16.hpp"

namespace quadrant::inline v0::kernels {

/// Rows of numbers: row r starts at r * stride.
struct NumberRows {
  std::size_t count = 0;
  std::size_t length = 0;
  std::size_t stride = 0;
};

/// How far numbers reach from zero: above[i] is max(w, 0), below[i] is -min(w, 0). Where a NaN or
/// an infinity is among the numbers, one of the two is NaN or infinite.
struct Reach {
  float* above = nullptr;
  float* below = nullptr;
};

/// reach[r] becomes that of row r.
void reach_of_rows(const float* numbers, const NumberRows& rows, Reach reach) noexcept;
void reach_of_rows(const Float16* numbers, const NumberRows& rows, Reach reach) noexcept;

/// reach[i] grows by element i of each row; what it was before is finite, and not negative.
void reach_of_columns(const float* numbers, const NumberRows& rows, Reach reach) noexcept;
void reach_of_columns(const Float16* numbers, const NumberRows& rows, Reach reach) noexcept;

/// magnitudes[r] becomes the largest magnitude in row r, NaN or infinite if there is such a number.
void magnitudes_of_rows(const float* numbers, const NumberRows& rows, float* magnitudes) noexcept;
void magnitudes_of_rows(const Float16* numbers, const NumberRows& rows, float* magnitudes) noexcept;

}  // namespace quadrant::inline v0::kernels

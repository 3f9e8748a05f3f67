// Codes to floats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "numerics/kernels/quantize.hpp"

namespace quadrant::inline v0::kernels {

/// dequantize_value of affine.hpp, for codes of at most 16 bits; see quantize_rows for the types.
/// `rows`: as there, but `ahead` is not used. Row r is group r; scales may be any numbers.
template <class Code>
void dequantize_rows(const Code* codes, float* real, const Rows& rows, const Affine& by);

/// The same, where element i of each row is of group i.
template <class Code>
void dequantize_columns(const Code* codes, float* real, const Rows& rows, const Affine& by);

}  // namespace quadrant::inline v0::kernels

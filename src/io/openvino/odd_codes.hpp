// Codes of 4 bits that OpenVINO's kernels read wrongly.
#pragma once

#include <cstdint>
#include <span>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0::openvino_ir {

/// Gives constants of 4-bit codes a byte for each, where a matrix product sums an odd number of
/// them, or blocks have an odd number: there the CPU's kernels for compressed weights take codes
/// for those of their neighbours (seen in release 2026.4.1, on x86 with AVX2, for u4, i4, nf4 and
/// f4e2m1, whichever axis is summed; sums of even numbers, kernels of convolutions, batches of
/// matrices and lookups of rows are right). What the codes mean stays. The quantization of `graph`
/// is explicit.
void widen_odd_codes(Graph& graph);

/// Whether elements of the file may hold such codes, without scales: OpenVINO has them, and where
/// they have 4 bits, none of the numbers that a sum may run over is odd.
[[nodiscard]] bool has_codes(const NumberCode& code, std::span<const std::int64_t> sums);

}  // namespace quadrant::inline v0::openvino_ir

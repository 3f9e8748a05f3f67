// Models as integer kernels compute them on x86 without VNNI, whichever processor this is.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/runtime/kernel.hpp"

namespace quadrant::inline v0 {

/// Whose kernels.
enum class PairedSums : std::uint8_t { onnxruntime, openvino };

/// For an `Interpreter`: its own kernels of products, and, where their operands are dequantized
/// codes of 8 bits and weights of int8, what two neighbours lose that leave 16 bits together
/// (`numerics/pair_sums.hpp`, `targets/pair_orders.hpp`). Transposed convolutions, recurrent
/// layers, products of two computed matrices, and of weights of more than two axes are computed as
/// they are meant.
///
///   Interpreter({paired_sum_kernels(PairedSums::onnxruntime)})
[[nodiscard]] std::vector<KernelEntry> paired_sum_kernels(PairedSums whose);

}  // namespace quadrant::inline v0

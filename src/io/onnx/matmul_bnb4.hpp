// Products with a weight in bitsandbytes' tables as com.microsoft.MatMulBnb4.
#pragma once

#include <cstdint>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"

namespace quadrant::inline v0::onnx {

/// `pack_products` (packed_products.hpp) of weights of `nf4` and `fp4-bnb` with one level of
/// scales, where blocks of 16 or more lie in rows of whole blocks.
std::int64_t use_matmul_bnb4(Graph& graph, Sink* sink);

}  // namespace quadrant::inline v0::onnx

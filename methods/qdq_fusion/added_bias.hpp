// Biases that models have as an operation of their own.
#pragma once

#include <cstdint>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::qdq_fusion {

/// A constant with a number for each channel that is added to a sum of products, which nothing else
/// reads and which has no bias, becomes the bias: OpenVINO writes all biases so. The sum is called
/// as the result of the Add was.
///
///   matmul(x, w) + b, of matrices, w constant   ->  gemm(x, w, b)
///   conv(x, w) + [1, C, 1, 1]                   ->  conv(x, w, [C])
///
/// The floats stay the same. Returns how many there were. Linear.
std::int64_t take_added_biases(Graph& model);

}  // namespace quadrant::inline v0::qdq_fusion

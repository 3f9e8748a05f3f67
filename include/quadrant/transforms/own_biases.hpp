// A bias for each layer that is its own.
#pragma once

#include <cstddef>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct OwnBiasesOptions {
  /// Layers without a bias get one of zeros: something to be corrected.
  bool add_missing = false;
};

struct OwnBiasesReport {
  std::size_t copied = 0;
  std::size_t added = 0;
};

/// Copies constant biases that several conv, conv_transpose, gemm and linear read, so that each can
/// be quantized in the scale of its own products. A constant is not copied for readers of other
/// kinds. Results are the same.
///
/// The graph needs exclusive access. Ids of nodes that get a new operand change.
OwnBiasesReport give_own_biases(Graph& graph, const OwnBiasesOptions& options = {});

}  // namespace quadrant::inline v0

// The weights of a graph: which constants count as weights, and how large they are in a file.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/report/summary.hpp"

namespace quadrant::inline v0 {

struct Weight {
  NodeId node;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;  ///< quantized: packed codes, a scale and a zero point for each group
  bool is_quantized = false;
};

/// Constants of a float or a quantized type, by node index. Floats that all readers take for
/// settings (limits, sizes) are none, nor single numbers that no product reads.
[[nodiscard]] std::vector<Weight> find_weights(const GraphView& graph);

void add(WeightTotals& totals, const Weight& weight) noexcept;

/// By node index: whether the node is a float constant that reaches the weight operand of a matmul,
/// gemm or conv directly or through values that `registry` could quantize if none were excluded.
[[nodiscard]] std::vector<bool> find_eligible(const GraphView& graph,
                                              const std::vector<NodeId>& order,
                                              const Registry& registry);

}  // namespace quadrant::inline v0

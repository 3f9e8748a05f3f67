#include "qdq_fusion/explicit_model.hpp"

#include "numerics/quantize_constant.hpp"
#include "quadrant/ir/explicit_quantization.hpp"

namespace quadrant::inline v0::qdq_fusion {

Expected<Graph> explicit_model(const Graph& graph) {
  Graph model = graph;
  make_quantization_explicit(model);
  const std::uint32_t bound = model.index_bound();
  for (std::uint32_t index = 0; index < bound; ++index) {
    const NodeId node = model.node_at(index);
    if (node.is_valid()) QUADRANT_CHECK(quantize_constant(model, node));
  }
  return model;
}

}  // namespace quadrant::inline v0::qdq_fusion

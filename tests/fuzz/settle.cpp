#include "settle.hpp"

#include <utility>

#include "ir/result_type.hpp"
#include "quadrant/ir/graph.hpp"

namespace fuzz {

using namespace quadrant;

namespace {

bool fill_in(Graph& graph, NodeId id) {
  const NodeRef node = graph.ref(id);
  // ONNX files may hold others; text may not.
  if (!detail::check_onnx_signature(node)) return false;
  if (!detail::infer_node(graph, id)) return false;
  for (std::uint32_t result = 0; result < graph.result_count(id); ++result) {
    const TensorType& type = node.type(result);
    // A file says more than the graph did, and may then contradict itself.
    if (type.element == ElementType::undefined) return false;
    if (type.is_quantized() && !verify(*type.uniform(), type.shape)) return false;
  }
  return true;
}

}  // namespace

bool settle(Graph& graph, NodeId node) {
  if (fill_in(graph, node)) return true;
  graph.erase(node);
  return false;
}

std::optional<NodeId> add_settled(Graph& graph, NodeSpec spec) {
  const NodeId node = graph.add(std::move(spec));
  return settle(graph, node) ? std::optional(node) : std::nullopt;
}

}  // namespace fuzz

#include "io/onnx/unused.hpp"

#include "ir/regions.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {

void erase_unused(Graph& graph, NodeId node) {
  std::vector<NodeId> candidates{node};
  while (!candidates.empty()) {
    const NodeId next = candidates.back();
    candidates.pop_back();
    if (!next.is_valid() || !graph.contains(next) || !graph.uses(next).empty()) continue;
    const std::string_view kind = graph.kind(next);
    if (kind == ops::Input::kind || kind == ops::Output::kind || kind == regions::input_kind) {
      continue;
    }
    for (const Value operand : graph.operands(next)) candidates.push_back(operand.node);
    graph.erase(next);
  }
}

}  // namespace quadrant::inline v0::onnx

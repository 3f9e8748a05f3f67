#include "adapters/openvino/recurrent_layers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino {
namespace {

constexpr std::size_t lengths = 4;    // operand
constexpr std::size_t peepholes = 7;  // operand, of an LSTM

/// What is computed otherwise; empty for most nodes.
std::string_view what_differs(NodeRef node) {
  const std::string_view kind = node.kind();
  const bool is_lstm = kind == ops::Lstm::kind;
  if (!is_lstm && kind != ops::Gru::kind && kind != ops::Rnn::kind) return {};
  const TensorType* input = node.operand_type(0);
  const bool open = input == nullptr || !input->shape.is_static();
  if (open && !node.operand(lengths).is_absent()) return "lengths of sequences, with open shapes";
  if (node.attribute_or<std::int64_t>("layout", 0) != 0) return "the layout";
  if (is_lstm && !node.operand(peepholes).is_absent()) return "peepholes";
  return {};
}

}  // namespace

Expected<void> check_recurrent_layers(const Graph& graph) {
  std::vector<std::string> found;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid()) continue;
    const std::string_view what = what_differs(graph.ref(node));
    if (!what.empty()) found.push_back(fmt::format("'{}' ({})", label(graph, node), what));
  }
  if (found.empty()) return {};
  return fail(ErrorCode::impossible,
              fmt::format("OpenVINO would compute other numbers for {}: use the interpreter",
                          fmt::join(found, ", ")));
}

}  // namespace quadrant::inline v0::openvino

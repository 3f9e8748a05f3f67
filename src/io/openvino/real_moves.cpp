#include "io/openvino/real_moves.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/openvino/failure.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

class RealMoves {
 public:
  explicit RealMoves(Graph& graph) : graph_(graph) {}

  void run() {
    const std::vector<NodeId> order = value_of(topological_order(graph_));
    for (const NodeId node : order) reshape_constant(node);
    // Behind first: what is dequantized in front of a move is dequantized behind the one before.
    for (const NodeId node : order | std::views::reverse) {
      if (graph_.contains(node) && moves_for_reals(node)) move_reals(node);
    }
  }

 private:
  // A constant of codes in another shape is a constant.
  void reshape_constant(NodeId node) {
    const NodeRef move = graph_.ref(node);
    if (move.kind() == ops::Identity::kind || !has_trait(move, Trait::keeps_order)) return;
    const Constant* const codes = move.operand_constant(0);
    const TensorType type = graph_.type({node});
    if (codes == nullptr || !*codes || !type.is_quantized() || !type.shape.is_static()) return;
    const std::string name(graph_.value_name({node}));
    Constant reshaped = codes->reshaped(type.shape);
    const Value made = graph_.add_constant(name, reshaped);
    graph_.set_constant(made.node, std::move(reshaped), type.quantization);
    graph_.replace_uses({node}, made);
    graph_.erase(node);
    graph_.set_value_name(made, name);
  }

  [[nodiscard]] bool moves_for_reals(NodeId node) const {
    if (find_move({&graph_, node}) == nullptr || graph_.uses(node).empty()) return false;
    const auto is_quantized = [&](Value value) {
      return !value.is_absent() && graph_.type(value).is_quantized();
    };
    for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
      if (!is_quantized({node, i})) return false;
    }
    return std::ranges::any_of(graph_.operands(node), is_quantized) &&
           std::ranges::all_of(graph_.uses(node), [&](const Use& use) {
             return graph_.kind(use.user) == ops::Dequantize::kind;
           });
  }

  void move_reals(NodeId node) {
    const auto count = static_cast<std::uint32_t>(graph_.operands(node).size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const Value codes = graph_.operands(node)[i];
      if (codes.is_absent() || !graph_.type(codes).is_quantized()) continue;
      graph_.set_operand(node, i, real(codes));
    }
    const std::vector<Use> readers(graph_.uses(node).begin(), graph_.uses(node).end());
    for (const Use& use : readers) {
      const Value result{node, use.result};
      const std::string name(graph_.value_name({use.user}));
      graph_.set_type(result, graph_.type({use.user}));
      graph_.replace_uses({use.user}, result);
      graph_.erase(use.user);
      graph_.set_value_name(result, name);
    }
    for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
      if (graph_.type({node, i}).is_quantized()) {  // nobody reads it
        graph_.set_type({node, i}, graph_.type({node, i}).expressed());
      }
    }
  }

  /// What dequantizes the codes: something that is there, or new.
  Value real(Value codes) {
    Value& made = reals_[codes];
    if (!made.is_absent() && graph_.contains(made.node)) return made;
    for (const Use& use : graph_.uses(codes.node)) {
      if (use.result == codes.result && graph_.kind(use.user) == ops::Dequantize::kind) {
        return made = {use.user};
      }
    }
    NodeSpec spec;
    spec.kind = ops::Dequantize::kind;
    spec.operands = {codes};
    spec.results.push_back({std::string(graph_.value_name(codes)) + std::string(dequantized_ending),
                            graph_.type(codes).expressed()});
    return made = {graph_.add(std::move(spec))};
  }

  Graph& graph_;
  std::unordered_map<Value, Value> reals_;
};

}  // namespace

void move_real_numbers(Graph& graph) { RealMoves(graph).run(); }

}  // namespace quadrant::inline v0::openvino_ir

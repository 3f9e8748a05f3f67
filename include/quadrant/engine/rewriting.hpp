// Phase 4: the graph becomes what was selected.
#pragma once

#include <memory>
#include <unordered_map>

#include "quadrant/engine/propagation.hpp"
#include "quadrant/engine/selection.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// What the data pass computed for a node, by node.
using PreparedData = std::unordered_map<NodeId, Constant>;

/// What rewriters and dequantizers work with.
class RewriteContext {
 public:
  RewriteContext(Graph& graph, const RequestGraph& requests, const Selection& selection,
                 const PreparedData& prepared) noexcept
      : graph_(&graph), requests_(&requests), selection_(&selection), prepared_(&prepared) {}

  [[nodiscard]] Graph& graph() noexcept { return *graph_; }

  /// The constraint that was selected for `value`, which must have been.
  template <QuantizationConstraint C>
  [[nodiscard]] const C& selected(Value value) const noexcept {
    const RequestId request = (*selection_)[value].request;
    return requests_->constraints().as<C>((*requests_)[request].constraint);
  }
  /// What the data pass kept for `node`; empty when it kept nothing.
  [[nodiscard]] Constant prepared(NodeId node) const {
    const auto found = prepared_->find(node);
    return found == prepared_->end() ? Constant{} : found->second;
  }
  /// The parameters of a value that is quantized by now; null when it is not.
  [[nodiscard]] std::shared_ptr<const UniformType> quantization(Value value) const {
    return graph_->type(value).quantization;
  }
  /// Gives `value` the quantized type `type`; its shape stays.
  void set_quantized(Value value, std::shared_ptr<const UniformType> type);

 private:
  Graph* graph_;
  const RequestGraph* requests_;
  const Selection* selection_;
  const PreparedData* prepared_;
};

/// Runs phase 4 on `graph`, the graph that the phases before read. Calls the rewriter of each
/// selected node and of each Consumer, then dequantizes, once each, the quantized values that
/// somebody reads in float: graph outputs, subgraphs, operations that the scheme does not know.
///
/// The float form keeps the value's name, so that whoever refers to it by name still finds floats;
/// the quantized form is then called `<name>_quantized`. A quantized value that nobody reads in
/// float keeps its name.
[[nodiscard]] Expected<Graph> rewrite(Graph graph, const std::vector<NodeId>& order,
                                      const Registry& registry, const Eligibility& eligibility,
                                      const RequestGraph& requests, const Selection& selection,
                                      const PreparedData& prepared);

}  // namespace quadrant::inline v0

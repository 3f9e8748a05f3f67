// Which tensors keep operations on real numbers.
#include <fmt/format.h>

#include <string>
#include <unordered_set>
#include <utility>

#include "qdq_fusion/forms.hpp"
#include "qdq_fusion/rules.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/qdq_fusion.hpp"

namespace quadrant::inline v0 {
namespace qdq_fusion {
namespace {

class UnquantizedFinder {
 public:
  UnquantizedFinder(const GraphView& graph, const QdqFusion& scheme)
      : graph_(graph), scheme_(scheme) {}

  void visit(NodeRef node) {
    const KernelRule* const rule = find_rule(scheme_.options().target, node.kind());
    if (rule == nullptr) return;
    const DataOperands data = data_operands(node, *rule);
    for (std::uint32_t i = 0; i < data.count; ++i) check_operand(node, data.first + i);
    const Product* const product = find_product(node);
    if (product != nullptr && rule->family == ParameterFamily::product) {
      check_operand(node, product->weight);
    }
    if (rule->family == ParameterFamily::reader || !is_missing(node.result())) return;
    const char* const why = scheme_.forms(node.id).why_no_sink;
    add(node.result(), why == nullptr ? "its result is not quantized" : why);
  }

  [[nodiscard]] std::vector<LeftAlone> result() && { return std::move(found_); }

 private:
  // Real numbers that are neither made from codes nor made into some.
  [[nodiscard]] bool is_missing(Value value) const {
    const TensorType& type = graph_.type(value);
    if (type.is_quantized() || !may_be_real(type.element)) return false;
    const FusedForms& forms = scheme_.forms(value.node);
    return !forms.origin && !forms.sink && graph_.kind(value.node) != ops::Dequantize::kind;
  }

  void check_operand(NodeRef node, std::uint32_t operand) {
    const Value value = node.operand(operand);
    if (value.is_absent() || !is_missing(value)) return;
    // Of what an operation with a kernel makes, its own result tells more.
    if (find_rule(scheme_.options().target, graph_.kind(value.node)) != nullptr) return;
    add(value, fmt::format("{} '{}' reads it as float", node.kind(), label(*node.graph, node.id)));
  }

  void add(Value value, std::string reason) {
    if (!seen_.insert(value).second) return;
    found_.push_back({std::string(graph_.value_name(value)), std::move(reason)});
  }

  const GraphView& graph_;
  const QdqFusion& scheme_;
  std::unordered_set<Value> seen_;
  std::vector<LeftAlone> found_;
};

}  // namespace
}  // namespace qdq_fusion

Expected<std::vector<LeftAlone>> unquantized_tensors(const GraphView& model,
                                                     const QdqFusionOptions& options) {
  QUADRANT_TRY(const QdqFusion scheme, QdqFusion::make(model, options));
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(model));
  qdq_fusion::UnquantizedFinder finder(model, scheme);
  for (const NodeId node : order) finder.visit({&model, node});
  return std::move(finder).result();
}

}  // namespace quadrant::inline v0

// quadrant-report: what quadrant-quantize would do with each operation, and why, as remarks.
#include <fmt/format.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Diagnostics.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "mlir_plugin/passes.hpp"
#include "mlir_plugin/quantized_parts.hpp"
#include "mlir_plugin/scheme_pass.hpp"
#include "mlir_plugin/seen.hpp"
#include "numerics/moved_weight.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

bool holds_reals(const GraphView& graph, Value value) {
  return !value.is_absent() && is_float(graph.type(value).element);
}

// Whether the operation has to do with real numbers in tensors. What is only a place for results
// has not.
bool is_of_interest(const GraphView& graph, NodeId node) {
  if (graph.kind(node) == "tensor.empty" || graph.kind(node) == "linalg.fill") return false;
  for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
    if (holds_reals(graph, {node, i})) return true;
  }
  return std::ranges::any_of(graph.operands(node),
                             [&](Value operand) { return holds_reals(graph, operand); });
}

// Whether it computes on real numbers in memory, of which the engine sees nothing: after
// bufferization.
bool is_on_buffers(mlir::Operation* op) {
  return op != nullptr && llvm::isa<mlir::linalg::LinalgOp>(op) &&
         llvm::any_of(op->getOperandTypes(), [](mlir::Type type) {
           const auto buffer = llvm::dyn_cast<mlir::BaseMemRefType>(type);
           return buffer && llvm::isa<mlir::FloatType>(buffer.getElementType());
         });
}

class ReportPass final : public mlir::PassWrapper<ReportPass, SchemePass> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReportPass)

  [[nodiscard]] llvm::StringRef getArgument() const final { return "quadrant-report"; }
  [[nodiscard]] llvm::StringRef getDescription() const final {
    return "Says what quadrant-quantize with the same options would do with each operation, and "
           "why; the module stays as it is";
  }

 private:
  [[nodiscard]] bool changes_module() const final { return false; }
  [[nodiscard]] Expected<Analysis> run(FunctionGraph& graph, const Registry& registry,
                                       const QuantizeOptions& options) final {
    QUADRANT_TRY(Analysis analysis, decide(graph, registry, options));
    std::size_t weights = 0;
    std::unordered_set<NodeId> selected;  // constants, be it as a move of theirs
    const std::vector<Explanation> explanations = explain_all(graph, registry, analysis);
    for (std::size_t i = 0; i < explanations.size(); ++i) {
      const NodeId node = analysis.order[i];
      if (is_on_buffers(graph.operation(node))) {
        mlir::emitRemark(graph.location(node),
                         fmt::format("{}: float: its operands are buffers, whose contents "
                                     "are not followed; quantize before bufferization",
                                     graph.name(node)));
      }
      if (!is_of_interest(graph, node)) continue;
      const Explanation& explanation = explanations[i];
      const bool is_selected = explanation.state == State::ToQuantize;
      if (graph.constant(node) != nullptr) ++weights;
      const NodeRef source = moved_from({&graph, node});
      if (is_selected && graph.constant(source.id) != nullptr) selected.insert(source.id);
      std::string text = fmt::format("{}: {}: {}", graph.name(node),
                                     is_selected ? codes() : "float", explanation.reason);
      text += besides(graph, node);
      for (const ExplainedBenefit& benefit : explanation.benefits) {
        text += fmt::format("; {} as {}: {}", benefit.operand, benefit.constraint,
                            benefit.realized ? "granted" : benefit.why_not);
      }
      mlir::emitRemark(graph.location(node), text);
    }
    if (weights == 0) return analysis;
    mlir::emitRemark(graph.function().getLoc(), fmt::format("{} of {} float constants become {}",
                                                            selected.size(), weights, codes()));
    return analysis;
  }

  // What the engine does not know of the value.
  [[nodiscard]] std::string besides(const FunctionGraph& graph, NodeId node) const {
    mlir::Operation* const op = graph.operation(node);
    if (op == nullptr) {
      const std::string fate = fate_of(graph.value({node}));
      return fate.empty() ? fate : "; " + fate;
    }
    if (is_part(*op)) {
      return "; it is a part of a weight that is quantized already: scales, or a table";
    }
    if (graph.constant(node) != nullptr || !contents_of(*op)) return {};
    return "; its contents are not here, or not read: a resource that was elided or is of another "
           "size than its type's, more than 2^31 equal elements, or elements of another type";
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> make_report_pass() { return std::make_unique<ReportPass>(); }

}  // namespace quadrant::inline v0::mlir_plugin

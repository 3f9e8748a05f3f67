// Roots: constants with real values can be quantized in any groups. Graph inputs have no method and
// so stay float.
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"
#include "weight_only/stored.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

const Constant& contents(NodeRef node) { return *node.graph->constant(node.id); }

QUADRANT_QUANTIZER(ParameterMethod, WeightOnly, ops::Constant) {
  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& /*context*/) const override {
    const TensorType& type = node.type();
    if (!is_float(type.element)) return {State::Unquantized, "it is not float"};
    if (type.shape.rank() == 0) return {State::Unquantized, "a scalar has no channels"};
    if (contents(node).element_count() == 0) return {State::Unquantized, "it is empty"};
    return {State::Quantizable};
  }

  void callback(const Granularity& wanted, NodeRef node, Asks& asks) const override {
    if (wanted.axis < node.type().shape.rank()) {
      asks.accept();
    } else {
      asks.refuse("it has no such axis");
    }
  }

  [[nodiscard]] std::optional<StorageChange> storage(const Granularity& constraint,
                                                     NodeRef node) const override {
    return stored_size(scheme(), contents(node), node.type().shape, constraint);
  }

  [[nodiscard]] Expected<void> examine(const Granularity& selected, NodeRef node,
                                       DataContext& context) const override {
    return examine_weight(scheme(), node, contents(node), selected, context);
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    QUADRANT_TRY(StoredWeight stored,
                 stored_weight(scheme(), node, contents(node),
                               context.selected<Granularity>(node.result()), context));
    return context.graph().set_constant(node.id, std::move(stored.codes),
                                        std::move(stored.quantization));
  }
};

}  // namespace

void register_parameters(WeightOnly::Registration& methods) { methods.add<ParameterMethod>(); }

}  // namespace quadrant::inline v0::weight_only

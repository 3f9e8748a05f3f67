// Operations that read codes and make no real numbers: comparisons, the place of the largest.
#include "qdq_fusion/forms.hpp"
#include "qdq_fusion/fusing.hpp"
#include "qdq_fusion/methods.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

QUADRANT_PARAMETERIZED_CONSUMER(ReaderMethod, QdqFusion, const KernelRule*,
                                requires_parents(AnyQuantizable),
                                requires_parents(AnyQuantizable, AnyQuantizable)) {
  using ReaderMethodBase::ReaderMethodBase;

  void request(NodeRef node, Asks& asks) const override {
    const KernelRule& rule = *parameters();
    const std::optional<GivenForm>& form = scheme().forms(node.operand(0).node).origin;
    if (!form) {
      asks.refuse("its operand is no value that was dequantized");
      return;
    }
    if (const char* const why = refuse_form(rule, *form)) {
      asks.refuse(why);
      return;
    }
    if (const char* const why = rule.refusal ? rule.refusal(node, *form, *form) : nullptr) {
      asks.refuse(why);
      return;
    }
    const DataOperands data = data_operands(node, rule);
    for (std::uint32_t i = 1; i < data.count; ++i) {
      if (scheme().forms(node.operand(i).node).origin != form) {
        asks.refuse("its operands have different parameters");
        return;
      }
    }
    for (std::uint32_t i = 0; i < data.count; ++i) asks.take(i, *form);
  }

  // Codes are compared with codes, or real numbers with real numbers.
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const DataOperands data = data_operands(node, *parameters());
    std::uint32_t codes = 0;
    for (std::uint32_t i = 0; i < data.count; ++i) {
      if (context.read<GivenForm>(node, i) != nullptr) ++codes;
    }
    if (codes == data.count) return {};
    for (std::uint32_t i = 0; i < data.count; ++i) {
      if (context.read<GivenForm>(node, i) == nullptr) continue;
      const Value operand = node.operand(i);
      QUADRANT_TRY(const Value real, scheme().leave(operand, context));
      QUADRANT_CHECK(context.graph().set_operand(node.id, i, real));
    }
    return {};
  }
};

}  // namespace

void register_reader(QdqFusion::Registration& methods, const KernelRule& rule) {
  methods.add_parameterized<ReaderMethod>(rule.kind, &rule);
}

}  // namespace quadrant::inline v0::qdq_fusion

// Follows what was dequantized forwards: which values are codes of which form, in real numbers.
#include <optional>
#include <vector>

#include "fake_quantize/forms.hpp"
#include "fake_quantize/methods.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

class Following {
 public:
  Following(const GraphView& graph, KernelsTarget target) : graph_(graph), target_(target) {}

  void visit(NodeRef node) {
    if (auto pending = find(node)) pending_.emplace(node.id, *std::move(pending));
  }
  [[nodiscard]] std::unordered_map<NodeId, PendingDequantize> take() && {
    return std::move(pending_);
  }

 private:
  [[nodiscard]] std::optional<PendingDequantize> find(NodeRef node) const {
    if (node.kind() == ops::Dequantize::kind) {
      const TensorType* const codes = node.operand_type(0);
      auto form = GivenForm::of(codes == nullptr ? nullptr : codes->uniform());
      if (!form || !fits(*form, codes->shape)) {
        return refuse("the scales of its codes cannot be read, or do not fit");
      }
      return PendingDequantize{
          .form = std::move(form), .operands = {0}, .requantizes = false, .why = {}};
    }
    if (graph_.result_count(node.id) == 0 || graph_.constant(node.id) != nullptr) {
      return std::nullopt;
    }
    const PrecisionRule* const rule = find_rule(target_, node.kind());
    if (rule == nullptr) return std::nullopt;
    const bool is_real = may_be_real(node.type().element) && !node.type().is_quantized();
    if (!is_real) return refuse("its result is not float");
    if (!node.type().shape.is_ranked()) return refuse("its rank is not known");
    if (node.operands().size() < family_of(*rule).operands) return refuse("an operand is missing");
    std::vector<const GivenForm*> forms;
    for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
      forms.push_back(form_of(node, i));
    }
    PendingDequantize pending = family_of(*rule).follow(node, *rule, forms);
    for (std::uint32_t i = 0; pending.form && i < graph_.result_count(node.id); ++i) {
      if (!fits(*pending.form, node.type(i).shape)) {
        return refuse("its scales are not one for each channel");
      }
    }
    return pending;
  }

  [[nodiscard]] static bool fits(const GivenForm& form, const Shape& shape) {
    return verify(*form.type, shape).has_value();
  }

  [[nodiscard]] const GivenForm* form_of(NodeRef node, std::uint32_t operand) const {
    const Value value = node.operand(operand);
    if (value.is_absent() || !graph_.type(value).shape.is_ranked()) return nullptr;
    // Further results are indices or masks, but for those of a split.
    const bool is_data = value.result == 0 || graph_.kind(value.node) == ops::Split::kind;
    const auto found = pending_.find(value.node);
    if (!is_data || found == pending_.end()) return nullptr;
    const std::optional<GivenForm>& form = found->second.form;
    return form ? &*form : nullptr;
  }

  const GraphView& graph_;
  KernelsTarget target_;
  std::unordered_map<NodeId, PendingDequantize> pending_;
};

}  // namespace

std::unordered_map<NodeId, PendingDequantize> follow_dequantized(const GraphView& graph,
                                                                 std::span<const NodeId> order,
                                                                 KernelsTarget target) {
  Following following(graph, target);
  for (const NodeId node : order) following.visit({&graph, node});
  return std::move(following).take();
}

}  // namespace quadrant::inline v0::low_precision

#include "qdq_fusion/forms.hpp"

#include <algorithm>
#include <range/v3/view/reverse.hpp>
#include <utility>

#include "qdq_fusion/rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

class FormFinder {
 public:
  FormFinder(const GraphView& graph, std::span<const NodeId> order, KernelsTarget target)
      : graph_(graph), order_(order), target_(target) {}

  [[nodiscard]] std::unordered_map<NodeId, FusedForms> run() && {
    for (const NodeId node : order_) find_origin({&graph_, node});
    for (const NodeId node : order_ | ranges::views::reverse) find_sink({&graph_, node});
    return std::move(forms_);
  }

 private:
  // --- forwards --------------------------------------------------------------------------------
  void find_origin(NodeRef node) {
    if (node.kind() == ops::Dequantize::kind) {
      const TensorType* const codes = node.operand_type(0);
      if (auto form = GivenForm::of(codes == nullptr ? nullptr : codes->uniform())) {
        forms_[node.id].origin = std::move(form);
      }
      return;
    }
    const KernelRule* const rule = find_rule(target_, node.kind());
    if (rule == nullptr || rule->commutes == nullptr || !rule->commutes(node)) return;
    const std::optional<GivenForm> of_data = common_origin(node, *rule);
    if (!of_data) return;
    auto form = moved_form(node, *of_data);
    if (form && (rule->keeps == nullptr || rule->keeps(node, *form))) {
      forms_[node.id].origin = std::move(form);
    }
  }

  [[nodiscard]] std::optional<GivenForm> common_origin(NodeRef node, const KernelRule& rule) const {
    const DataOperands data = data_operands(node, rule);
    std::optional<GivenForm> common;
    for (std::uint32_t i = 0; i < data.count; ++i) {
      const auto found = forms_.find(node.operand(data.first + i).node);
      if (found == forms_.end()) return std::nullopt;
      const std::optional<GivenForm>& origin = found->second.origin;
      if (!origin || (common && common != origin)) return std::nullopt;
      common = origin;
    }
    return common;
  }

  // --- backwards -------------------------------------------------------------------------------
  void find_sink(NodeRef node) {
    if (node.graph->result_count(node.id) == 0 || node.type().is_quantized() ||
        !may_be_real(node.type().element) || graph_.constant(node.id) != nullptr) {
      return;
    }
    std::optional<GivenForm> common;
    const char* why = "its result is not quantized";
    for (const Use& use : graph_.uses(node.id)) {
      const Wanted wanted = wanted_by({&graph_, use.user}, use.operand);
      if (wanted.form && (!common || *common == *wanted.form)) {
        common = wanted.form;
        continue;
      }
      why = wanted.form ? "the readers of its result quantize it differently" : wanted.why;
      common.reset();
      break;
    }
    if (common) {
      forms_[node.id].sink = std::move(common);
    } else {
      forms_[node.id].why_no_sink = why;
    }
  }

  struct Wanted {
    std::optional<GivenForm> form{};
    const char* why = nullptr;
  };

  [[nodiscard]] Wanted wanted_by(NodeRef user, std::uint32_t operand) const {
    if (user.kind() == ops::Output::kind) return {{}, "its float result is an output of the model"};
    if (user.kind() == ops::Quantize::kind) {
      auto form = GivenForm::of(user.type().uniform());
      if (!form && user.type().quantization.other()) {
        return {{}, "its result is quantized to floats or indices, on which no kernel computes"};
      }
      if (!form) return {{}, "the scale that quantizes its result cannot be read"};
      if (!form->is_per_tensor()) return {{}, "its result is quantized with several scales"};
      return {std::move(form)};
    }
    const KernelRule* const rule = find_rule(target_, user.kind());
    Wanted by_real{{}, "its result is read as float, and not quantized"};
    if (rule == nullptr) return by_real;
    const DataOperands data = data_operands(user, *rule);
    const bool is_data = data.first <= operand && operand < data.first + data.count;
    if (!is_data || rule->commutes == nullptr || !rule->commutes(user)) return by_real;
    const auto found = forms_.find(user.id);
    if (found == forms_.end() || !found->second.sink) {
      return {{}, found == forms_.end() ? by_real.why : found->second.why_no_sink};
    }
    return {found->second.sink};
  }

  const GraphView& graph_;
  std::span<const NodeId> order_;
  KernelsTarget target_;
  std::unordered_map<NodeId, FusedForms> forms_;
};

}  // namespace

DataOperands data_operands(NodeRef node, const KernelRule& rule) {
  const auto present = static_cast<std::uint32_t>(node.operands().size());
  const std::uint32_t first = std::min(rule.first, present);
  return {first, rule.operands == 0 ? present - first : std::min(rule.operands, present - first)};
}

std::unordered_map<NodeId, FusedForms> find_forms(const GraphView& graph,
                                                  std::span<const NodeId> order,
                                                  KernelsTarget target) {
  return FormFinder(graph, order, target).run();
}

}  // namespace quadrant::inline v0::qdq_fusion

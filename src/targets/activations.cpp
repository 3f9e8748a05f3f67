#include <algorithm>
#include <array>
#include <range/v3/view/reverse.hpp>
#include <string_view>

#include "ir/ops/places.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/targets/runtime_profile.hpp"
#include "targets/data_flow.hpp"

namespace quadrant::inline v0 {
namespace {

// Computes on codes, and has codes as its result.
bool computes_codes(std::string_view kind) noexcept {
  return kind.starts_with("onnx.QLinear") || kind.starts_with("onnx.com.microsoft::QLinear");
}

// Hands on values of operand 0 as they are: where one end has scales, so does the other.
bool hands_on(NodeRef node) noexcept { return has_trait(node, Trait::takes_elements); }

// Looks at the varying values of one graph.
class Activations {
 public:
  Activations(const GraphView& graph, const std::vector<NodeId>& order)
      : graph_(graph),
        order_(order),
        varying_(find_varying(graph, order)),
        real_(graph.index_bound(), false),
        of_codes_(graph.index_bound(), false),
        leads_to_codes_(graph.index_bound(), false) {
    for (const NodeId node : order) {
      real_[node.index] = may_compute_reals(node);
      of_codes_[node.index] = comes_of_codes(node);
    }
    for (const NodeId node : order | ranges::views::reverse) {
      leads_to_codes_[node.index] = all_quantize({node, 0});
    }
  }

  [[nodiscard]] ActivationCount count() const {
    ActivationCount total;
    for (const NodeId node : order_) {
      if (!varying_[node.index] || makes_codes(graph_.kind(node)) ||
          makes_reals(graph_.kind(node))) {
        continue;
      }
      for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) add({node, i}, total);
    }
    return total;
  }

 private:
  void add(Value value, ActivationCount& total) const {
    const bool is_codes =
        graph_.type(value).is_quantized() || computes_codes(graph_.kind(value.node));
    if ((!is_codes && !is_real(value)) || !is_read(value)) return;
    ++total.count;
    if (is_codes || of_codes_[value.node.index] ||
        (value.result == 0 ? leads_to_codes_[value.node.index] : all_quantize(value))) {
      ++total.quantized;
      return;
    }
    if (graph_.type(value).element == ElementType::undefined) ++total.unknown_type;
    if (total.first_unquantized.empty()) total.first_unquantized = graph_.value_name(value);
  }

  [[nodiscard]] bool comes_of_codes(NodeId node) const {
    const std::string_view kind = graph_.kind(node);
    if (makes_reals(kind)) return true;
    const auto operands = graph_.operands(node);
    return hands_on({&graph_, node}) && !operands.empty() && !operands[0].is_absent() &&
           of_codes_[operands[0].node.index];
  }

  // What an unknown type may hold: nothing real comes of shapes, nor of integers alone.
  [[nodiscard]] bool may_compute_reals(NodeId node) const {
    const std::string_view kind = graph_.kind(node);
    if (kind == ops::ShapeOf::kind || kind == ops::Size::kind) return false;
    bool has_operands = false;
    for (const Value operand : graph_.operands(node)) {
      if (operand.is_absent()) continue;
      has_operands = true;
      if (is_real(operand)) return true;
    }
    return !has_operands;
  }

  [[nodiscard]] bool is_real(Value value) const {
    const TensorType& type = graph_.type(value);
    if (type.element == ElementType::undefined) return real_[value.node.index];
    return type.is_quantized() || is_float(type.element);
  }

  [[nodiscard]] bool is_read(Value value) const {
    return std::ranges::any_of(graph_.uses(value.node),
                               [&](const Use& use) { return use.result == value.result; });
  }

  [[nodiscard]] bool all_quantize(Value value) const {
    std::uint64_t readers = 0;
    const Use* last = nullptr;
    bool all = true;
    for (const Use& use : graph_.uses(value.node)) {
      if (use.result != value.result) continue;
      ++readers;
      last = &use;
      all = all && makes_codes(graph_.kind(use.user)) && use.operand == 0;
    }
    if (readers == 0) return false;
    if (all) return true;
    const std::string_view reader = graph_.kind(last->user);
    const bool is_computed = graph_.kind(value.node) != ops::Input::kind;
    return readers == 1 && last->operand == 0 &&
           (hands_on({&graph_, last->user}) || (is_computed && is_fused(reader))) &&
           graph_.result_count(last->user) == 1 && leads_to_codes_[last->user.index];
  }

  const GraphView& graph_;
  const std::vector<NodeId>& order_;
  std::vector<bool> varying_;
  std::vector<bool> real_;
  std::vector<bool> of_codes_;  // reals that were codes before, and nothing has changed since
  std::vector<bool> leads_to_codes_;
};

}  // namespace

ActivationCount count_activations(const GraphView& graph, const std::vector<NodeId>& order) {
  return Activations(graph, order).count();
}

}  // namespace quadrant::inline v0

#include <algorithm>
#include <array>
#include <cstdint>
#include <range/v3/view/reverse.hpp>

#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

class Restriction {
 public:
  Restriction(const GraphView& graph, const std::vector<NodeId>& order,
              const Eligibility& eligibility)
      : graph_(graph),
        order_(order),
        eligibility_(eligibility),
        is_weight_(of_constants_alone(graph, order)),
        marks_(graph.index_bound(), 0) {}

  [[nodiscard]] Vetoes run(const std::vector<NodeId>& included, const std::string& reason) && {
    for (const NodeId node : included) marks_[node.index] |= named;
    for (const NodeId node : order_) mark_readers(node);
    for (const NodeId node : order_ | ranges::views::reverse) mark_what_serves(node);
    Vetoes vetoes;
    for (const NodeId node : order_) {
      if (marks_[node.index] == 0 && takes_part(node)) vetoes.emplace(node, reason);
    }
    return vetoes;
  }

 private:
  static constexpr std::uint8_t named = 1;    // or it serves what is
  static constexpr std::uint8_t reading = 2;  // what is named, or what came of that
  static constexpr std::uint8_t added = 4;    // the bias of a product that is reading

  [[nodiscard]] bool is_weight(NodeId node) const { return is_weight_[node.index] != 0; }

  void mark_readers(NodeId node) {
    const bool is_source = is_weight(node) || graph_.kind(node) == ops::Input::kind;
    if (!is_source || (marks_[node.index] & (named | reading)) == 0) return;
    for (const Use& use : graph_.uses(node)) {
      marks_[use.user.index] |= reading;
      const Product* const product = find_product({&graph_, use.user});
      if (product == nullptr || use.operand != product->weight) continue;
      const Value bias = NodeRef{&graph_, use.user}.operand(product->bias);
      if (!bias.is_absent() && is_weight(bias.node)) marks_[bias.node.index] |= added;
    }
  }

  void mark_what_serves(NodeId node) {
    if (!is_weight(node)) return;
    for (const Use& use : graph_.uses(node)) {
      const bool is_quantizable =
          eligibility_.furthest_state({node, use.result}) == State::Quantizable;
      if (is_quantizable && (marks_[use.user.index] & named) != 0) marks_[node.index] |= named;
    }
  }

  // Else there are better reasons why it does not.
  [[nodiscard]] bool takes_part(NodeId node) const {
    constexpr std::array never{ops::Input::kind, ops::Output::kind, ops::Quantize::kind,
                               ops::Dequantize::kind};
    if (std::ranges::find(never, graph_.kind(node)) != never.end()) return false;
    for (std::uint32_t scheme = 0; scheme < eligibility_.scheme_count(); ++scheme) {
      if (eligibility_.method(node, scheme) != nullptr) return true;
    }
    return false;
  }

  const GraphView& graph_;
  const std::vector<NodeId>& order_;
  const Eligibility& eligibility_;
  std::vector<std::uint8_t> is_weight_;
  std::vector<std::uint8_t> marks_;  // by index
};

}  // namespace

Vetoes restrict_to(const GraphView& graph, const std::vector<NodeId>& order,
                   const Eligibility& eligibility, const std::vector<NodeId>& included,
                   const std::string& reason) {
  return Restriction(graph, order, eligibility).run(included, reason);
}

}  // namespace quadrant::inline v0

#include "fake_quantize/meetings.hpp"

#include <map>
#include <range/v3/view/reverse.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "fake_quantize/forms.hpp"
#include "fake_quantize/methods.hpp"
#include "fake_quantize/profiles.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

// Which `dequantize` nodes go together: trees of parents, with the paths halved as they are walked.
class Forest {
 public:
  void add(NodeId root) { parents_.emplace(root, root); }
  NodeId find(NodeId node) {
    while (parents_.at(node) != node) {
      node = parents_.at(node) = parents_.at(parents_.at(node));
    }
    return node;
  }
  void unite(NodeId a, NodeId b) { parents_[find(b)] = find(a); }

 private:
  std::unordered_map<NodeId, NodeId> parents_;
};

class MeetingFinder {
 public:
  MeetingFinder(const Graph& graph, KernelsTarget target) : graph_(graph), target_(target) {}

  // Groups with a concat whose result must have one scale.
  Expected<std::vector<Meeting>> run() && {
    QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph_));
    pending_ = follow_dequantized(graph_, order, target_);
    for (const NodeId node : order | ranges::views::reverse) find_wishes({&graph_, node});
    for (const NodeId node : order) follow({&graph_, node});
    std::map<NodeId, Meeting> groups;
    for (const NodeId concat : concats_) {
      groups[forest_.find(branch_of_.at(concat))].concats.push_back(concat);
    }
    for (const NodeId root : roots_) {
      const auto found = groups.find(forest_.find(root));
      if (found != groups.end()) found->second.branches.push_back(root);
    }
    std::vector<Meeting> result;
    result.reserve(groups.size());
    for (auto& [root, group] : groups) result.push_back(std::move(group));
    return result;
  }

 private:
  [[nodiscard]] bool hands_on(NodeRef node) const {
    const PrecisionRule* const rule = find_rule(target_, node.kind());
    return rule != nullptr &&
           (rule->family == PrecisionFamily::same || rule->family == PrecisionFamily::clamp ||
            rule->family == PrecisionFamily::concat);
  }

  [[nodiscard]] bool is_codes(Value value) const {
    const auto found = pending_.find(value.node);
    return found != pending_.end() && found->second.form.has_value();
  }

  // Whether somebody takes the node's result with one scale alone.
  void find_wishes(NodeRef node) {
    for (const Use& use : graph_.uses(node.id)) {
      const NodeRef user{&graph_, use.user};
      const Product* const product = find_product(user);
      const bool multiplies = product != nullptr && use.operand == product->data &&
                              find_rule(target_, user.kind()) != nullptr &&
                              !user.operand(product->weight).is_absent() &&
                              is_codes(user.operand(product->weight)) && !takes_channels(user);
      if (multiplies || (hands_on(user) && wishes_.contains(user.id))) wishes_.insert(node.id);
    }
  }

  static bool takes_channels(NodeRef user) {
    return is_depthwise(user) && user.operand_type(0)->shape[1].value() > 1;
  }

  void follow(NodeRef node) {
    if (node.kind() == ops::Dequantize::kind && is_codes(node.result())) {
      if (graph_.constant(node.operand(0).node) != nullptr) return;
      branch_of_.emplace(node.id, node.id);
      forest_.add(node.id);
      roots_.push_back(node.id);
      return;
    }
    if (!hands_on(node)) return;
    const std::size_t count = node.kind() == ops::Concat::kind ? node.operands().size() : 1;
    std::vector<NodeId> branches;
    branches.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto found = branch_of_.find(node.operand(i).node);
      if (found == branch_of_.end()) return;  // real numbers, a sum
      branches.push_back(found->second);
    }
    if (branches.empty()) return;
    branch_of_.emplace(node.id, branches.front());
    const bool must_agree = node.kind() == ops::Concat::kind && wishes_.contains(node.id);
    if (!must_agree) return;
    for (const NodeId branch : branches) forest_.unite(branches.front(), branch);
    concats_.push_back(node.id);
  }

  const Graph& graph_;
  KernelsTarget target_;
  std::unordered_map<NodeId, PendingDequantize> pending_;
  std::unordered_set<NodeId> wishes_;
  std::unordered_map<NodeId, NodeId> branch_of_;  // a `dequantize` that the result comes from
  Forest forest_;
  std::vector<NodeId> roots_;
  std::vector<NodeId> concats_;
};

}  // namespace

Expected<std::vector<Meeting>> find_meetings(const Graph& graph, KernelsTarget target) {
  return MeetingFinder(graph, target).run();
}

}  // namespace quadrant::inline v0::low_precision

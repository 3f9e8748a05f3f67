#include "engine/phases/coupling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/policies/storage_gain.hpp"
#include "ir/exists.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

// The form that all of `forms` are; `float_form` where two differ, so that nothing fits. Empty: no
// forms.
class CommonForm {
 public:
  void add(ConstraintId form) {
    if (form != float_form) common_ = common_.value_or(form) == form ? form : float_form;
  }
  [[nodiscard]] std::optional<ConstraintId> get() const noexcept { return common_; }

 private:
  std::optional<ConstraintId> common_;
};

std::optional<ConstraintId> form_that_came(const SelectionProblem& problem,
                                           const std::vector<Value>& members) {
  CommonForm common;
  for (const Value value : members) common.add(problem.eligibility.given(value));
  return common.get();
}

// Groups that share a value are one. Each value once, in the order in which they come.
Couplings joined(const Couplings& groups) {
  std::vector<std::size_t> rank(groups.size());
  std::vector<std::size_t> parent(groups.size());
  boost::disjoint_sets together(rank.data(), parent.data());
  for (std::size_t i = 0; i < groups.size(); ++i) together.make_set(i);
  std::unordered_map<Value, std::size_t> group_of;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const Value value : groups[i]) {
      together.union_set(i, group_of.emplace(value, i).first->second);
    }
  }
  Couplings result(groups.size());
  std::unordered_set<Value> met;
  for (const std::vector<Value>& group : groups) {
    for (const Value value : group) {
      if (met.insert(value).second) {
        result[together.find_set(group_of.at(value))].push_back(value);
      }
    }
  }
  return result;
}

// What is not there is of an adaptor that is wrong, which `verify` would have told.
void keep_what_exists(const GraphView& graph, std::vector<Value>& members) {
  std::erase_if(members, [&](Value value) { return !exists(graph, value); });
}

// Those of `Capabilities::of_one_type` of which some came quantized, or none did.
Couplings groups_of(const GraphView& graph, bool came_quantized) {
  const Capabilities* const capabilities = graph.capabilities();
  if (capabilities == nullptr) return {};
  Couplings found;
  for (std::vector<Value>& members : joined(capabilities->of_one_type())) {
    keep_what_exists(graph, members);
    const bool is_quantized =
        std::ranges::any_of(members, [&](Value value) { return graph.type(value).is_quantized(); });
    if (members.size() > 1 && is_quantized == came_quantized) found.push_back(std::move(members));
  }
  return found;
}

std::optional<ConstraintId> planned_form(const SelectionProblem& problem,
                                         const std::vector<Value>& members,
                                         const ValueMap<RequestId>& planned) {
  CommonForm common;
  for (const Value value : members) {
    const RequestId id = planned[value];
    if (id != no_request) common.add(problem.requests[id].constraint);
  }
  return common.get();
}

// `by_all`: of those forms that each member can be made in.
ConstraintId form_of_most_gain(const SelectionProblem& problem, const std::vector<Value>& members,
                               bool by_all) {
  const RequestGraph& requests = problem.requests;
  std::map<ConstraintId, Gain> gains;
  std::map<ConstraintId, std::size_t> makers;
  for (const Value value : members) {
    for (RequestId id = requests.first(value); id != no_request; id = requests[id].next) {
      const Request& request = requests[id];
      if (request.producible) {
        gains[request.constraint] += request.flow + storage_gain(problem, request);
        ++makers[request.constraint];
      }
    }
  }
  ConstraintId best = float_form;
  for (const auto& [form, gain] : gains) {
    if (by_all && makers[form] < members.size()) continue;
    const bool is_better = best == float_form || gain > gains[best] ||
                           (gain == gains[best] && requests.constraints().less(form, best));
    if (is_better) best = form;
  }
  return best;
}

}  // namespace

CouplingTable::CouplingTable(const GraphView& graph, const Couplings& others)
    : all_(groups_of(graph, /*came_quantized=*/false)), strict_(all_.size()) {
  for (const std::vector<Value>& members : all_) {
    std::ranges::copy_if(members, std::inserter(followers_, followers_.end()),
                         [&](Value value) { return !is_read(graph, value); });
  }
  std::ranges::move(groups_of(graph, /*came_quantized=*/true), std::back_inserter(all_));
  for (std::vector<Value> members : others) {
    keep_what_exists(graph, members);
    all_.push_back(std::move(members));
  }
}

std::vector<ConstraintId> find_coupling_forms(const SelectionProblem& problem,
                                              const ValueMap<RequestId>* planned) {
  std::vector<ConstraintId> forms;
  forms.reserve(problem.couplings.all().size());
  const Couplings& couplings = problem.couplings.all();
  for (std::size_t i = 0; i < couplings.size(); ++i) {
    const std::vector<Value>& members = couplings[i];
    const bool is_strict = i < problem.couplings.strict().size();
    std::optional<ConstraintId> form = form_that_came(problem, members);
    if (!form && planned != nullptr) form = planned_form(problem, members, *planned);
    forms.push_back(form ? *form : form_of_most_gain(problem, members, is_strict));
  }
  return forms;
}

std::unordered_map<Value, ConstraintId> find_coupled_forms(const SelectionProblem& problem,
                                                           std::span<const ConstraintId> forms) {
  std::unordered_map<Value, ConstraintId> found;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    // A value of several couplings fits into all of them.
    for (const Value value : problem.couplings.all()[i]) {
      const auto [known, is_new] = found.emplace(value, forms[i]);
      if (!is_new && known->second != forms[i]) known->second = float_form;
    }
  }
  return found;
}

namespace {

// What values have their scales of.
struct Weights {
  bool came_quantized = false;  // one of them did, and keeps its scales
  std::map<std::string_view, NodeId> by_name;

  [[nodiscard]] bool goes_before(const Weights& other) const {
    return std::tuple(!came_quantized, by_name.size(), by_name) <
           std::tuple(!other.came_quantized, other.by_name.size(), other.by_name);
  }
};

// The constant that the node, which asks nobody for codes, makes its own of: one that it moves or
// casts; not valid for others.
NodeId moved_constant(NodeRef node) {
  constexpr int most = 64;  // that a long chain is not walked for each of its values
  for (int i = 0; i < most && node.graph->constant(node.id) == nullptr; ++i) {
    const bool moves = find_move(node) != nullptr || has_trait(node, Trait::keeps_elements) ||
                       node.kind() == ops::Cast::kind;
    if (!moves || node.operand(0).is_absent()) return {};
    node = {node.graph, node.operand(0).node};
  }
  return node.graph->constant(node.id) != nullptr ? node.id : NodeId{};
}

// Of the value, which is made in codes.
Weights weights_of(const SelectionProblem& problem, const Selection& selection, Value value) {
  Weights weights;
  const auto add = [&](NodeId weight) {
    weights.by_name.emplace(problem.graph.value_name({weight, 0}), weight);
  };
  std::unordered_set<Value> met{value};
  std::vector<Value> left{value};
  while (!left.empty()) {
    const NodeRef node{&problem.graph, left.back().node};
    const Choice& choice = selection[left.back()];
    left.pop_back();
    const bool is_weight = problem.graph.constant(node.id) != nullptr;
    weights.came_quantized |= is_weight && choice.cause != SelectionCause::selected;
    if (is_weight) add(node.id);
    if (is_weight || choice.cause != SelectionCause::selected) continue;
    const Request& request = problem.requests[choice.request];
    const std::uint32_t scheme = problem.requests.constraints().scheme(request.constraint);
    if (problem.registry.scheme(scheme).can_resolve() && find_move(node) == nullptr) continue;
    const Alternative& chosen = problem.requests.alternatives(request)[choice.alternative];
    const auto needs = problem.requests.needs(chosen);
    if (const NodeId moved = needs.empty() ? moved_constant(node) : NodeId{}; moved.is_valid()) {
      add(moved);
    }
    for (const Need& need : needs) {
      const Request& needed = problem.requests[need.request];
      const bool is_made_so = selection.produced(needed.value) == needed.constraint;
      if (is_made_so && met.insert(needed.value).second) left.push_back(needed.value);
    }
  }
  return weights;
}

}  // namespace

Vetoes weights_that_meet(const SelectionProblem& problem, const Selection& selection) {
  Vetoes vetoes;
  for (const std::vector<Value>& members : problem.couplings.all()) {
    std::map<std::string_view, NodeId> refusable;
    Weights kept;
    for (const Value value : members) {
      if (selection.produced(value) == float_form) continue;
      Weights weights = weights_of(problem, selection, value);
      if (weights.by_name.empty()) continue;
      if (!weights.came_quantized) {
        refusable.insert(weights.by_name.begin(), weights.by_name.end());
      }
      if (kept.by_name.empty() || weights.goes_before(kept)) kept = std::move(weights);
    }
    for (const auto& [name, weight] : refusable) {
      if (kept.by_name.contains(name)) continue;
      vetoes.emplace(weight, fmt::format("it is coupled with '{}', another weight, and would have "
                                         "scales of its own",
                                         kept.by_name.begin()->first));
    }
  }
  return vetoes;
}

bool is_read(const GraphView& graph, Value value) {
  return std::ranges::any_of(graph.uses(value.node),
                             [&](const Use& use) { return use.result == value.result; });
}

bool is_torn(const Selection& selection, std::span<const Value> members) {
  const auto is_float = [&](Value value) { return selection.produced(value) == float_form; };
  return std::ranges::any_of(members, is_float) && !std::ranges::all_of(members, is_float);
}

}  // namespace quadrant::inline v0

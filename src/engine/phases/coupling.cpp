#include "engine/phases/coupling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/policies/storage_gain.hpp"
#include "ir/exists.hpp"
#include "quadrant/ir/capabilities.hpp"
#include "quadrant/ir/moves.hpp"

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

// By name, the weights that the value, which is made in codes, has its scales of.
std::map<std::string_view, NodeId> weights_of(const SelectionProblem& problem,
                                              const Selection& selection, Value value) {
  std::map<std::string_view, NodeId> weights;
  std::unordered_set<Value> met{value};
  std::vector<Value> left{value};
  while (!left.empty()) {
    const NodeRef node{&problem.graph, left.back().node};
    const Choice& choice = selection[left.back()];
    left.pop_back();
    if (problem.graph.constant(node.id) != nullptr) {
      weights.emplace(problem.graph.value_name(node.result()), node.id);
      continue;
    }
    if (choice.cause != SelectionCause::selected) continue;  // it came quantized
    const Request& request = problem.requests[choice.request];
    const std::uint32_t scheme = problem.requests.constraints().scheme(request.constraint);
    if (problem.registry.scheme(scheme).can_resolve() && find_move(node) == nullptr) continue;
    const Alternative& chosen = problem.requests.alternatives(request)[choice.alternative];
    for (const Need& need : problem.requests.needs(chosen)) {
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
    std::map<std::string_view, NodeId> all;
    std::map<std::string_view, NodeId> kept;
    for (const Value value : members) {
      if (selection.produced(value) == float_form) continue;
      const std::map<std::string_view, NodeId> weights = weights_of(problem, selection, value);
      const bool is_first = std::pair(weights.size(), weights) < std::pair(kept.size(), kept);
      if (!weights.empty() && (kept.empty() || is_first)) kept = weights;
      all.insert(weights.begin(), weights.end());
    }
    for (const auto& [name, weight] : all) {
      if (kept.contains(name)) continue;
      vetoes.emplace(weight, fmt::format("it is coupled with '{}', another weight, and would have "
                                         "scales of its own",
                                         kept.begin()->first));
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

#include "engine/phases/coupling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
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
  ReadValues read(graph);
  for (const std::vector<Value>& members : all_) {
    std::ranges::copy_if(members, std::inserter(followers_, followers_.end()),
                         [&](Value value) { return !read.contains(value); });
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
  // What makes codes of one of them itself, asking nobody for them: the cast or the move behind it.
  std::map<std::string_view, NodeId> made_by;

  void add(const Weights& other) {
    came_quantized |= other.came_quantized;
    by_name.insert(other.by_name.begin(), other.by_name.end());
    made_by.insert(other.made_by.begin(), other.made_by.end());
  }
  [[nodiscard]] bool goes_before(const Weights& other) const {
    return std::tuple(!came_quantized, by_name.size(), by_name) <
           std::tuple(!other.came_quantized, other.by_name.size(), other.by_name);
  }
};

using SharedWeights = std::shared_ptr<const Weights>;

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

// The weights of values that are made in codes. Values of the same ones share them, so that a chain
// of moves is walked once.
class WeightFinder {
 public:
  WeightFinder(const SelectionProblem& problem, const Selection& selection)
      : problem_(problem), selection_(selection) {}

  const SharedWeights& of(Value value) {
    std::vector<Value> left{value};
    while (!left.empty()) {
      const Value now = left.back();
      if (found_.contains(now)) {
        left.pop_back();
        continue;
      }
      const std::vector<Value> made_of = needed(now);
      const std::size_t before = left.size();
      std::ranges::copy_if(made_of, std::back_inserter(left),
                           [&](Value needed) { return !found_.contains(needed); });
      if (left.size() == before) found_.emplace(now, united(own(now), made_of));
    }
    return found_.at(value);
  }

 private:
  // What its form takes codes of.
  [[nodiscard]] std::vector<Value> needed(Value value) const {
    std::vector<Value> values;
    for (const Need& need : needs(value).value_or(std::span<const Need>())) {
      const Request& wanted = problem_.requests[need.request];
      const bool is_made_so = selection_.produced(wanted.value) == wanted.constraint;
      if (is_made_so) values.push_back(wanted.value);
    }
    return values;
  }

  // Empty where scales are the node's own, or came with it.
  [[nodiscard]] std::optional<std::span<const Need>> needs(Value value) const {
    const NodeRef node{&problem_.graph, value.node};
    const Choice& choice = selection_[value];
    if (problem_.graph.constant(value.node) != nullptr) return std::nullopt;
    if (choice.cause != SelectionCause::selected) return std::nullopt;
    const Request& request = problem_.requests[choice.request];
    const std::uint32_t scheme = problem_.requests.constraints().scheme(request.constraint);
    const bool finds_scales = problem_.registry.scheme(scheme).can_resolve();
    if (finds_scales && find_move(node) == nullptr) return std::nullopt;
    return problem_.requests.needs(problem_.requests.alternatives(request)[choice.alternative]);
  }

  // Those that it does not have by what it needs.
  [[nodiscard]] Weights own(Value value) const {
    Weights weights;
    const auto name = [&](NodeId weight) { return problem_.graph.value_name({weight, 0}); };
    if (problem_.graph.constant(value.node) != nullptr) {
      weights.came_quantized = selection_[value].cause != SelectionCause::selected;
      weights.by_name.emplace(name(value.node), value.node);
    } else if (const auto asked = needs(value); asked && asked->empty()) {
      const NodeId moved = moved_constant({&problem_.graph, value.node});
      if (moved.is_valid()) {
        weights.by_name.emplace(name(moved), moved);
        weights.made_by.emplace(name(moved), value.node);
      }
    }
    return weights;
  }

  [[nodiscard]] SharedWeights united(Weights own, const std::vector<Value>& made_of) const {
    std::set<SharedWeights> parts;
    for (const Value value : made_of) parts.insert(found_.at(value));
    const bool has_own = own.came_quantized || !own.by_name.empty();
    if (parts.size() == 1 && !has_own) return *parts.begin();
    for (const SharedWeights& part : parts) own.add(*part);
    return std::make_shared<const Weights>(std::move(own));
  }

  const SelectionProblem& problem_;
  const Selection& selection_;
  std::unordered_map<Value, SharedWeights> found_;
};

}  // namespace

Vetoes weights_that_meet(const SelectionProblem& problem, const Selection& selection) {
  Vetoes vetoes;
  WeightFinder finder(problem, selection);
  for (const std::vector<Value>& members : problem.couplings.all()) {
    std::set<SharedWeights> all;
    for (const Value value : members) {
      if (selection.produced(value) == float_form) continue;
      const SharedWeights& weights = finder.of(value);
      if (!weights->by_name.empty()) all.insert(weights);
    }
    if (all.empty()) continue;
    const Weights& kept = **std::ranges::min_element(
        all, [](const auto& a, const auto& b) { return a->goes_before(*b); });
    for (const SharedWeights& weights : all) {
      if (weights->came_quantized) continue;
      const auto refuse = [&](const auto& named) {
        const auto& [name, node] = named;
        if (kept.by_name.contains(name)) return;
        vetoes.emplace(node, fmt::format("it is coupled with '{}', another weight, and would have "
                                         "scales of its own",
                                         kept.by_name.begin()->first));
      };
      std::ranges::for_each(weights->by_name, refuse);
      std::ranges::for_each(weights->made_by, refuse);
    }
  }
  return vetoes;
}

bool ReadValues::contains(Value value) {
  if (known_.insert(value.node).second) {
    for (const Use& use : graph_.uses(value.node)) read_.insert({value.node, use.result});
  }
  return read_.contains(value);
}

bool is_torn(const Selection& selection, std::span<const Value> members) {
  const auto is_float = [&](Value value) { return selection.produced(value) == float_form; };
  return std::ranges::any_of(members, is_float) && !std::ranges::all_of(members, is_float);
}

}  // namespace quadrant::inline v0

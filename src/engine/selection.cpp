#include "quadrant/engine/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <range/v3/view/reverse.hpp>
#include <string_view>
#include <unordered_map>

namespace quadrant::inline v0 {
namespace {

// An alternative that came true: every need is what its operand was selected for.
[[nodiscard]] const Alternative* satisfied(const RequestGraph& requests, const Selection& selection,
                                           const Request& request) {
  for (const Alternative& alternative : requests.alternatives(request)) {
    const bool holds = std::ranges::all_of(requests.needs(alternative), [&](const Need& need) {
      if (need.request == no_request) return false;
      const Choice& parent = selection[requests[need.request].value];
      return parent.cause == SelectionCause::selected && parent.request == need.request;
    });
    if (holds) return &alternative;
  }
  return nullptr;
}

[[nodiscard]] bool is_realized(const RequestGraph& requests, const Selection& selection,
                               const Benefit& benefit) {
  if (benefit.request == no_request) return false;
  const Choice& choice = selection[requests[benefit.request].value];
  return choice.cause == SelectionCause::selected && choice.request == benefit.request;
}

// What `forward` offers for one node: the requests that became available.
class Availability final : public ForwardContext {
 public:
  Availability(NodeRef node, RequestGraph& requests, const Selection& selection) noexcept
      : node_(node), requests_(&requests), selection_(&selection) {}

  [[nodiscard]] const void* selected(Value parent) const noexcept override {
    const Choice& choice = (*selection_)[parent];
    if (choice.cause != SelectionCause::selected) return nullptr;
    return requests_->constraints().get((*requests_)[choice.request].constraint);
  }
  void offer_requests() override {
    for (std::uint32_t result = 0; result < node_.graph->result_count(node_.id); ++result) {
      for (RequestId id = requests_->first({node_.id, result}); id != no_request;
           id = (*requests_)[id].next) {
        add_if_available(id);
      }
    }
  }
  void offer(std::uint32_t result, const void* constraint) override {
    const ConstraintId id = requests_->constraints().intern(constraint);
    const RequestId request = requests_->find({node_.id, result}, id);
    // Available but not requested: nobody would gain. Whatever a method says, what a request needs
    // of the parents must be there, or rewriting would find floats.
    if (request != no_request) add_if_available(request);
  }
  [[nodiscard]] std::span<const RequestId> available() const noexcept { return available_; }

 private:
  void add_if_available(RequestId id) {
    const Request& request = (*requests_)[id];
    if (request.accepted && satisfied(*requests_, *selection_, request) != nullptr) {
      available_.push_back(id);
    }
  }

  NodeRef node_;
  RequestGraph* requests_;
  const Selection* selection_;
  std::vector<RequestId> available_;
};

[[nodiscard]] Gain storage_gain(NodeRef node, const QuantizationMethod& method,
                                const RequestGraph& requests, const Request& request,
                                const GainModel& gains) {
  const auto change = method.erased_storage(requests.constraints().get(request.constraint), node);
  return change ? gains.of_storage(*change) : Gain{};
}

// Why nothing was available for a value, before looking at gains.
[[nodiscard]] SelectionCause cause_without_offers(const RequestGraph& requests, Value value) {
  if (requests.first(value) == no_request) return SelectionCause::not_requested;
  for (RequestId id = requests.first(value); id != no_request; id = requests[id].next) {
    if (requests[id].accepted) return SelectionCause::unavailable;
  }
  return SelectionCause::refused;
}

// Gives back, users first, what nobody takes in its quantized form after all.
void release_unused(const GraphView& graph, const std::vector<NodeId>& order,
                    const Eligibility& eligibility, const RequestGraph& requests,
                    Selection& selection) {
  ValueMap<std::uint8_t> wanted(eligibility.numbering(), 0);
  for (const Benefit& benefit : requests.benefits()) {
    if (is_realized(requests, selection, benefit)) wanted[requests[benefit.request].value] = 1;
  }
  for (const NodeId node : order | ranges::views::reverse) {
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      const Value value{node, result};
      if (!selection.is_selected(value)) continue;
      if (wanted[value] == 0) {
        selection[value].cause = SelectionCause::unused;
        continue;
      }
      const Alternative* chosen =
          satisfied(requests, selection, requests[selection[value].request]);
      if (chosen == nullptr) continue;
      for (const Need& need : requests.needs(*chosen)) {
        wanted[requests[need.request].value] = 1;
      }
    }
  }
}

[[nodiscard]] Gain evaluate(const GraphView& graph, const std::vector<NodeId>& order,
                            const Eligibility& eligibility, const RequestGraph& requests,
                            const GainModel& gains, const Selection& selection) {
  Gain objective;
  for (const Benefit& benefit : requests.benefits()) {
    if (is_realized(requests, selection, benefit)) objective += benefit.gain;
  }
  for (const NodeId node : order) {
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      const Value value{node, result};
      if (!selection.is_selected(value)) continue;
      objective += storage_gain({&graph, node}, *eligibility.method(node), requests,
                                requests[selection[value].request], gains);
    }
  }
  return objective;
}

// The walk that both policies share: `choose(value, available)` decides for one value.
template <class Choose>
Selection walk_forward(const GraphView& graph, const std::vector<NodeId>& order,
                       const Eligibility& eligibility, RequestGraph& requests, Choose choose) {
  Selection selection(eligibility.numbering());
  for (const NodeId node : order) {
    const QuantizationMethod* method = eligibility.method(node);
    if (method == nullptr || method->eligible_state() != State::Quantizable) continue;
    const NodeRef ref{&graph, node};
    bool requested = false;
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      selection[{node, result}].cause = cause_without_offers(requests, {node, result});
      requested |= requests.first({node, result}) != no_request;
    }
    if (!requested) continue;  // lazy: nobody asks, nothing is computed
    Availability availability(ref, requests, selection);
    method->erased_forward(ref, availability);
    for (const RequestId id : availability.available()) {
      choose(ref, *method, id, selection[requests[id].value]);
    }
  }
  return selection;
}

// The request that `plan` lists for each value.
Expected<ValueMap<RequestId>> find_planned(const GraphView& graph, const std::vector<NodeId>& order,
                                           const Eligibility& eligibility, RequestGraph& requests,
                                           const Plan& plan) {
  std::unordered_map<std::string_view, const PlannedValue*> entries;
  for (const PlannedValue& entry : plan.values) {
    if (!entries.emplace(entry.value, &entry).second) {
      return fail(ErrorCode::impossible, "the plan lists this value twice",
                  {.file = {}, .node = {}, .tensor = entry.value, .offset = {}});
    }
  }
  ValueMap<RequestId> planned(eligibility.numbering(), no_request);
  for (const NodeId node : order) {
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      const Value value{node, result};
      const auto found = entries.find(graph.value_name(value));
      if (found == entries.end()) continue;
      const auto constraint = requests.constraints().parse(found->second->constraint);
      const RequestId id = constraint ? requests.find(value, *constraint) : no_request;
      if (id == no_request) {
        return fail(ErrorCode::impossible,
                    fmt::format("the plan wants '{}', which nothing in this graph asks of it; make "
                                "the plan again",
                                found->second->constraint),
                    {.file = {}, .node = {}, .tensor = found->second->value, .offset = {}});
      }
      planned[value] = id;
      entries.erase(found);
    }
  }
  if (!entries.empty()) {
    const auto first =
        std::ranges::min_element(entries, {}, [](const auto& entry) { return entry.first; });
    return fail(ErrorCode::impossible, "the plan lists a value that the graph does not have",
                {.file = {}, .node = {}, .tensor = std::string(first->first), .offset = {}});
  }
  return planned;
}

}  // namespace

bool Selection::takes_quantized(const GraphView& graph, const RequestGraph& requests, NodeId user,
                                std::uint32_t operand) const noexcept {
  for (std::uint32_t result = 0; result < graph.result_count(user); ++result) {
    const Value value{user, result};
    if (!is_selected(value)) continue;
    const Alternative* chosen = satisfied(requests, *this, requests[choices_[value].request]);
    if (chosen == nullptr) continue;
    const auto needs = requests.needs(*chosen);
    if (std::ranges::any_of(needs, [&](const Need& need) { return need.operand == operand; })) {
      return true;
    }
  }
  return false;
}

std::vector<Use> Selection::float_uses(const GraphView& graph, const RequestGraph& requests,
                                       Value value) const {
  std::vector<Use> readers;
  for (const Use& use : graph.uses(value.node)) {
    if (use.result != value.result) continue;
    if (!takes_quantized(graph, requests, use.user, use.operand)) readers.push_back(use);
  }
  return readers;
}

Selection select_greedy(const GraphView& graph, const std::vector<NodeId>& order,
                        const Eligibility& eligibility, RequestGraph& requests,
                        const GainModel& gains) {
  // Canonical: the larger gain, then the smaller constraint, never who came first.
  const auto beats = [&](RequestId id, Gain gain, RequestId other, Gain other_gain) {
    if (other == no_request || gain != other_gain) return other == no_request || gain > other_gain;
    return requests.constraints().less(requests[id].constraint, requests[other].constraint);
  };
  Selection selection = walk_forward(
      graph, order, eligibility, requests,
      [&](NodeRef node, const QuantizationMethod& method, RequestId id, Choice& choice) {
        const Request& request = requests[id];
        const Gain gain = request.flow + storage_gain(node, method, requests, request, gains);
        if (beats(id, gain, choice.request, choice.gain)) {
          choice.runner_up = choice.request;
          choice.runner_up_gain = choice.gain;
          choice.request = id;
          choice.gain = gain;
        } else if (beats(id, gain, choice.runner_up, choice.runner_up_gain)) {
          choice.runner_up = id;
          choice.runner_up_gain = gain;
        }
        choice.cause = choice.gain >= Gain{} ? SelectionCause::selected : SelectionCause::no_gain;
      });
  release_unused(graph, order, eligibility, requests, selection);
  selection.objective = evaluate(graph, order, eligibility, requests, gains, selection);
  return selection;
}

Expected<Selection> select_planned(const GraphView& graph, const std::vector<NodeId>& order,
                                   const Registry& registry, const Eligibility& eligibility,
                                   RequestGraph& requests, const GainModel& gains,
                                   const Plan& plan) {
  if (plan.scheme != registry.scheme().name()) {
    return fail(ErrorCode::impossible, fmt::format("the plan is for scheme '{}', not '{}'",
                                                   plan.scheme, registry.scheme().name()));
  }
  if (plan.options != registry.scheme().describe()) {
    return fail(ErrorCode::impossible, fmt::format("the plan was made with '{}', this run has '{}'",
                                                   plan.options, registry.scheme().describe()));
  }
  QUADRANT_TRY(const ValueMap<RequestId> planned,
               find_planned(graph, order, eligibility, requests, plan));
  Selection selection = walk_forward(
      graph, order, eligibility, requests,
      [&](NodeRef node, const QuantizationMethod& method, RequestId id, Choice& choice) {
        const Request& request = requests[id];
        if (planned[request.value] != id) {
          if (choice.cause != SelectionCause::selected) choice.cause = SelectionCause::not_planned;
          return;
        }
        choice.cause = SelectionCause::selected;
        choice.request = id;
        choice.gain = request.flow + storage_gain(node, method, requests, request, gains);
      });
  for (const NodeId node : order) {
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      const Value value{node, result};
      if (planned[value] == no_request || selection.is_selected(value)) continue;
      return fail(
          ErrorCode::impossible,
          "the plan quantizes this value, but not all that it is computed from",
          {.file = {}, .node = {}, .tensor = std::string(graph.value_name(value)), .offset = {}});
    }
  }
  selection.objective = evaluate(graph, order, eligibility, requests, gains, selection);
  return selection;
}

}  // namespace quadrant::inline v0

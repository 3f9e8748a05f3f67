#include "quadrant/engine/explain/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "engine/explain/eligibility_reasons.hpp"
#include "engine/phases/holding.hpp"

namespace quadrant::inline v0 {
namespace {

// Answers about nodes, after one pass over the conversions that finds each node's own.
class Explainer {
 public:
  Explainer(const GraphView& graph, const Registry& registry, const Analysis& analysis)
      : graph_(graph),
        registry_(registry),
        analysis_(analysis),
        reasons_(graph, registry, analysis) {
    for (const Conversion& conversion : analysis.selection.conversions()) {
      conversions_of_[conversion.value.node].push_back(&conversion);
    }
    for (const CouplingDemand& demand : analysis.selection.coupling_demands()) {
      demands_of_[demand.value].push_back(&demand);
    }
  }

  [[nodiscard]] Explanation operator()(Value value) const {
    const NodeId node = value.node;
    Explanation result;
    result.node = graph_.name(node);
    result.kind = graph_.kind(node);
    if (graph_.result_count(node) == 0) {
      result.value = result.node;
      result.benefits = benefits(node);
      result.reason =
          takes_part(node) ? consumer_reason(node, result.benefits) : reasons_.ineligible(node);
      return result;
    }
    result.value = graph_.value_name(value);
    result.requests = requests(value);
    result.benefits = benefits(node);
    result.conversions = conversions(value);
    result.vetoes = reasons_.vetoes(node);
    result.couplings = couplings(value);
    result.blockers = reasons_.blockers(value);
    result.state = analysis_.eligibility.furthest_state(value);
    switch (result.state) {
      case State::Consumer:
        result.reason = consumer_reason(node, result.benefits);
        break;
      case State::Quantizable:
        result.reason = selection_reason(value);
        result.state =
            analysis_.selection.is_selected(value) ? State::ToQuantize : State::Unquantized;
        break;
      default: {
        // A comparison, say, makes no real numbers, and asks for its operands all the same.
        const bool is_asking = !result.benefits.empty() || request_refusal(node) != nullptr;
        result.reason =
            is_asking ? consumer_reason(node, result.benefits) : reasons_.ineligible(node);
        break;
      }
    }
    return result;
  }

 private:
  // Whether it may ask for its operands, under some scheme.
  [[nodiscard]] bool takes_part(NodeId node) const {
    for (std::uint32_t i = 0; i < registry_.scheme_count(); ++i) {
      if (analysis_.eligibility.method(node, i) != nullptr) return true;
    }
    return false;
  }

  // --- phase 2 ---
  [[nodiscard]] std::vector<ExplainedBenefit> benefits(NodeId consumer) const {
    std::vector<ExplainedBenefit> result;
    for (const Benefit& benefit : analysis_.requests.benefits(consumer)) {
      const Value operand = graph_.operands(consumer)[benefit.operand];
      ExplainedBenefit entry;
      entry.operand = graph_.value_name(operand);
      entry.index = benefit.operand;
      entry.constraint = reasons_.constraint(benefit.constraint);
      entry.gain = benefit.gain;
      entry.realized = analysis_.selection.is_realized(analysis_.requests, benefit);
      if (!entry.realized) entry.why_not = why_not(benefit, operand);
      result.push_back(std::move(entry));
    }
    std::ranges::sort(result, {}, [](const ExplainedBenefit& entry) {
      return std::tie(entry.index, entry.constraint);
    });
    return result;
  }

  [[nodiscard]] std::string why_not(const Benefit& benefit, Value operand) const {
    if (benefit.together != 0) {
      if (const auto other = why_not_all(benefit)) return *other;
    }
    if (analysis_.selection.is_selected(operand)) {
      return "it reads it dequantized, as it was quantized " + selection_reason(operand);
    }
    const bool was_real = analysis_.eligibility.furthest_state(operand) != State::Quantizable;
    const std::uint32_t scheme = analysis_.requests.constraints().scheme(benefit.constraint);
    if (was_real && registry_.scheme(scheme).can_enter()) {
      const auto why = why_not_entered(graph_, registry_, analysis_.requests.constraints(), operand,
                                       benefit.constraint);
      if (why) return *why;
    }
    if (benefit.request == no_request) {
      return reasons_.sentence(
          operand.node, scheme,
          {{std::string(registry_.name(scheme))}, reasons_.ineligible(operand.node, scheme)});
    }
    if (was_real) {
      return "quantizing it for this reader costs more than it gains";
    }
    return selection_reason(operand);
  }

  // Of what is taken together, the operand that stands more in the way, if it is another one. Empty
  // too where none does: something else was worth more.
  [[nodiscard]] std::optional<std::string> why_not_all(const Benefit& benefit) const {
    const RequestGraph& requests = analysis_.requests;
    const auto is_in_the_way = [&](const Benefit& member) {
      if (member.request == no_request || !requests[member.request].accepted) return 2;
      const Request& request = requests[member.request];
      const bool is_made = analysis_.selection.produced(request.value) == request.constraint;
      return is_made || request.entry ? 0 : 1;
    };
    for (const Benefit& member : requests.benefits(benefit.consumer)) {
      if (member.together != benefit.together) continue;
      if (is_in_the_way(member) <= is_in_the_way(benefit)) continue;
      return fmt::format("it takes it together with operand {} or not at all", member.operand);
    }
    return std::nullopt;
  }

  [[nodiscard]] const std::string* request_refusal(NodeId node) const {
    const std::string* found = nullptr;
    for (std::uint32_t i = 0; i < registry_.scheme_count() && found == nullptr; ++i) {
      found = analysis_.requests.refusal(node, i);
    }
    return found;
  }

  [[nodiscard]] std::string consumer_reason(NodeId node,
                                            const std::vector<ExplainedBenefit>& benefits) const {
    if (benefits.empty()) {
      const std::string* why = request_refusal(node);
      return why != nullptr ? *why : "it asks for nothing";
    }
    // Several schemes, or forms, may be asked of one operand, which takes one.
    std::set<std::uint32_t> asked;
    std::set<std::uint32_t> realized;
    for (const ExplainedBenefit& benefit : benefits) {
      asked.insert(benefit.index);
      if (benefit.realized) realized.insert(benefit.index);
    }
    const std::string* refusal = request_refusal(node);
    return fmt::format("takes {} of {} operands that it asked for in quantized form{}{}",
                       realized.size(), asked.size(), refusal != nullptr ? "; for another, " : "",
                       refusal != nullptr ? *refusal : "");
  }

  [[nodiscard]] std::vector<ExplainedRequest> requests(Value value) const {
    std::vector<ExplainedRequest> result;
    const RequestGraph& graph = analysis_.requests;
    for (RequestId id = graph.first(value); id != no_request; id = graph[id].next) {
      const Request& request = graph[id];
      ExplainedRequest entry;
      entry.constraint = reasons_.constraint(request.constraint);
      entry.gain = request.flow;
      entry.accepted = request.accepted;
      entry.selected =
          analysis_.selection.is_selected(value) && analysis_.selection[value].request == id;
      entry.from = askers(value, id);
      if (!request.accepted) {
        entry.refusal = request.refusal != nullptr ? *request.refusal
                                                   : "its own operands cannot be quantized so";
      }
      result.push_back(std::move(entry));
    }
    std::ranges::sort(result, [](const ExplainedRequest& a, const ExplainedRequest& b) {
      return a.gain != b.gain ? a.gain > b.gain : a.constraint < b.constraint;
    });
    return result;
  }

  [[nodiscard]] std::vector<std::string> askers(Value value, RequestId wanted) const {
    std::vector<std::string> result;
    for (const Use& use : graph_.uses(value.node)) {
      if (use.result != value.result) continue;
      const bool asks =
          std::ranges::any_of(analysis_.requests.benefits(use.user, use.operand),
                              [&](const Benefit& benefit) { return benefit.request == wanted; }) ||
          passes_on(use, wanted);
      if (asks) result.push_back(reader(use));
    }
    std::ranges::sort(result);
    if (result.empty()) result.emplace_back("its own operation");
    return result;
  }

  [[nodiscard]] std::string reader(const Use& use) const {
    return fmt::format("{} (operand {})", label(graph_, use.user), use.operand);
  }

  // Whether a request on a result of the user needs `wanted` at this operand.
  [[nodiscard]] bool passes_on(const Use& use, RequestId wanted) const {
    const RequestGraph& graph = analysis_.requests;
    for (std::uint32_t result = 0; result < graph_.result_count(use.user); ++result) {
      for (RequestId id = graph.first({use.user, result}); id != no_request; id = graph[id].next) {
        for (const Alternative& alternative : graph.alternatives(graph[id])) {
          for (const Need& need : graph.needs(alternative)) {
            if (need.request == wanted && need.operand == use.operand) return true;
          }
        }
      }
    }
    return false;
  }

  // --- phase 3 ---
  [[nodiscard]] std::string selection_reason(Value value) const {
    const Choice& choice = analysis_.selection[value];
    const RequestGraph& graph = analysis_.requests;
    switch (choice.cause) {
      case SelectionCause::selected: {
        std::string text =
            fmt::format("{}, gain {}", reasons_.constraint(graph[choice.request].constraint),
                        choice.gain.amount());
        if (choice.own != Gain{} && choice.own != choice.gain) {
          text += fmt::format(" ({} its own, the rest its readers' and conversions)",
                              choice.own.amount());
        }
        if (choice.runner_up != no_request) {
          text += fmt::format("; next best {} with {}",
                              reasons_.constraint(graph[choice.runner_up].constraint),
                              choice.runner_up_gain.amount());
        }
        return text;
      }
      case SelectionCause::not_requested:
        return not_requested(value);
      case SelectionCause::refused:
        return refusal(value);
      case SelectionCause::unavailable:
        return "what it is computed from was quantized otherwise, or not at all";
      case SelectionCause::withheld: {
        const std::string* const why = analysis_.selection.why_withheld(value.node);
        return why != nullptr ? *why : "its method offers none of the forms that are asked for";
      }
      case SelectionCause::no_gain:
        return fmt::format("{} would be worth {} here, float is worth {}",
                           reasons_.constraint(graph[choice.request].constraint),
                           choice.gain.amount(), choice.in_float.amount());
      case SelectionCause::loss:
        return fmt::format("{} and all that is quantized only with it would be worth {}",
                           reasons_.constraint(graph[choice.request].constraint),
                           choice.gain.amount());
      case SelectionCause::unused:
        return "all operations that asked for it chose otherwise";
      case SelectionCause::coupled:
        return coupled(value);
      case SelectionCause::contradicted:
        return "its couplings take forms that differ, and it can be made in one alone" +
               demands(value);
      case SelectionCause::outweighed:
        return fmt::format("the decision that is worth most leaves it in float, not {}",
                           reasons_.constraint(graph[choice.request].constraint));
      case SelectionCause::not_planned:
        return "the plan leaves it in float";
      case SelectionCause::not_eligible:
        break;
    }
    return reasons_.ineligible(value.node);
  }

  [[nodiscard]] std::vector<ExplainedConversion> conversions(Value value) const {
    std::vector<ExplainedConversion> result;
    const auto found = conversions_of_.find(value.node);
    if (found == conversions_of_.end()) return result;
    for (const Conversion* conversion : found->second) {
      if (conversion->value != value) continue;
      ExplainedConversion entry{reasons_.constraint(conversion->from),
                                reasons_.constraint(conversion->to),
                                conversion->price,
                                {}};
      for (const Use& use : conversion->readers) entry.readers.push_back(reader(use));
      std::ranges::sort(entry.readers);
      result.push_back(std::move(entry));
    }
    return result;
  }

  [[nodiscard]] std::vector<ExplainedCoupling> couplings(Value value) const {
    std::vector<ExplainedCoupling> result;
    const auto found = demands_of_.find(value);
    if (found == demands_of_.end()) return result;
    for (const CouplingDemand* demand : found->second) {
      result.push_back(
          {std::string(graph_.value_name(demand->member)), reasons_.constraint(demand->form)});
    }
    return result;
  }

  [[nodiscard]] std::string coupled(Value value) const {
    const auto found = demands_of_.find(value);
    if (found != demands_of_.end() && found->second.back()->form == float_form) {
      return fmt::format("it has one type with '{}', which stays float",
                         graph_.value_name(found->second.back()->member));
    }
    return "the values that it is coupled with were quantized otherwise" + demands(value);
  }

  // `: a with 'x', b with 'y'`: what its couplings take. Empty where nothing is known of it.
  [[nodiscard]] std::string demands(Value value) const {
    std::string text;
    for (const ExplainedCoupling& coupling : couplings(value)) {
      text += fmt::format("{}{} with '{}'", text.empty() ? ": " : ", ", coupling.constraint,
                          coupling.with);
    }
    return text;
  }

  // Why a node that takes part in no scheme, or asks for nothing, does not; null where there is
  // nothing to say but that.
  [[nodiscard]] const std::string* why_not_asking(NodeId node) const {
    for (std::uint32_t i = 0; i < registry_.scheme_count(); ++i) {
      const std::string* const vetoed =
          find_veto(analysis_.vetoes, analysis_.scheme_vetoes, node, registry_.name(i));
      if (vetoed != nullptr) return vetoed;
      if (analysis_.eligibility.method(node, i) == nullptr) {
        const std::string* const why = analysis_.eligibility.why(node, i);
        if (why != nullptr) return why;
      }
    }
    return request_refusal(node);
  }

  // `; 'fc' does not: excluded ...`: the readers that say why, each reason once.
  [[nodiscard]] std::string readers_reasons(Value value) const {
    constexpr std::size_t shown = 3;
    std::map<std::string_view, std::string_view> reader_by_reason;
    for (const Use& use : graph_.uses(value.node)) {
      if (use.result != value.result) continue;
      const std::string* const why = why_not_asking(use.user);
      if (why == nullptr) continue;
      const std::string_view reader = label(graph_, use.user);
      const auto known = reader_by_reason.try_emplace(*why, reader).first;
      known->second = std::min(known->second, reader);  // whichever was read first
    }
    std::string text;
    std::size_t said = 0;
    for (const auto& [why, reader] : reader_by_reason) {
      if (said++ == shown) break;
      text += fmt::format("; '{}' does not: {}", reader, why);
    }
    return text;
  }

  // Names what stands in the way: the readers, by operation and operand, each once.
  [[nodiscard]] std::string not_requested(Value value) const {
    constexpr std::size_t shown = 3;
    std::vector<std::string> readers;
    for (const Use& use : graph_.uses(value.node)) {
      if (use.result != value.result) continue;
      std::string reader = fmt::format("{} (operand {})", graph_.kind(use.user), use.operand);
      if (std::ranges::find(readers, reader) == readers.end()) readers.push_back(std::move(reader));
      if (readers.size() > shown) break;
    }
    if (readers.empty()) return "no operation reads it";
    std::ranges::sort(readers);
    const bool more = readers.size() > shown;
    if (more) readers.resize(shown);
    const std::string* const why = request_refusal(value.node);
    return fmt::format("no operation requests it in quantized form; it is read by {}{}{}{}{}",
                       fmt::join(readers, ", "), more ? " and others" : "", readers_reasons(value),
                       why != nullptr ? "; its own operation does not either: " : "",
                       why != nullptr ? *why : "");
  }

  [[nodiscard]] std::string refusal(Value value) const {
    const RequestGraph& graph = analysis_.requests;
    RequestId first = no_request;  // by form: in which order they came depends on the graph's
    for (RequestId id = graph.first(value); id != no_request; id = graph[id].next) {
      if (graph[id].refusal == nullptr) continue;
      const bool is_before =
          first == no_request ||
          graph.constraints().less(graph[id].constraint, graph[first].constraint);
      if (is_before) first = id;
    }
    if (first == no_request) return "what it is computed from cannot be quantized as asked";
    return fmt::format("{} was asked for: {}", reasons_.constraint(graph[first].constraint),
                       *graph[first].refusal);
  }

  const GraphView& graph_;
  const Registry& registry_;
  const Analysis& analysis_;
  EligibilityReasons reasons_;
  std::unordered_map<NodeId, std::vector<const Conversion*>> conversions_of_;
  std::unordered_map<Value, std::vector<const CouplingDemand*>> demands_of_;
};

}  // namespace

Explanation explain(const GraphView& graph, const Registry& registry, const Analysis& analysis,
                    Value value) {
  if (!value.node.is_valid()) {
    Explanation none;
    none.reason = "there is no such node";
    return none;
  }
  return Explainer(graph, registry, analysis)(value);
}

std::vector<Explanation> explain_all(const GraphView& graph, const Registry& registry,
                                     const Analysis& analysis) {
  const Explainer explainer(graph, registry, analysis);
  std::vector<Explanation> result;
  result.reserve(analysis.order.size());
  for (const NodeId node : analysis.order) result.push_back(explainer(Value{node}));
  return result;
}

std::vector<Explanation> explain_values(const GraphView& graph, const Registry& registry,
                                        const Analysis& analysis) {
  const Explainer explainer(graph, registry, analysis);
  std::vector<Explanation> result;
  for (const NodeId node : analysis.order) {
    const std::uint32_t count = std::max(graph.result_count(node), std::uint32_t{1});
    for (std::uint32_t i = 0; i < count; ++i) result.push_back(explainer(Value{node, i}));
  }
  return result;
}

namespace {

// The form that was selected for a value, whose it is included; empty: none.
std::string selected_form(const Analysis& analysis, Value value) {
  if (!analysis.selection.is_selected(value)) return "";
  const ConstraintTable& constraints = analysis.requests.constraints();
  const ConstraintId form = analysis.requests[analysis.selection[value].request].constraint;
  return fmt::format("{} {}", analysis.registry.name(constraints.scheme(form)),
                     constraints.print(form));
}

}  // namespace

std::vector<ExplainedDifference> explain_differences(const GraphView& graph, const Analysis& before,
                                                     const Analysis& after) {
  const Explainer explain_before(graph, before.registry, before);
  const Explainer explain_after(graph, after.registry, after);
  std::vector<ExplainedDifference> result;
  for (const NodeId node : after.order) {
    const std::uint32_t count = graph.result_count(node);
    std::uint32_t i = 0;
    while (i < count && selected_form(before, {node, i}) == selected_form(after, {node, i})) ++i;
    const Value first{node, i};
    if (i < count) result.push_back({explain_before(first), explain_after(first)});
  }
  return result;
}

}  // namespace quadrant::inline v0

#include "quadrant/engine/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace quadrant::inline v0 {
namespace {

// Answers about nodes, after one pass over the benefits that finds each consumer's own.
class Explainer {
 public:
  Explainer(const GraphView& graph, const Registry& registry, const Analysis& analysis)
      : graph_(graph), registry_(registry), analysis_(analysis) {
    for (const Benefit& benefit : analysis.requests.benefits()) {
      by_consumer_.push_back(&benefit);
    }
    std::ranges::sort(by_consumer_, {}, [](const Benefit* b) {
      return std::tuple(b->consumer, b->operand, b->constraint);
    });
  }

  [[nodiscard]] Explanation operator()(NodeId node) const {
    Explanation result;
    result.node = graph_.name(node);
    result.kind = graph_.kind(node);
    if (graph_.result_count(node) == 0) {
      result.value = result.node;
      result.reason = ineligible(node);
      return result;
    }
    const Value value{node, 0};
    result.value = graph_.value_name(value);
    result.state = analysis_.eligibility.state(value);
    switch (result.state) {
      case State::Consumer:
        result.benefits = benefits(node);
        result.reason = consumer_reason(node, result.benefits);
        break;
      case State::Quantizable:
        result.requests = requests(value);
        result.reason = selection_reason(value);
        result.state =
            analysis_.selection.is_selected(value) ? State::ToQuantize : State::Unquantized;
        break;
      default:
        result.reason = ineligible(node);
        break;
    }
    return result;
  }

 private:
  [[nodiscard]] auto benefits_of(NodeId consumer) const {
    return std::ranges::equal_range(by_consumer_, consumer, {},
                                    [](const Benefit* b) { return b->consumer; });
  }
  [[nodiscard]] std::string constraint(ConstraintId id) const {
    return analysis_.requests.constraints().print(id);
  }

  // --- phase 1 ---
  [[nodiscard]] std::string ineligible(NodeId node) const {
    switch (analysis_.eligibility.cause(node)) {
      case EligibilityCause::already_quantized:
        return "the model came with it quantized";
      case EligibilityCause::vetoed:
        return analysis_.vetoes.at(node);
      case EligibilityCause::pattern:
        return pattern_mismatches(node);
      case EligibilityCause::method: {
        const char* why = analysis_.eligibility.why(node);
        return why != nullptr ? why : "the method's own check refuses it";
      }
      default:
        return fmt::format("scheme '{}' has no method for '{}'", registry_.scheme().name(),
                           graph_.kind(node));
    }
  }

  [[nodiscard]] std::string pattern_mismatches(NodeId node) const {
    const QuantizationMethod* method = registry_.find(graph_.kind(node));
    std::vector<State> states;
    std::vector<std::uint8_t> present;
    const auto operands = graph_.operands(node);
    for (const Value operand : operands) {
      present.push_back(operand.is_absent() ? 0 : 1);
      states.push_back(operand.is_absent() ? State::Unquantized
                                           : analysis_.eligibility.state(operand));
    }
    std::string text = fmt::format("no pattern of {} matches:", method->name());
    std::string_view separator = " ";
    for (const ParentsPattern& pattern : method->patterns()) {
      const int at = pattern.first_mismatch(states, present);
      const auto operand = static_cast<std::size_t>(std::max(at, 0));
      const bool there = operand < operands.size() && present[operand] != 0;
      text += fmt::format(
          "{}{} fails at operand {}{}", separator, to_string(pattern), at,
          there ? fmt::format(" ('{}'), which is {}", graph_.value_name(operands[operand]),
                              to_string(states[operand]))
                : std::string(", which is absent"));
      separator = "; ";
    }
    return text;
  }

  // --- phase 2 ---
  [[nodiscard]] std::vector<ExplainedBenefit> benefits(NodeId consumer) const {
    std::vector<ExplainedBenefit> result;
    for (const Benefit* benefit : benefits_of(consumer)) {
      const Value operand = graph_.operands(consumer)[benefit->operand];
      ExplainedBenefit entry;
      entry.operand = graph_.value_name(operand);
      entry.index = benefit->operand;
      entry.constraint = constraint(benefit->constraint);
      entry.gain = benefit->gain;
      const Choice& choice = analysis_.selection[operand];
      entry.realized = choice.cause == SelectionCause::selected && benefit->request != no_request &&
                       choice.request == benefit->request;
      if (!entry.realized) {
        entry.why_not =
            benefit->request == no_request ? ineligible(operand.node) : selection_reason(operand);
        if (choice.cause == SelectionCause::selected) {
          entry.why_not = "it reads it dequantized, as it was quantized " + entry.why_not;
        }
      }
      result.push_back(std::move(entry));
    }
    return result;
  }

  [[nodiscard]] std::string consumer_reason(NodeId node,
                                            const std::vector<ExplainedBenefit>& benefits) const {
    if (benefits.empty()) {
      const char* why = analysis_.requests.consumer_refusal(node);
      return why != nullptr ? why : "it asks for nothing";
    }
    const auto realized = std::ranges::count(benefits, true, &ExplainedBenefit::realized);
    const char* refusal = analysis_.requests.consumer_refusal(node);
    return fmt::format("takes {} of {} operands that it asked for in quantized form{}{}", realized,
                       benefits.size(), refusal != nullptr ? "; for another, " : "",
                       refusal != nullptr ? refusal : "");
  }

  [[nodiscard]] std::vector<ExplainedRequest> requests(Value value) const {
    std::vector<ExplainedRequest> result;
    const RequestGraph& graph = analysis_.requests;
    for (RequestId id = graph.first(value); id != no_request; id = graph[id].next) {
      const Request& request = graph[id];
      ExplainedRequest entry;
      entry.constraint = constraint(request.constraint);
      entry.gain = request.flow;
      entry.accepted = request.accepted;
      entry.selected =
          analysis_.selection.is_selected(value) && analysis_.selection[value].request == id;
      entry.from = askers(value, id);
      if (!request.accepted) {
        entry.refusal = request.refusal != nullptr ? request.refusal
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
      const bool asks = std::ranges::any_of(benefits_of(use.user),
                                            [&](const Benefit* benefit) {
                                              return benefit->request == wanted &&
                                                     benefit->operand == use.operand;
                                            }) ||
                        passes_on(use, wanted);
      if (asks)
        result.push_back(fmt::format("{} (operand {})", label(graph_, use.user), use.operand));
    }
    std::ranges::sort(result);
    return result;
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
        std::string text = fmt::format("{}, gain {}", constraint(graph[choice.request].constraint),
                                       choice.gain.amount());
        if (choice.runner_up != no_request) {
          text +=
              fmt::format("; next best {} with {}", constraint(graph[choice.runner_up].constraint),
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
      case SelectionCause::no_gain:
        return fmt::format("{} would gain {}: it costs more than it is worth",
                           constraint(graph[choice.request].constraint), choice.gain.amount());
      case SelectionCause::unused:
        return "everyone who asked for it chose otherwise";
      case SelectionCause::not_planned:
        return "the given plan leaves it in float";
      case SelectionCause::not_eligible:
        break;
    }
    return ineligible(value.node);
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
    if (readers.empty()) return "nobody reads it";
    std::ranges::sort(readers);
    const bool more = readers.size() > shown;
    if (more) readers.resize(shown);
    return fmt::format("nobody asks for it in quantized form; it is read by {}{}",
                       fmt::join(readers, ", "), more ? " and others" : "");
  }

  [[nodiscard]] std::string refusal(Value value) const {
    const RequestGraph& graph = analysis_.requests;
    for (RequestId id = graph.first(value); id != no_request; id = graph[id].next) {
      if (graph[id].refusal != nullptr) {
        return fmt::format("{} was asked for: {}", constraint(graph[id].constraint),
                           graph[id].refusal);
      }
    }
    return "what it is computed from cannot be quantized as asked";
  }

  const GraphView& graph_;
  const Registry& registry_;
  const Analysis& analysis_;
  std::vector<const Benefit*> by_consumer_;
};

}  // namespace

Explanation explain(const GraphView& graph, const Registry& registry, const Analysis& analysis,
                    NodeId node) {
  return Explainer(graph, registry, analysis)(node);
}

std::vector<Explanation> explain_all(const GraphView& graph, const Registry& registry,
                                     const Analysis& analysis) {
  const Explainer explainer(graph, registry, analysis);
  std::vector<Explanation> result;
  result.reserve(analysis.order.size());
  for (const NodeId node : analysis.order) result.push_back(explainer(node));
  return result;
}

std::string to_string(const Explanation& explanation) {
  std::string text = fmt::format("{} ({}): {}\n  {}\n", explanation.value, explanation.kind,
                                 to_string(explanation.state), explanation.reason);
  for (const ExplainedRequest& request : explanation.requests) {
    text += fmt::format("  asked for {} by {}: gain {}{}{}\n", request.constraint,
                        fmt::join(request.from, ", "), request.gain.amount(),
                        request.accepted ? "" : ", refused: ", request.refusal);
  }
  for (const ExplainedBenefit& benefit : explanation.benefits) {
    text += fmt::format("  operand {} ('{}') as {}: {}\n", benefit.index, benefit.operand,
                        benefit.constraint,
                        benefit.realized ? fmt::format("yes, gain {}", benefit.gain.amount())
                                         : "no, " + benefit.why_not);
  }
  return text;
}

}  // namespace quadrant::inline v0

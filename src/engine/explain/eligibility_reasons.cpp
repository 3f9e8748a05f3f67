#include "engine/explain/eligibility_reasons.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "engine/phases/holding.hpp"

namespace quadrant::inline v0 {

std::string EligibilityReasons::constraint(ConstraintId id) const {
  const ConstraintTable& constraints = analysis_.requests.constraints();
  std::string text = constraints.print(id);
  // Forms of two schemes may print alike.
  if (id == float_form || registry_.scheme_count() == 1) return text;
  return fmt::format("{} {}", registry_.name(constraints.scheme(id)), text);
}

// What `reason` says for each scheme of those that it has one for, each text once.
std::vector<ExplainedVeto> EligibilityReasons::by_reason(
    FunctionRef<std::optional<std::string>(std::uint32_t)> reason) const {
  std::vector<ExplainedVeto> groups;
  for (std::uint32_t i = 0; i < registry_.scheme_count(); ++i) {
    const std::optional<std::string> text = reason(i);
    if (!text) continue;
    auto group = std::ranges::find(groups, *text, &ExplainedVeto::reason);
    if (group == groups.end()) group = groups.insert(group, ExplainedVeto{{}, *text});
    group->schemes.emplace_back(registry_.name(i));
  }
  return groups;
}

std::vector<ExplainedVeto> EligibilityReasons::vetoes(NodeId node) const {
  std::vector<ExplainedVeto> groups = by_reason([&](std::uint32_t scheme) {
    const std::string* const found = veto(node, scheme);
    return found == nullptr ? std::optional<std::string>() : *found;
  });
  std::size_t vetoed = 0;
  for (const ExplainedVeto& group : groups) vetoed += group.schemes.size();
  if (vetoed == registry_.scheme_count()) groups.clear();  // then this is the reason itself
  return groups;
}

// Of the node, or of what it makes.
const std::string* EligibilityReasons::veto(NodeId node, std::uint32_t scheme) const {
  const std::string* const of_node =
      find_veto(analysis_.vetoes, analysis_.scheme_vetoes, node, registry_.name(scheme));
  if (of_node != nullptr) return of_node;
  for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
    const auto found = analysis_.value_vetoes.find({node, i});
    if (found != analysis_.value_vetoes.end()) return &found->second;
  }
  return nullptr;
}

std::string EligibilityReasons::ineligible(NodeId node) const {
  const std::vector<ExplainedVeto> groups =
      by_reason([&](std::uint32_t scheme) { return std::optional(ineligible(node, scheme)); });
  if (groups.size() == 1) return sentence(node, 0, groups[0]);
  std::string text;
  for (const ExplainedVeto& group : groups) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", fmt::join(group.schemes, ", "),
                        group.reason);
  }
  return text;
}

std::string EligibilityReasons::sentence(NodeId node, std::uint32_t scheme,
                                         const ExplainedVeto& group) const {
  const bool is_unknown = analysis_.eligibility.cause(node, scheme) == EligibilityCause::no_method;
  if (!is_unknown) return group.reason;
  const bool is_one = group.schemes.size() == 1;
  return fmt::format("{} '{}' {} {}", is_one ? "scheme" : "schemes",
                     fmt::join(group.schemes, "' and '"), is_one ? "has" : "have", group.reason);
}

std::string EligibilityReasons::ineligible(NodeId node, std::uint32_t scheme) const {
  switch (analysis_.eligibility.cause(node, scheme)) {
    case EligibilityCause::eligible:
      return holds_reals(node)
                 ? fmt::format("the result of '{}' stays float here", graph_.kind(node))
                 : std::string("its results are not float");
    case EligibilityCause::already_quantized: {
      const ConstraintId given = analysis_.eligibility.given({node, 0});
      return given == float_form
                 ? "the model came with it quantized"
                 : fmt::format("the model came with it quantized as {}", constraint(given));
    }
    case EligibilityCause::vetoed:
      return *veto(node, scheme);
    case EligibilityCause::pattern:
      return pattern_mismatches(node, scheme);
    case EligibilityCause::method:
    case EligibilityCause::possibilities: {
      const std::string* why = analysis_.eligibility.why(node, scheme);
      return why != nullptr ? *why : "the method's own check refuses it";
    }
    case EligibilityCause::no_method:
      break;
  }
  return fmt::format("no method for '{}'", graph_.kind(node));
}

// Whether codes could stand for what it makes: then it is an operation that takes codes alone.
bool EligibilityReasons::holds_reals(NodeId node) const {
  for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
    if (may_be_real(graph_.type({node, i}).element)) return true;
  }
  return false;
}

std::string EligibilityReasons::pattern_mismatches(NodeId node, std::uint32_t scheme) const {
  const QuantizationMethod* method = registry_.find(ref(node), scheme);
  const std::vector<Blockers> nearest = find_blockers(node, scheme);
  std::string text = fmt::format("{} needs ", method->name());
  std::string_view or_else;
  for (const Blockers& blockers : nearest) {
    std::string_view separator = std::exchange(or_else, "; or ");
    for (const std::size_t at : blockers.operands) {
      const Value operand = ref(node).operand(at);
      text += fmt::format(
          "{}operand {} to be {}, which {}", separator, at,
          to_string(blockers.pattern->operands[std::min(at, blockers.pattern->size - 1)]),
          operand.is_absent()
              ? std::string("is absent")
              : fmt::format("is {} ('{}')", to_string(analysis_.eligibility.state(operand, scheme)),
                            graph_.value_name(operand)));
      separator = "; ";
    }
  }
  const std::size_t others = method->patterns().size() - nearest.size();
  if (others == 1) text += "; its other pattern fits no better";
  if (others > 1) text += fmt::format("; none of its {} other patterns fits better", others);
  return text;
}

// Those that come nearest: a few of them.
std::vector<EligibilityReasons::Blockers> EligibilityReasons::find_blockers(
    NodeId node, std::uint32_t scheme) const {
  std::vector<State> states;
  std::vector<std::uint8_t> present;
  for (const Value operand : graph_.operands(node)) {
    present.push_back(operand.is_absent() ? 0 : 1);
    states.push_back(operand.is_absent() ? State::Unquantized
                                         : analysis_.eligibility.state(operand, scheme));
  }
  constexpr std::size_t most = 3;
  std::vector<Blockers> nearest;
  for (const ParentsPattern& pattern : registry_.find(ref(node), scheme)->patterns()) {
    std::vector<std::size_t> mismatches = pattern.mismatches(states, present);
    if (!nearest.empty() && mismatches.size() < nearest[0].operands.size()) nearest.clear();
    const bool is_near = nearest.empty() || mismatches.size() == nearest[0].operands.size();
    if (is_near && nearest.size() < most) nearest.push_back({&pattern, std::move(mismatches)});
  }
  return nearest;
}

std::vector<std::string> EligibilityReasons::blockers(Value value) const {
  std::vector<std::string> names;
  const auto add = [&](Value blocker) {
    std::string name(graph_.value_name(blocker));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  };
  for (std::uint32_t i = 0; i < registry_.scheme_count(); ++i) {
    if (analysis_.eligibility.cause(value.node, i) != EligibilityCause::pattern) continue;
    for (const Blockers& blockers : find_blockers(value.node, i)) {
      for (const std::size_t operand : blockers.operands) {
        const Value blocker = ref(value.node).operand(operand);
        if (!blocker.is_absent()) add(blocker);
      }
    }
  }
  const SelectionCause cause = analysis_.selection[value].cause;
  if (cause == SelectionCause::refused || cause == SelectionCause::unavailable) {
    for (const Value blocker : find_blockers(value, cause)) add(blocker);
  }
  return names;
}

// The same for a value that was asked for: of the alternative that comes nearest.
std::vector<Value> EligibilityReasons::find_blockers(Value value, SelectionCause cause) const {
  const RequestGraph& graph = analysis_.requests;
  std::optional<std::vector<Value>> nearest;
  for (RequestId id = graph.first(value); id != no_request; id = graph[id].next) {
    for (const Alternative& alternative : graph.alternatives(graph[id])) {
      std::vector<Value> found;
      for (const Need& need : graph.needs(alternative)) {
        const Value operand = ref(value.node).operand(need.operand);
        if (!operand.is_absent() && is_in_the_way(need, operand, cause)) found.push_back(operand);
      }
      if (!nearest || found.size() < nearest->size()) nearest = std::move(found);
    }
  }
  return std::move(nearest).value_or(std::vector<Value>{});
}

// Whether an operand keeps an alternative from holding that needs it.
bool EligibilityReasons::is_in_the_way(const Need& need, Value operand,
                                       SelectionCause cause) const {
  if (need.request == no_request) return true;
  const Request& request = analysis_.requests[need.request];
  if (!request.accepted) return true;
  const bool can_be_had =
      request.entry || analysis_.selection.produced(operand) == request.constraint;
  if (cause == SelectionCause::refused || can_be_had) return false;
  // It was as asked, but then nobody took it: the other operands are to blame.
  const Choice& choice = analysis_.selection[operand];
  return choice.cause != SelectionCause::unused || choice.request != need.request;
}

}  // namespace quadrant::inline v0

#include "engine/policies/conversions.hpp"

#include <algorithm>
#include <utility>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {
namespace {

// Calls `visit(use, form)` for every reader of a form that the value is not made in.
template <class Visit>
void for_each_wanted(const SelectionProblem& problem, const Selection& selection, Value value,
                     Visit visit) {
  const ConstraintId made = selection.produced(value);
  const bool came_quantized = problem.eligibility.state(value) == State::Quantized;
  for (const Use& use : problem.graph.uses(value.node)) {
    if (use.result != value.result) continue;
    const ConstraintId form = selection.read(use.user, use.operand);
    const bool is_read_as_it_came = came_quantized && form == float_form;
    if (form != made && !is_read_as_it_came) visit(use, form);
  }
}

}  // namespace

std::optional<std::vector<Conversion>> cheapest_conversions(const SelectionProblem& problem,
                                                            const Prices& prices, Value value,
                                                            ConstraintId made,
                                                            const WantedForms& wanted) {
  // Either every form is made of the codes, or the float form is made too, once, and serves where
  // that is cheaper.
  std::vector<Conversion> without;
  std::vector<Conversion> with;
  bool is_possible_without = made == float_form || !wanted.floats;
  bool is_possible_with = made != float_form;
  Gain worth_without;
  Gain worth_with;
  if (made != float_form) {
    worth_with = prices.leave(value, made);
    with.push_back({value, made, float_form, no_request, worth_with, {}});
  }
  for (const ConstraintId form : wanted.codes) {
    const RequestId request = problem.requests.find(value, form);
    const std::optional<Gain> entry = problem.requests[request].entry;
    const std::optional<Gain> direct =
        made == float_form ? entry : prices.convert(value, made, form);
    is_possible_without = is_possible_without && direct;
    worth_without += direct.value_or(Gain{});
    without.push_back({value, made, form, request, direct.value_or(Gain{}), {}});
    const std::optional<Gain> best = std::max(entry, direct);
    is_possible_with = is_possible_with && best;
    worth_with += best.value_or(Gain{});
    const ConstraintId from = entry > direct ? float_form : made;
    with.push_back({value, from, form, request, best.value_or(Gain{}), {}});
  }
  if (is_possible_without && (!is_possible_with || worth_without >= worth_with)) return without;
  if (is_possible_with) return with;
  return std::nullopt;
}

std::vector<Conversion> find_conversions(const SelectionProblem& problem, const Prices& prices,
                                         const Selection& selection, Value value) {
  WantedForms wanted;
  for_each_wanted(problem, selection, value, [&](const Use& /*use*/, ConstraintId form) {
    if (form == float_form) {
      wanted.floats = true;
    } else if (std::ranges::find(wanted.codes, form) == wanted.codes.end()) {
      wanted.codes.push_back(form);
    }
  });
  if (!wanted.floats && wanted.codes.empty()) return {};
  std::ranges::sort(wanted.codes, [&](ConstraintId a, ConstraintId b) {
    return problem.requests.constraints().less(a, b);
  });
  auto conversions =
      cheapest_conversions(problem, prices, value, selection.produced(value), wanted);
  QUADRANT_ASSERT(conversions.has_value());  // nobody was given a form that cannot be had
  if (!conversions) return {};
  for_each_wanted(problem, selection, value, [&](const Use& use, ConstraintId form) {
    std::ranges::find(*conversions, form, &Conversion::to)->readers.push_back(use);
  });
  return *std::move(conversions);
}

}  // namespace quadrant::inline v0

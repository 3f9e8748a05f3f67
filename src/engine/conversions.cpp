#include "engine/conversions.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace quadrant::inline v0 {
namespace {

// The forms of one value that somebody reads and that it is not made in.
struct WantedForms {
  std::vector<Use> float_readers;
  std::vector<Conversion> codes;  // by constraint; where from and at what price is open
};

WantedForms find_wanted(const SelectionProblem& problem, const Selection& selection, Value value) {
  const ConstraintId made = selection.produced(value);
  const bool came_quantized = problem.eligibility.state(value) == State::Quantized;
  WantedForms wanted;
  for (const Use& use : problem.graph.uses(value.node)) {
    if (use.result != value.result) continue;
    const ConstraintId form = selection.read(use.user, use.operand);
    if (form == made) continue;
    if (form == float_form) {
      if (!came_quantized) wanted.float_readers.push_back(use);  // else it is read as it came
      continue;
    }
    const auto known = std::ranges::find(wanted.codes, form, &Conversion::to);
    if (known != wanted.codes.end()) {
      known->readers.push_back(use);
    } else {
      wanted.codes.push_back({value, made, form, problem.requests.find(value, form), {}, {use}});
    }
  }
  std::ranges::sort(wanted.codes, [&](const Conversion& a, const Conversion& b) {
    return problem.requests.constraints().less(a.to, b.to);
  });
  return wanted;
}

}  // namespace

std::vector<Conversion> find_conversions(const SelectionProblem& problem, const Prices& prices,
                                         const Selection& selection, Value value) {
  const ConstraintId made = selection.produced(value);
  WantedForms wanted = find_wanted(problem, selection, value);
  if (wanted.codes.empty() && wanted.float_readers.empty()) return {};
  const auto entry = [&](const Conversion& conversion) {
    return problem.requests[conversion.request].entry;
  };
  if (made == float_form) {
    for (Conversion& conversion : wanted.codes)
      conversion.price = entry(conversion).value_or(Gain{});
    return std::move(wanted.codes);
  }

  // Either every form is made of the codes, or the float form is made too, once, and serves where
  // that is cheaper.
  std::vector<Conversion> without = wanted.codes;
  bool is_possible_without = wanted.float_readers.empty();
  Gain worth_without;
  Conversion to_float{value,
                      made,
                      float_form,
                      no_request,
                      prices.leave(value, made),
                      std::move(wanted.float_readers)};
  Gain worth_with = to_float.price;
  std::vector<Conversion> with{std::move(to_float)};
  for (std::size_t i = 0; i < wanted.codes.size(); ++i) {
    Conversion& conversion = wanted.codes[i];
    const std::optional<Gain> direct = prices.convert(value, made, conversion.to);
    is_possible_without = is_possible_without && direct;
    without[i].price = direct.value_or(Gain{});
    worth_without += without[i].price;
    const std::optional<Gain> by_float = entry(conversion);
    conversion.price = std::max(by_float, direct).value_or(Gain{});
    if (by_float > direct) conversion.from = float_form;
    worth_with += conversion.price;
    with.push_back(std::move(conversion));
  }
  return is_possible_without && worth_without >= worth_with ? without : with;
}

}  // namespace quadrant::inline v0

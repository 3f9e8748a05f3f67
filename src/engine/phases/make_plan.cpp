#include "engine/phases/make_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "engine/phases/sort_by_name.hpp"

namespace quadrant::inline v0 {
namespace {

class PlanMaker {
 public:
  PlanMaker(const SelectionProblem& problem, const Selection& selection,
            const ParameterTable& parameters)
      : problem_(problem), selection_(selection), parameters_(parameters) {}

  [[nodiscard]] Plan make() {
    Plan plan;
    for (std::uint32_t i = 0; i < problem_.registry.scheme_count(); ++i) {
      plan.schemes.push_back(
          {std::string(problem_.registry.name(i)), problem_.registry.scheme(i).describe()});
    }
    plan.gain_model = problem_.gains.name();
    plan.objective = selection_.objective();
    add_values(plan);
    add_conversions(plan);
    add_groups(plan);
    return plan;
  }

 private:
  struct Named {
    std::string_view name;
    Value value;
    const Conversion* conversion = nullptr;
  };

  void add_values(Plan& plan) {
    std::vector<Named> items;
    for (const NodeId node : problem_.order) {
      const std::uint32_t count = problem_.eligibility.numbering()->result_count(node);
      for (std::uint32_t i = 0; i < count; ++i) {
        const Value value{node, i};
        if (selection_.is_selected(value)) items.push_back({name(value), value});
      }
    }
    sort_by_name(items, &Named::name);
    plan.values.reserve(items.size());
    for (const Named& item : items) {
      const ConstraintId form = selection_.produced(item.value);
      const std::uint32_t scheme = problem_.requests.constraints().scheme(form);
      plan.values.push_back({std::string(item.name), std::string(problem_.registry.name(scheme)),
                             print(form), selection_[item.value].gain});
    }
  }

  void add_conversions(Plan& plan) {
    std::vector<Named> items;
    items.reserve(selection_.conversions().size());
    for (const Conversion& conversion : selection_.conversions()) {
      items.push_back({name(conversion.value), conversion.value, &conversion});
    }
    sort_by_name(items, &Named::name);
    plan.conversions.reserve(items.size());
    for (const auto& [name, value, conversion] : items) {
      PlannedConversion planned{std::string(name),
                                print_with_scheme(conversion->from),
                                print_with_scheme(conversion->to),
                                {}};
      for (const Use& use : conversion->readers) {
        planned.users.emplace_back(label(problem_.graph, use.user));
      }
      sort_by_name(planned.users, [](const std::string& user) { return std::string_view(user); });
      // Several forms of one value: by form.
      const auto key = [](const PlannedConversion& one) { return std::tie(one.value, one.to); };
      auto place = plan.conversions.end();
      while (place != plan.conversions.begin() && key(*std::prev(place)) > key(planned)) --place;
      plan.conversions.insert(place, std::move(planned));
    }
  }

  void add_groups(Plan& plan) {
    for (const ParameterGroup& group : parameters_.groups()) {
      if (group.members.size() < 2) continue;
      PlannedGroup planned{print_with_scheme(group.constraint), {}};
      for (const RequestId member : group.members) {
        planned.values.emplace_back(name(problem_.requests[member].value));
      }
      plan.shared.push_back(std::move(planned));
    }
    std::ranges::sort(plan.shared, {}, [](const PlannedGroup& group) {
      return std::tie(group.values, group.constraint);
    });
  }

  [[nodiscard]] std::string_view name(Value value) const {
    return problem_.graph.value_name(value);
  }
  // Forms of two schemes may print alike.
  [[nodiscard]] std::string print_with_scheme(ConstraintId form) {
    if (form == float_form || problem_.registry.scheme_count() == 1) return print(form);
    const std::uint32_t scheme = problem_.requests.constraints().scheme(form);
    return fmt::format("{} {}", problem_.registry.name(scheme), print(form));
  }
  [[nodiscard]] const std::string& print(ConstraintId form) {
    std::string& text = printed_[form];
    if (text.empty()) text = problem_.requests.constraints().print(form);
    return text;
  }

  const SelectionProblem& problem_;
  const Selection& selection_;
  const ParameterTable& parameters_;
  std::unordered_map<ConstraintId, std::string> printed_;
};

}  // namespace

Plan make_plan(const SelectionProblem& problem, SelectionPolicy policy, const Selection& selection,
               const ParameterTable& parameters) {
  Plan plan = PlanMaker(problem, selection, parameters).make();
  plan.policy = policy;
  return plan;
}

}  // namespace quadrant::inline v0

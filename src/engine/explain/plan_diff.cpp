#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "quadrant/engine/explain/explain.hpp"

namespace quadrant::inline v0 {
namespace {

using Lines = std::map<std::string, std::string>;  // what, and how it is there

Lines schemes_of(const Plan& plan) {
  Lines lines;
  for (const PlannedScheme& scheme : plan.schemes) {
    lines.emplace(fmt::format("scheme '{}'", scheme.name),
                  scheme.options.empty() ? "in use" : scheme.options);
  }
  return lines;
}

Lines values_of(const Plan& plan, bool with_scheme) {
  Lines lines;
  for (const PlannedValue& value : plan.values) {
    lines.emplace(fmt::format("value '{}'", value.value),
                  // An empty side would mean that there is no such value.
                  with_scheme || value.constraint.empty()
                      ? fmt::format("{} {}", value.scheme, value.constraint)
                      : value.constraint);
  }
  return lines;
}

// A form as a plan prints it; a plan of one scheme leaves its name out.
std::string form_of(const Plan& plan, const std::string& printed, bool with_scheme) {
  const bool lacks_scheme = with_scheme && plan.schemes.size() == 1 && printed != "float";
  return lacks_scheme ? fmt::format("{} {}", plan.schemes.front().name, printed) : printed;
}

Lines conversions_of(const Plan& plan, bool with_scheme) {
  Lines lines;
  for (const PlannedConversion& conversion : plan.conversions) {
    lines.emplace(fmt::format("conversion of '{}' to {}", conversion.value,
                              form_of(plan, conversion.to, with_scheme)),
                  fmt::format("from {} for {}", form_of(plan, conversion.from, with_scheme),
                              conversion.users.empty()
                                  ? "other conversions"
                                  : fmt::format("{}", fmt::join(conversion.users, ", "))));
  }
  return lines;
}

Lines shared_of(const Plan& plan, bool with_scheme) {
  Lines lines;
  for (const PlannedGroup& group : plan.shared) {
    for (const std::string& value : group.values) {
      lines.emplace(fmt::format("parameters of '{}' as {}", value,
                                form_of(plan, group.constraint, with_scheme)),
                    fmt::format("shared by {}", fmt::join(group.values, ", ")));
    }
  }
  return lines;
}

void compare(const Lines& before, const Lines& after, std::vector<PlanDifference>& found) {
  auto left = before.begin();
  auto right = after.begin();
  while (left != before.end() || right != after.end()) {
    const bool only_left =
        right == after.end() || (left != before.end() && left->first < right->first);
    const bool only_right =
        left == before.end() || (right != after.end() && right->first < left->first);
    if (only_left) {
      found.push_back({left->first, left->second, ""});
    } else if (only_right) {
      found.push_back({right->first, "", right->second});
    } else if (left->second != right->second) {
      found.push_back({left->first, left->second, right->second});
    }
    if (!only_right) ++left;
    if (!only_left) ++right;
  }
}

}  // namespace

std::vector<PlanDifference> diff(const Plan& before, const Plan& after) {
  std::vector<PlanDifference> found;
  compare(schemes_of(before), schemes_of(after), found);
  if (before.gain_model != after.gain_model) {
    found.push_back({"gain model", before.gain_model, after.gain_model});
  }
  if (before.objective != after.objective) {
    found.push_back({"objective", fmt::to_string(before.objective.amount()),
                     fmt::to_string(after.objective.amount())});
  }
  if (before.policy != after.policy) {
    found.push_back(
        {"policy", std::string(to_string(before.policy)), std::string(to_string(after.policy))});
  }
  // Whose a constraint is goes without saying where both have the same scheme alone.
  const bool are_of_one = before.schemes.size() == 1 && after.schemes.size() == 1 &&
                          before.schemes.front().name == after.schemes.front().name;
  const bool with_scheme = !are_of_one;
  compare(values_of(before, with_scheme), values_of(after, with_scheme), found);
  compare(conversions_of(before, with_scheme), conversions_of(after, with_scheme), found);
  compare(shared_of(before, with_scheme), shared_of(after, with_scheme), found);
  return found;
}

std::string to_string(const std::vector<PlanDifference>& differences) {
  std::string text;
  for (const auto& [what, before, after] : differences) {
    if (before.empty()) {
      text += fmt::format("+ {}: {}\n", what, after);
    } else if (after.empty()) {
      text += fmt::format("- {}: {}\n", what, before);
    } else {
      text += fmt::format("  {}: {} -> {}\n", what, before, after);
    }
  }
  return text;
}

}  // namespace quadrant::inline v0

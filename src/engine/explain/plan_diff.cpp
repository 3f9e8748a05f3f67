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
    lines.emplace(
        fmt::format("value '{}'", value.value),
        with_scheme ? fmt::format("{} {}", value.scheme, value.constraint) : value.constraint);
  }
  return lines;
}

Lines conversions_of(const Plan& plan) {
  Lines lines;
  for (const PlannedConversion& conversion : plan.conversions) {
    lines.emplace(fmt::format("conversion of '{}' to {}", conversion.value, conversion.to),
                  fmt::format("from {} for {}", conversion.from,
                              conversion.users.empty()
                                  ? "other conversions"
                                  : fmt::format("{}", fmt::join(conversion.users, ", "))));
  }
  return lines;
}

Lines shared_of(const Plan& plan) {
  Lines lines;
  for (const PlannedGroup& group : plan.shared) {
    for (const std::string& value : group.values) {
      lines.emplace(fmt::format("parameters of '{}' as {}", value, group.constraint),
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
  // Whose a constraint is goes without saying where both have the same scheme alone.
  const bool with_scheme = before.schemes.size() > 1 && after.schemes.size() > 1;
  compare(values_of(before, with_scheme), values_of(after, with_scheme), found);
  compare(conversions_of(before), conversions_of(after), found);
  compare(shared_of(before), shared_of(after), found);
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

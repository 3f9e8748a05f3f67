#include "quadrant/engine/phases/plan.hpp"

namespace quadrant::inline v0 {

std::string_view to_string(SelectionPolicy policy) noexcept {
  return policy == SelectionPolicy::optimal ? "optimal" : "greedy";
}

std::optional<SelectionPolicy> selection_policy(std::string_view name) noexcept {
  for (const auto policy : {SelectionPolicy::greedy, SelectionPolicy::optimal}) {
    if (to_string(policy) == name) return policy;
  }
  return std::nullopt;
}

}  // namespace quadrant::inline v0

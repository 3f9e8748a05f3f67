// What two plans decide differently.
#pragma once

#include <string>
#include <vector>

#include "quadrant/engine/phases/plan.hpp"

namespace quadrant::inline v0 {

/// One difference. Sides are as printed; an empty side: not there.
struct PlanDifference {
  std::string
      what;  ///< `gain model`, `objective`, `scheme 'x'`, `value 'w'`, `conversion of 'w' to float`
  std::string before;
  std::string after;
  friend bool operator==(const PlanDifference&, const PlanDifference&) = default;
};

/// The differences between two plans: settings first, then values by name, conversions and shared
/// parameters. A value whose gain alone changed is no difference. Empty: the same decision.
[[nodiscard]] std::vector<PlanDifference> diff(const Plan& before, const Plan& after);

/// A line for each: `value 'w': axis=0 -> axis=1`, `+ value 'w': axis=0`, `- value 'w': axis=0`.
[[nodiscard]] std::string to_string(const std::vector<PlanDifference>& differences);

}  // namespace quadrant::inline v0

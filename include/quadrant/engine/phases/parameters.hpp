// Which quantized values share their scales and zero points, and which take them from others.
//
// What a constraint leaves open (the range of an activation) is a variable for each value and form.
// Variables are unified after selection, for what was selected alone; the data pass gives each its
// parameters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quadrant/engine/phases/eligibility.hpp"
#include "quadrant/engine/phases/selection.hpp"

namespace quadrant::inline v0 {

/// A value in one of its quantized forms; the request names both.
struct ParameterGroup {
  ConstraintId constraint = float_form;
  std::vector<RequestId> members;  ///< by name of their values; one at least
  /// What a method derives its parameters from, each a group that stands before this one; empty:
  /// they are found from data.
  std::vector<std::uint32_t> sources;
};

/// The parameter variables of one selection. Empty where no values share parameters and no scheme
/// resolves them.
class ParameterTable {
 public:
  [[nodiscard]] std::span<const ParameterGroup> groups() const noexcept { return groups_; }
  /// Index into `groups` for a value's form that is in use; `none` for others.
  [[nodiscard]] std::uint32_t group(RequestId request) const noexcept {
    return request < group_of_.size() ? group_of_[request] : none;
  }
  static constexpr std::uint32_t none = 0xFFFFFFFF;

 private:
  friend class ParameterUnifier;
  std::vector<ParameterGroup> groups_;
  std::vector<std::uint32_t> group_of_;  // by request
};

/// Calls the `tie` hook of each node that takes part, and unifies.
/// Linear. Parameters that would be derived from themselves, or in two different ways, are
/// `impossible`, and so is sharing between different constraints.
[[nodiscard]] Expected<ParameterTable> unify_parameters(const SelectionProblem& problem,
                                                        const Selection& selection);

}  // namespace quadrant::inline v0

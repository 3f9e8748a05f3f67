// What integer kernels of a target compute, and of which parameters: a table.
#pragma once

#include <span>
#include <string_view>

#include "quadrant/methods/qdq_fusion.hpp"
#include "targets/kernels/kernel_rule.hpp"

namespace quadrant::inline v0::qdq_fusion {

using target_kernels::KernelRule;
using target_kernels::ParameterFamily;

/// One rule an operation, in the order of the families.
[[nodiscard]] std::span<const KernelRule> rules(KernelsTarget target);
/// Null: the target has no integer kernel for it.
[[nodiscard]] const KernelRule* find_rule(KernelsTarget target, std::string_view kind);
/// Of the results under a rule that fixes them, for a type that it has.
[[nodiscard]] GivenForm fixed_form(const KernelRule& rule, ElementType storage);

}  // namespace quadrant::inline v0::qdq_fusion

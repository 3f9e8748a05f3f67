// Constants, divided by constants.
#pragma once

#include "quadrant/ir/constant.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::weight_only {

/// `a / b`, broadcast by numpy's rules, each quotient rounded once to the type of `a`; an empty
/// constant where they do not broadcast, where either is neither float32 nor float64, where one of
/// the three is larger than 2^20 elements, or where an element of the quotient is not finite. Fails
/// where reading them does.
///
///   [[6, 8], [10, 12]] / [2, 4]  ->  [[3, 2], [5, 3]]
[[nodiscard]] Expected<Constant> quotient(const Constant& a, const Constant& b);

}  // namespace quadrant::inline v0::weight_only

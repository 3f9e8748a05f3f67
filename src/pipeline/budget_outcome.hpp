// The outcome of a budget, for people and for programs.
#pragma once

#include <string>

#include "quadrant/pipeline/optimize.hpp"
#include "report/json.hpp"

namespace quadrant::inline v0 {

/// Some lines: size, forms, errors, and how far the best may be.
[[nodiscard]] std::string to_string(const BudgetDecision& decided);
/// With the form of each weight.
[[nodiscard]] Json to_json(const BudgetDecision& decided);

/// `31.20 dB`, or `exact`.
[[nodiscard]] std::string print_decibels(double error);

}  // namespace quadrant::inline v0

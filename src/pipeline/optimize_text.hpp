// What a search for a quantization found, in words and for programs.
#pragma once

#include <string>

#include "quadrant/pipeline/optimize.hpp"
#include "report/json.hpp"

namespace quadrant::inline v0 {

/// `0.25 points lost, 31.20 dB`: points where there are labels, decibels of the worst output.
[[nodiscard]] std::string print_figure(const OptimizeFigure& figure);
/// `optimize bc: 31.20 dB, 0.5 s`
[[nodiscard]] std::string line_of(const OptimizeAttempt& attempt);
/// All attempts, a row each, with why they are not what was taken.
[[nodiscard]] std::string print_attempts(const Optimized& done);
/// What samples were for, what the result is worth on those that nothing was done with, and what it
/// was fitted on; what stays float. Lines, without a line feed at the end.
[[nodiscard]] std::string about_result(const Optimized& done);
/// All attempts, with their figures, and the recipe that was found.
[[nodiscard]] Json to_json(const Optimized& done);

}  // namespace quadrant::inline v0

// Where a model can run, for people.
#pragma once

#include <string>

#include "quadrant/targets/file_choice.hpp"
#include "quadrant/targets/placement.hpp"

namespace quadrant::inline v0 {

/// Tables: how parameters are stored, the verdict and the cost for each runtime, subnets; then what
/// the figures leave out.
[[nodiscard]] std::string to_string(const Placement& placement);

/// A row for each runtime, the advice, and its reasons.
[[nodiscard]] std::string to_string(const FileChoice& choice);

/// One sentence, or two: `the file's parameters carry the noise of quantization; ...`.
[[nodiscard]] std::string to_string(const AccuracyNote& note);

}  // namespace quadrant::inline v0

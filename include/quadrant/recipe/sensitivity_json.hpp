// What a sensitivity study measured, as JSON: saved by one run, used again by the next.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Format `quadrant.sensitivity`, version 1. Numbers are read back exactly.
[[nodiscard]] std::string print_sensitivity(const SensitivityCache& cache);

/// Reads what `print_sensitivity` writes. Strict: anything else is `invalid_model`, with the JSON
/// path in the message, or the byte offset where the text is not JSON.
[[nodiscard]] Expected<SensitivityCache> parse_sensitivity(std::string_view text);

}  // namespace quadrant::inline v0

// What a sensitivity study measured, as JSON: saved by one run, used again by the next.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Format `quadrant.sensitivity`, version 2. Numbers are read back exactly; in names, what is not
/// UTF-8 becomes replacement characters. Layers whose sums overflowed are left out: JSON has no
/// infinity.
[[nodiscard]] std::string print_sensitivity(const SensitivityCache& cache);

/// Reads what `print_sensitivity` writes. Strict: anything else, and counts and sums that no values
/// have, is `invalid_model`, with the JSON path in the message, or the byte offset where the text
/// is not JSON.
[[nodiscard]] Expected<SensitivityCache> parse_sensitivity(std::string_view text);

}  // namespace quadrant::inline v0

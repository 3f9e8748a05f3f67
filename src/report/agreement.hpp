// How well values agree, as text and JSON.
#pragma once

#include <string>

#include "quadrant/calibration/compare.hpp"
#include "report/json.hpp"

namespace quadrant::inline v0 {

/// `31.42 dB`; `exact` without noise.
[[nodiscard]] std::string format_decibels(double value);
/// `99.44%`
[[nodiscard]] std::string format_percent(double share);

[[nodiscard]] Json to_json(const ValueAgreement& value);

}  // namespace quadrant::inline v0

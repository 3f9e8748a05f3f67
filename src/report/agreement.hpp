// How well values agree, as text and JSON.
#pragma once

#include <string>

#include "quadrant/calibration/compare.hpp"
#include "report/json.hpp"

namespace quadrant::inline v0 {

/// The SQNR and how many elements are not finite: `31.42 dB, 3 not finite`. `exact` where all
/// elements are equal; `3 not finite` where all others are.
[[nodiscard]] std::string format_sqnr(const Agreement& agreement);
/// `99.44%`
[[nodiscard]] std::string format_percent(double share);

[[nodiscard]] Json to_json(const ValueAgreement& value);

}  // namespace quadrant::inline v0

// A Comparison as a page that a browser shows, with what its quantized values lose.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/report/activation_report.hpp"

namespace quadrant::inline v0 {

/// One HTML document as of `print_html`. `title`: plain text, whatever it holds.
[[nodiscard]] std::string print_comparison_html(std::string_view title,
                                                const Comparison& comparison,
                                                const ActivationReport& activations);

}  // namespace quadrant::inline v0

// An explanation as a part of a page.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/engine/explain/explain.hpp"

namespace quadrant::inline v0 {

/// The reason, requests, benefits, conversions and what stood in the way, each with its gain in
/// `unit` where it has one. Of long lists, the first.
[[nodiscard]] std::string explanation_html(const Explanation& explanation, std::string_view unit);

}  // namespace quadrant::inline v0

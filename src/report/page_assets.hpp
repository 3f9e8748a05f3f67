// page.css, chart.css and page.js, which the build puts into the library.
#pragma once

#include <string_view>

namespace quadrant::inline v0 {

/// A file as text, and its SHA-256 as a content policy names it: `sha256-` and base64.
struct PageAsset {
  std::string_view text;
  std::string_view hash;
};

/// Of pages, that of charts included.
[[nodiscard]] PageAsset page_style() noexcept;
[[nodiscard]] PageAsset page_script() noexcept;
/// Of charts that stand alone.
[[nodiscard]] std::string_view chart_style() noexcept;

}  // namespace quadrant::inline v0

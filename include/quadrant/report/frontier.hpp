// What accuracy costs in bytes: choices that no other beats in both, as a picture.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quadrant::inline v0 {

/// One way to quantize a model.
struct FrontierPoint {
  std::uint64_t bytes = 0;
  double bits_per_weight = 0;
  double error_db = 0;  ///< predicted; less is better. Not finite: it is listed, but not drawn
  std::string label;    ///< plain text, whatever it holds
  bool is_chosen = false;
};

/// An `svg` document, with styles of its own for light and dark: bytes to the right, error upwards,
/// a line through the points in the order of their bytes, the chosen ones marked and labelled. At
/// most 2,000 points are drawn, the chosen ones first; the picture says how many were not. Linear
/// but for sorting.
[[nodiscard]] std::string print_frontier_svg(std::span<const FrontierPoint> points);

/// A page with the picture and a table of all points, which needs nothing beside it.
[[nodiscard]] std::string print_frontier_html(std::string_view title,
                                              std::span<const FrontierPoint> points);

}  // namespace quadrant::inline v0

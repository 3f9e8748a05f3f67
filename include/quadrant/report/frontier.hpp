// What accuracy costs in bytes: choices that no other beats in both, as a picture.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrant::inline v0 {

/// How many weights are stored in one form.
struct FormCount {
  std::string form;  ///< `float`, or as a scheme is called in the run
  std::uint64_t weights = 0;
};

/// One way to quantize a model.
struct FrontierPoint {
  std::uint64_t bytes = 0;
  double bits_per_weight = 0;
  double error_db = 0;  ///< predicted; less is better. Not finite: it is listed, but not drawn
  std::string label;    ///< plain text, whatever it holds
  bool is_chosen = false;
  bool is_on_line = true;          ///< the line goes through it; else it is drawn beside
  std::vector<FormCount> forms{};  ///< empty everywhere: the table has no such column
  std::string change{};            ///< from the point before; the same
};

/// An `svg` document, with styles of its own for light and dark: bytes to the right, error upwards,
/// a line through the points in the order of their bytes, the chosen ones marked and labelled. At
/// most 2,000 points are drawn, the chosen ones first; the picture says how many were not. Linear
/// but for sorting.
[[nodiscard]] std::string print_frontier_svg(std::span<const FrontierPoint> points);

/// A page with the picture and a table of all points, which needs nothing beside it. `note` is
/// text of one or several lines to read before them.
[[nodiscard]] std::string print_frontier_html(std::string_view title,
                                              std::span<const FrontierPoint> points,
                                              std::string_view note = {});

}  // namespace quadrant::inline v0

#include "report/value_histogram_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/html_text.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr int bin_width = 8;
constexpr int half_height = 64;
constexpr int picture_width = bin_width * static_cast<int>(ValueHistogram::bin_count);

double place_of(double value, const ValueHistogram& histogram) {
  return (value - histogram.low) / (histogram.high - histogram.low) * picture_width;
}

void shade(std::string& text, const ValueHistogram& histogram, double from, double to, int height) {
  const double begin = place_of(from, histogram);
  const double width = place_of(to, histogram) - begin;
  if (width <= 0) return;
  fmt::format_to(std::back_inserter(text),
                 R"(<rect class="beyond" x="{:.1f}" width="{:.1f}" height="{}"/>)", begin, width,
                 height);
}

// Steps over the bins as one shape, from the middle line upwards (-1) or downwards (1).
std::string steps(const ValueHistogram::Bins& bins, int direction) {
  const std::uint64_t fullest = *std::ranges::max_element(bins);
  std::string path = fmt::format("M0 {}", half_height);
  int last = half_height;
  for (const std::uint64_t count : bins) {
    double height = 0;
    if (fullest != 0)
      height = half_height * static_cast<double>(count) / static_cast<double>(fullest);
    // What is there must be seen.
    const int shown = count == 0 ? 0 : std::max(1, static_cast<int>(std::lround(height)));
    const int y = half_height + direction * shown;
    if (y != last) fmt::format_to(std::back_inserter(path), "V{}", y);
    last = y;
    fmt::format_to(std::back_inserter(path), "h{}", bin_width);
  }
  fmt::format_to(std::back_inserter(path), "V{}Z", half_height);
  return path;
}

}  // namespace

std::string draw_histogram(const ValueHistogram& histogram,
                           const std::optional<RealInterval>& range) {
  const bool has_after = histogram.after.has_value();
  const int height = has_after ? 2 * half_height : half_height;
  std::string text =
      fmt::format(R"(<svg class="histogram" role="img" viewBox="0 0 {0} {1}" )"
                  R"(aria-label="Histogram of {2} bins from {3:.4g} to {4:.4g}: float values{5}">)",
                  picture_width, height + 16, ValueHistogram::bin_count, histogram.low,
                  histogram.high, has_after ? " above, values of the codes below" : "");
  if (range && histogram.low < histogram.high) {
    shade(text, histogram, histogram.low, range->low, height);
    shade(text, histogram, range->high, histogram.high, height);
  }
  fmt::format_to(std::back_inserter(text), R"(<path class="before" d="{}"/>)",
                 steps(histogram.before, -1));
  if (has_after) {
    fmt::format_to(std::back_inserter(text), R"(<path class="after" d="{}"/>)",
                   steps(*histogram.after, 1));
  }
  fmt::format_to(std::back_inserter(text),
                 R"(<line class="axis" x1="0" x2="{0}" y1="{1}" y2="{1}"/>)", picture_width,
                 half_height);
  // Zero is where weights gather: where it is tells how symmetric they are.
  if (histogram.low < 0 && histogram.high > 0) {
    const double zero = place_of(0, histogram);
    fmt::format_to(std::back_inserter(text),
                   R"(<line class="zero" x1="{0:.1f}" x2="{0:.1f}" y1="0" y2="{1}"/>)", zero,
                   height);
    if (zero > 0.2 * picture_width && zero < 0.8 * picture_width) {
      fmt::format_to(std::back_inserter(text),
                     R"(<text x="{:.1f}" y="{}" text-anchor="middle">0</text>)", zero, height + 13);
    }
  }
  fmt::format_to(std::back_inserter(text),
                 R"(<text x="0" y="{0}">{1:.4g}</text><text x="{2}" y="{0}" )"
                 R"(text-anchor="end">{3:.4g}</text></svg>)",
                 height + 13, histogram.low, picture_width, histogram.high);
  return text;
}

}  // namespace quadrant::inline v0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/split.hpp>
#include <tuple>
#include <vector>

#include "quadrant/report/tables.hpp"
#include "report/frontier_html.hpp"
#include "report/html_page.hpp"
#include "report/html_text.hpp"
#include "report/page_assets.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t most_points = 2000;
constexpr double chart_width = 760;
constexpr double chart_height = 340;
constexpr double left = 64;
constexpr double right = 24;
constexpr double top = 20;
constexpr double bottom = 48;
constexpr double most_bytes = 1.8e19;  // that 64 bits count

// From numbers to places along one side of the picture.
class Scale {
 public:
  // A little wider than what is to be seen, so that nothing lies on the frame.
  Scale(double low, double high, double from, double to) : from_(from), to_(to) {
    const double margin = high > low ? (high - low) * 0.06 : std::max(std::abs(high) * 0.06, 1.0);
    low_ = low - margin;
    high_ = high + margin;
  }

  [[nodiscard]] double operator()(double value) const {
    return from_ + (value - low_) / (high_ - low_) * (to_ - from_);
  }

  // Round numbers inside, about five: 1, 2 or 5 times a power of ten apart.
  [[nodiscard]] std::vector<double> ticks() const {
    constexpr double wanted = 5;
    const double rough = (high_ - low_) / wanted;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    double step = power;
    for (const double factor : {2.0, 5.0, 10.0}) {
      if (step < rough) step = factor * power;
    }
    std::vector<double> result;
    const double first = std::ceil(low_ / step);
    for (int i = 0; (first + i) * step <= high_ && i < 2 * wanted; ++i) {
      result.push_back((first + i) * step);
    }
    return result;
  }

 private:
  double low_ = 0;
  double high_ = 1;
  double from_;
  double to_;
};

using Points = std::vector<const FrontierPoint*>;

// By bytes; of too many, the chosen ones and then the first.
Points points_to_draw(std::span<const FrontierPoint> points) {
  Points drawn;
  for (const FrontierPoint& point : points) {
    if (std::isfinite(point.error_db)) drawn.push_back(&point);
  }
  std::ranges::sort(drawn, [](const FrontierPoint* a, const FrontierPoint* b) {
    return a->is_chosen != b->is_chosen ? a->is_chosen : a < b;  // all of one array
  });
  drawn.resize(std::min(drawn.size(), most_points));
  std::ranges::sort(drawn, [](const FrontierPoint* a, const FrontierPoint* b) {
    return std::tuple(a->bytes, b->error_db, a) < std::tuple(b->bytes, a->error_db, b);
  });
  return drawn;
}

std::string axes(const Scale& x, const Scale& y) {
  std::string text;
  for (const double tick : y.ticks()) {
    fmt::format_to(std::back_inserter(text),
                   R"(<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>)"
                   R"(<text x="{3}" y="{4:.1f}" text-anchor="end">{5:.4g}</text>)",
                   left, chart_width - right, y(tick), left - 8, y(tick) + 4, tick);
  }
  for (const double tick : x.ticks()) {
    if (tick < 0 || tick >= most_bytes) continue;
    fmt::format_to(std::back_inserter(text),
                   R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", x(tick),
                   chart_height - bottom + 18, format_bytes(static_cast<std::uint64_t>(tick)));
  }
  fmt::format_to(std::back_inserter(text),
                 R"(<text class="title" x="{}" y="{}" text-anchor="end">size</text>)"
                 R"(<text class="title" x="{}" y="12">predicted error, dB</text>)",
                 chart_width - right, chart_height - 8, 4);
  return text;
}

std::string draw_point(const FrontierPoint& point, double x, double y) {
  std::string text = fmt::format(
      R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}: {}, {:.3g} bits per )"
      "weight, {:.4g} dB</title></circle>",
      point.is_chosen ? "point chosen" : "point", x, y, point.is_chosen ? 7 : 4,
      html_text(point.label), format_bytes(point.bytes), point.bits_per_weight, point.error_db);
  if (point.is_chosen) {
    const bool is_right = x > chart_width * 2 / 3;
    fmt::format_to(std::back_inserter(text),
                   R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)",
                   x + (is_right ? -12 : 12), y - 8, is_right ? "end" : "start",
                   html_text(point.label, 60));
  }
  return text;
}

// `style`: CSS to put into the picture.
std::string draw(std::span<const FrontierPoint> points, std::string_view style) {
  const Points drawn = points_to_draw(points);
  std::string text =
      fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" )"
                  R"(viewBox="0 0 {} {}" aria-label="Predicted error by size, {} points">)",
                  chart_width, chart_height, drawn.size());
  if (!style.empty()) fmt::format_to(std::back_inserter(text), "<style>{}</style>", style);
  if (drawn.empty()) {
    return text + R"(<text x="20" y="40">no points with a finite error</text></svg>)";
  }
  const auto [low, high] = std::ranges::minmax(drawn, {}, &FrontierPoint::error_db);
  const Scale x(static_cast<double>(drawn.front()->bytes), static_cast<double>(drawn.back()->bytes),
                left, chart_width - right);
  const Scale y(low->error_db, high->error_db, chart_height - bottom, top);
  text += axes(x, y);
  std::string line;
  for (const FrontierPoint* point : drawn) {
    if (!point->is_on_line) continue;
    fmt::format_to(std::back_inserter(line), "{:.1f},{:.1f} ", x(static_cast<double>(point->bytes)),
                   y(point->error_db));
  }
  fmt::format_to(std::back_inserter(text), R"(<polyline class="line" points="{}"/>)", line);
  for (const FrontierPoint* point : drawn) {
    text += draw_point(*point, x(static_cast<double>(point->bytes)), y(point->error_db));
  }
  if (drawn.size() < points.size()) {
    fmt::format_to(std::back_inserter(text),
                   R"(<text x="{}" y="{}">{} points are not drawn</text>)", left, chart_height - 8,
                   points.size() - drawn.size());
  }
  return text + "</svg>";
}

}  // namespace

std::string print_frontier_svg(std::span<const FrontierPoint> points) {
  return draw(points, chart_style()) + '\n';
}

namespace {

// `12 int8, 3 float`
std::string forms_text(std::span<const FormCount> forms) {
  std::string text;
  for (const FormCount& count : forms) {
    fmt::format_to(std::back_inserter(text), "{}{} {}", text.empty() ? "" : ", ",
                   grouped(count.weights), count.form);
  }
  return text;
}

// As scripts read it.
std::string sort_key(double number) {
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  return fmt::format("{}", number);
}

// The columns that some points have something for.
struct Columns {
  explicit Columns(std::span<const FrontierPoint> points)
      : forms(std::ranges::any_of(points, [](const auto& point) { return !point.forms.empty(); })),
        change(
            std::ranges::any_of(points, [](const auto& point) { return !point.change.empty(); })) {}
  bool forms;
  bool change;
};

std::string head_html(const Columns& columns) {
  std::string text = R"(<th scope="col">choice</th>)"
                     R"(<th scope="col" class="number">bytes</th>)"
                     R"(<th scope="col" class="number">bits per weight</th>)"
                     R"(<th scope="col" class="number">predicted error, dB</th>)";
  if (columns.forms) text += R"(<th scope="col">weights in each form</th>)";
  if (columns.change) text += R"(<th scope="col">changed from the point before</th>)";
  return text;
}

std::string row_html(const FrontierPoint& point, const Columns& columns) {
  std::string text = fmt::format(
      R"(<tbody{}><tr><td>{}{}</td><td class="number" data-sort="{}">{}</td>)"
      R"(<td class="number" data-sort="{}">{:.3f}</td><td class="number" data-sort="{}">{}</td>)",
      point.is_chosen ? R"( class="chosen")" : "", html_text(point.label),
      point.is_chosen ? " <b>chosen</b>" : "", point.bytes, grouped(point.bytes),
      point.bits_per_weight, point.bits_per_weight, sort_key(point.error_db),
      std::isinf(point.error_db) && point.error_db < 0 ? "exact"
                                                       : fmt::format("{:.4g}", point.error_db));
  if (columns.forms) {
    fmt::format_to(std::back_inserter(text), "<td>{}</td>", html_text(forms_text(point.forms)));
  }
  if (columns.change) {
    fmt::format_to(std::back_inserter(text), "<td>{}</td>", html_name(point.change));
  }
  return text + "</tr></tbody>\n";
}

}  // namespace

std::string frontier_html(std::span<const FrontierPoint> points, std::string_view note) {
  std::string text;
  for (const auto line : note | ranges::views::split('\n')) {
    const std::string words = html_text(ranges::to<std::string>(line));
    if (!words.empty()) fmt::format_to(std::back_inserter(text), "<p>{}</p>\n", words);
  }
  text += draw(points, "");
  const Columns columns(points);
  fmt::format_to(std::back_inserter(text),
                 "\n<div class=\"scroll\"><table class=\"sortable\">\n<thead><tr>{}</tr></thead>\n",
                 head_html(columns));
  for (const FrontierPoint& point : points) text += row_html(point, columns);
  return text + "</table></div>";
}

std::string print_frontier_html(std::string_view title, std::span<const FrontierPoint> points,
                                std::string_view note) {
  const HtmlSection section{"frontier", "Frontier", counted(points.size(), "choice"),
                            frontier_html(points, note)};
  return html_page(title, "", {&section, 1});
}

}  // namespace quadrant::inline v0

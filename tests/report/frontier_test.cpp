#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>
#include <regex>
#include <string>
#include <vector>

#include "quadrant/report/tables.hpp"

using namespace quadrant;

namespace {

struct Circle {
  double x;
  double y;
  bool is_chosen;
};

std::vector<Circle> circles(const std::string& svg) {
  static const std::regex pattern(
      "<circle class=\"point( chosen)?\" cx=\"([-0-9.]+)\" cy=\"([-0-9.]+)\"");
  std::vector<Circle> found;
  for (std::sregex_iterator at(svg.begin(), svg.end(), pattern), end; at != end; ++at) {
    found.push_back({std::stod((*at)[2]), std::stod((*at)[3]), (*at)[1].matched});
  }
  return found;
}

}  // namespace

TEST_CASE("points stand in the order of their bytes, larger errors higher, inside the picture") {
  const std::vector<FrontierPoint> points{
      {3000, 6, -30, "c", false}, {1000, 2, -10, "a", false}, {2000, 4, -25, "b", true}};
  const std::vector<Circle> drawn = circles(print_frontier_svg(points));
  REQUIRE(drawn.size() == 3);
  CHECK(drawn[0].x < drawn[1].x);
  CHECK(drawn[1].x < drawn[2].x);
  CHECK(drawn[0].y < drawn[1].y);  // downwards
  CHECK(drawn[1].y < drawn[2].y);
  CHECK(drawn[1].is_chosen);
  CHECK(drawn[1].x - drawn[0].x == doctest::Approx(drawn[2].x - drawn[1].x).epsilon(0.01));
  for (const Circle& circle : drawn) {
    CHECK(circle.x > 0);
    CHECK(circle.x < 760);
    CHECK(circle.y > 0);
    CHECK(circle.y < 340);
  }
}

TEST_CASE("degenerate frontiers are pictures too") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(circles(print_frontier_svg({})).empty());
  const std::vector<FrontierPoint> one{{0, 0, 0, "", false}};
  CHECK(circles(print_frontier_svg(one)).size() == 1);
  const std::vector<FrontierPoint> exact{{10, 8, -infinity, "exact", false}};
  const std::string svg = print_frontier_svg(exact);
  CHECK(circles(svg).empty());
  CHECK(svg.find("no points") != svg.npos);
  CHECK(svg.find("nan") == svg.npos);
  const std::vector<FrontierPoint> extreme{
      {std::numeric_limits<std::uint64_t>::max(), 1e308, 1e300, "x", false},
      {1, 0, -1e300, "", false}};
  CHECK(circles(print_frontier_svg(extreme)).size() == 2);
}

TEST_CASE("many points: a bounded picture with the chosen one, and all in the table") {
  std::vector<FrontierPoint> points;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    points.push_back({i, 1, -static_cast<double>(i), "p" + std::to_string(i), i == 4999});
  }
  const std::string svg = print_frontier_svg(points);
  CHECK(circles(svg).size() == 2000);
  CHECK(circles(svg).back().is_chosen);
  CHECK(svg.find("3000 points are not drawn") != svg.npos);
  const std::string page = print_frontier_html("f", points);
  CHECK(page.find("p4321<") != page.npos);
}

TEST_CASE("the line passes by what is not on it") {
  const std::vector<FrontierPoint> points{
      {.bytes = 1000, .error_db = -10, .label = "a"},
      {.bytes = 1500, .error_db = -5, .label = "b", .is_chosen = true, .is_on_line = false},
      {.bytes = 2000, .error_db = -20, .label = "c"}};
  const std::string svg = print_frontier_svg(points);
  const std::vector<Circle> drawn = circles(svg);
  REQUIRE(drawn.size() == 3);
  static const std::regex line("<polyline class=\"line\" points=\"([^ ]+) ([^ ]+) \"");
  std::smatch ends;
  REQUIRE(std::regex_search(svg, ends, line));
  const auto place = [](const Circle& at) { return fmt::format("{:.1f},{:.1f}", at.x, at.y); };
  CHECK(ends[1] == place(drawn[0]));
  CHECK(ends[2] == place(drawn[2]));
}

TEST_CASE("forms and changes have columns where there are any, lines of the note are paragraphs") {
  const FrontierPoint bare{.bytes = 10, .error_db = -1, .label = "a"};
  const std::string without = print_frontier_html("f", std::vector{bare});
  CHECK(without.find("weights in each form") == without.npos);
  CHECK(without.find("changed from") == without.npos);
  FrontierPoint full = bare;
  full.forms = {{"int8", 1200}, {"<float>", 3}};
  full.change = "w: int8 -> float";
  full.error_db = -std::numeric_limits<double>::infinity();
  const std::string with = print_frontier_html("f", std::vector{full}, "one\n\n  two <\n");
  CHECK(with.find("<td>1,200 int8, 3 &lt;float&gt;</td>") != with.npos);
  CHECK(with.find("data-sort=\"-Infinity\">exact<") != with.npos);
  CHECK(with.find("&gt; float</td>") != with.npos);
  CHECK(with.find("<p>one</p>") != with.npos);
  CHECK(with.find("two &lt;</p>") != with.npos);
  CHECK(with.find("<p></p>") == with.npos);
}

TEST_CASE("labels are text") {
  const std::vector<FrontierPoint> points{{1, 1, 1, "</style><script>", true}};
  const std::string svg = print_frontier_svg(points);
  CHECK(svg.find("<script>") == svg.npos);
  CHECK(svg.find("&lt;script&gt;") != svg.npos);
}

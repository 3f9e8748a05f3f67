#include "report/graph_rows_html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "report/explanation_html.hpp"
#include "report/html_text.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::uint32_t lane_width = 14;
constexpr std::uint32_t row_height = 30;  // page.css has it too
constexpr std::uint32_t dot_y = row_height / 2;

struct RowStyle {
  std::string_view name;  // its class
  std::string_view meaning;
};
constexpr std::array<RowStyle, row_state_count> row_styles{{
    {"quantized", "made in a quantized form"},
    {"consumer", "gains from a quantized operand"},
    {"wanted", "could be, and is float"},
    {"untouched", "float throughout"},
}};

const RowStyle& style_of(RowState state) { return row_styles[static_cast<std::size_t>(state)]; }

std::uint32_t lane_x(std::uint32_t lane) { return lane * lane_width + lane_width / 2; }

// From a lane at the top of the row to the dot, or from the dot to a lane at its bottom.
void add_curve(std::string& svg, bool is_codes, std::uint32_t from_x, std::uint32_t from_y,
               std::uint32_t to_x, std::uint32_t to_y) {
  const std::uint32_t middle = (from_y + to_y) / 2;
  fmt::format_to(std::back_inserter(svg), R"(<path{} d="M{} {}C{} {} {} {} {} {}"/>)",
                 is_codes ? R"( class="codes")" : "", from_x, from_y, from_x, middle, to_x, middle,
                 to_x, to_y);
}

// A line down to the end of the row, however high that is.
void add_line(std::string& svg, bool is_codes, std::uint32_t x, std::uint32_t from_y) {
  fmt::format_to(std::back_inserter(svg), R"(<line{} x1="{}" x2="{}" y1="{}" y2="100%"/>)",
                 is_codes ? R"( class="codes")" : "", x, x, from_y);
}

// Squares, discs and rings, so that colour is not all that tells them apart.
std::string draw_dot(RowState state, std::uint32_t x) {
  if (state == RowState::quantized) {
    return fmt::format(R"(<rect class="dot" x="{}" y="{}" width="10" height="10"/>)", x - 5,
                       dot_y - 5);
  }
  return fmt::format(R"(<circle class="dot" cx="{}" cy="{}" r="{}"/>)", x, dot_y,
                     state == RowState::consumer ? 5 : 4);
}

std::string draw_lanes(const GraphRow& row, std::uint32_t lanes) {
  std::string svg =
      fmt::format(R"(<svg class="lanes" aria-hidden="true" width="{}">)", lanes * lane_width);
  const std::uint32_t dot_x = lane_x(row.dot);
  for (const RowLane& lane : row.above) {
    const std::uint32_t x = lane_x(lane.lane);
    if (lane.is_read) add_curve(svg, lane.is_codes, x, 0, dot_x, dot_y);
    if (!lane.ends) add_line(svg, lane.is_codes, x, 0);
  }
  for (const RowLane& lane : row.below) {
    const std::uint32_t x = lane_x(lane.lane);
    if (x == dot_x) {
      add_line(svg, lane.is_codes, x, dot_y);
    } else {
      add_curve(svg, lane.is_codes, dot_x, dot_y, x, row_height);
      add_line(svg, lane.is_codes, x, row_height);
    }
  }
  return svg + draw_dot(row.state, dot_x) + "</svg>";
}

// Without the path that it shares with the operation: names repeat those. The whole is in the
// title.
std::string short_name(std::string_view name, std::string_view operation) {
  constexpr std::size_t worth_it = 8;
  const auto shared =
      static_cast<std::size_t>(std::ranges::mismatch(name, operation).in1 - name.begin());
  const std::size_t end = name.substr(0, shared).find_last_of("/.");
  if (end == std::string_view::npos || end < worth_it) return html_name(name, 120);
  return "\u2026" + html_name(name.substr(end), 120);
}

std::string operand_html(const RowOperand& operand, std::string_view operation,
                         std::string_view unit) {
  const bool is_codes = !operand.form.empty();
  std::string gain;
  if (is_codes && operand.gain != Gain{}) {
    gain = fmt::format(" <b>{}{}</b>", operand.gain > Gain{} ? "+" : "",
                       grouped(operand.gain.amount()));
  }
  const auto form = [](const std::string& text) { return text.empty() ? "float" : text; };
  std::string how = "made as " + html_text(form(operand.form));
  if (operand.is_stored) how = "stored as " + html_text(form(operand.form));
  if (is_codes && operand.read.empty()) {
    how += ", read through a dequantize";
  } else if (operand.read != operand.form) {
    how += ", read as " + html_text(form(operand.read));
  }
  if (is_codes) {
    how += fmt::format(", gain {} {}", grouped(operand.gain.amount()), html_text(unit));
  }
  return fmt::format(R"(<span class="operand{}" title="operand {}, {}: {}">{}{}{}</span>)",
                     is_codes ? " codes" : "", operand.index, html_text(operand.name), how,
                     short_name(operand.name, operation),
                     is_codes ? " <i>" + html_text(operand.form) + "</i>" : "", gain);
}

std::string row_html(const GraphRow& row, std::uint32_t lanes, std::string_view unit) {
  // The lanes lie behind the whole row, open or not; this keeps their place free.
  const std::string space = fmt::format(
      R"(<svg class="space" aria-hidden="true" width="{}" height="1"></svg>)", lanes * lane_width);
  std::string text = fmt::format(
      R"(<details class="row {}"><summary>{}{}<span><span class="kind">{}</span> <span )"
      R"(class="name">{}</span>)",
      style_of(row.state).name, draw_lanes(row, lanes), space, html_text(row.kind, 80),
      html_name(row.name, 160));
  if (!row.form.empty()) {
    fmt::format_to(std::back_inserter(text), R"( <span class="form">{}</span>)",
                   html_text(row.form));
  }
  for (const RowOperand& operand : row.operands)
    text += ' ' + operand_html(operand, row.name, unit);
  if (row.undrawn != 0) {
    fmt::format_to(std::back_inserter(text), R"( <span class="note">{} not drawn</span>)",
                   row.undrawn);
  }
  fmt::format_to(std::back_inserter(text),
                 "</span></summary><div class=\"reasons\">{}<div>{}{}</div></div></details>\n",
                 space,
                 row.type.empty() ? "" : R"(<p class="type">)" + html_text(row.type) + "</p>",
                 explanation_html(row.why, unit));
  return text;
}

std::string legend_html(const GraphRows& graph, std::string_view unit) {
  std::string text = R"(<ul class="legend">)";
  for (std::size_t i = 0; i < row_state_count; ++i) {
    fmt::format_to(std::back_inserter(text),
                   R"(<li class="row {}"><svg width="{}" height="{}" aria-hidden="true">{})"
                   "</svg>{} <b>{}</b></li>",
                   row_styles[i].name, lane_width, row_height,
                   draw_dot(static_cast<RowState>(i), lane_x(0)), row_styles[i].meaning,
                   grouped(graph.counts[i]));
  }
  fmt::format_to(std::back_inserter(text),
                 "</ul>\n<p class=\"note\">One row for each operation, producers first; lines are "
                 "values, thick ones quantized. Behind the name: what it reads, with the form and "
                 "the gain of quantizing that ({}). Open a row for its reasons.</p>\n",
                 html_text(unit));
  return text;
}

}  // namespace

std::string graph_html(const GraphRows& graph, std::string_view unit) {
  std::string text = legend_html(graph, unit);
  text += R"(<p class="filter"><label>Filter <input type="search" data-filter="graph-rows" )"
          "placeholder=\"operation, name, form, reason\"></label> <output></output></p>\n"
          "<div class=\"graph\" id=\"graph-rows\">\n";
  for (const GraphRow& row : graph.rows) text += row_html(row, graph.lanes, unit);
  text += "</div>\n";
  if (graph.left_out != 0) {
    fmt::format_to(std::back_inserter(text),
                   R"(<p class="note">Left out: the last {} operations. <code>quadrant explain )"
                   "--all --json</code> has the reasons of all, <code>--dot</code> the whole "
                   "graph.</p>",
                   grouped(graph.left_out));
  }
  return text;
}

}  // namespace quadrant::inline v0

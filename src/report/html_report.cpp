#include "quadrant/report/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "report/activations_html.hpp"
#include "report/frontier_html.hpp"
#include "report/graph_rows_html.hpp"
#include "report/html_page.hpp"
#include "report/html_text.hpp"
#include "report/objective.hpp"
#include "report/sensitivity_html.hpp"
#include "report/terminal_text.hpp"
#include "report/weights_html.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

void add_tile(std::string& text, std::string_view title, std::string_view figure,
              std::string_view note) {
  fmt::format_to(std::back_inserter(text), "<div><dt>{}</dt><dd><b>{}</b> {}</dd></div>", title,
                 html_text(figure), html_name(note));
}

std::string shrinking(std::uint64_t before, std::uint64_t after) {
  if (after == 0) return "";
  return fmt::format(", {:.2f} times smaller",
                     static_cast<double>(before) / static_cast<double>(after));
}

void add_file_tile(std::string& text, const HtmlReport& report) {
  const std::optional<std::uint64_t> before = report.file_bytes_before;
  const std::optional<std::uint64_t> after = report.file_bytes_after;
  if (before && after) {
    add_tile(text, "file", format_bytes(*after),
             "of " + format_bytes(*before) + shrinking(*before, *after));
  } else if (before) {
    add_tile(text, "file", format_bytes(*before), "nothing was written");
  }
}

// The weight that lost most.
void add_worst_tile(std::string& text, const WeightReport& report) {
  const ReportedWeight* worst = nullptr;
  double lowest = std::numeric_limits<double>::infinity();
  for (const ReportedWeight& weight : report.weights) {
    const double sqnr = weight.sqnr_db.value_or(lowest);
    if (!std::isfinite(sqnr) || sqnr >= lowest) continue;
    worst = &weight;
    lowest = sqnr;
  }
  if (worst == nullptr) return;
  add_tile(text, "lowest SQNR of a weight", fmt::format("{:.1f} dB", lowest), worst->name);
}

std::string intro_html(const HtmlReport& report) {
  std::string text;
  for (const PlannedScheme& scheme : report.schemes) {
    fmt::format_to(std::back_inserter(text), R"(<p class="scheme"><b>{}</b> <code>{}</code></p>)",
                   html_text(scheme.name), html_text(scheme.options, 4000));
  }
  if (!report.sums.empty()) {
    fmt::format_to(std::back_inserter(text), R"(<p class="scheme">{}</p>)",
                   html_text(report.sums, 4000));
  }
  text += R"(<dl class="tiles">)";
  add_file_tile(text, report);
  const WeightReport& weights = report.weights;
  add_tile(text, "weights", format_bytes(weights.after.bytes),
           "of " + format_bytes(weights.before.bytes) +
               shrinking(weights.before.bytes, weights.after.bytes));
  add_tile(text, "bits per weight", fmt::format("{:.2f}", weights.after.bits_per_element()),
           fmt::format("of {:.2f}", weights.before.bits_per_element()));
  add_tile(text, "objective", grouped(report.objective.amount()),
           fmt::format("{}; gain model {}", report.gain_unit, report.gain_model));
  if (!report.bound.empty()) add_tile(text, "bound", report.bound, "");
  const std::uint64_t in_codes = weights.after.count - weights.in_float.count;
  add_tile(text, "weights in codes", grouped(in_codes),
           fmt::format("of {}; {} {}", grouped(weights.after.count), grouped(report.conversions),
                       plural(report.conversions, "conversion")));
  add_worst_tile(text, weights);
  return text + "</dl>";
}

}  // namespace

Expected<HtmlReport> gather_report(const ReportSubject& subject, const ReportLimits& limits) {
  HtmlReport report;
  report.model = subject.model;
  report.schemes = subject.analysis.plan.schemes;
  report.gain_model = subject.analysis.plan.gain_model;
  report.gain_unit = subject.gain_unit;
  report.objective = subject.analysis.plan.objective;
  if (const std::optional<Gain> bound = subject.analysis.selection.bound()) {
    report.bound = describe_bound(report.objective, *bound);
  }
  report.conversions = subject.analysis.plan.conversions.size();
  const std::vector<Explanation> why =
      explain_all(subject.graph, subject.registry, subject.analysis);
  QUADRANT_TRY(report.weights, report_weights({.graph = subject.graph,
                                               .analysis = subject.analysis,
                                               .why = why,
                                               .quantized = subject.quantized,
                                               .most = limits.weights,
                                               .sink = subject.sink}));
  if (subject.quantized != nullptr) {
    QUADRANT_TRY(report.activations, report_activations({.real = subject.graph,
                                                         .quantized = *subject.quantized,
                                                         .statistics = subject.statistics,
                                                         .most = limits.activations}));
  }
  report.graph = lay_out_rows(subject.graph, subject.analysis, why, limits.graph);
  return report;
}

std::string print_html(const HtmlReport& report) {
  std::vector<HtmlSection> sections;
  if (!report.frontier.empty()) {
    sections.push_back({"frontier", "Frontier", counted(report.frontier.size(), "choice"),
                        frontier_html(report.frontier, report.frontier_note)});
  }
  sections.push_back({"weights", "Weights", grouped(report.weights.after.count),
                      weights_html(report.weights, report.gain_unit)});
  if (!report.activations.activations.empty()) {
    sections.push_back(activations_section(report.activations));
  }
  if (!report.sensitivity.empty()) {
    sections.push_back({"sensitivity", "Sensitivity", counted(report.sensitivity.size(), "layer"),
                        sensitivity_html(report.sensitivity)});
  }
  std::uint64_t operations = report.graph.left_out + report.graph.rows.size();
  sections.push_back({"graph", "Graph",
                      fmt::format("{} {}", grouped(operations), plural(operations, "operation")),
                      graph_html(report.graph, report.gain_unit)});
  return html_page(report.model, intro_html(report), sections);
}

}  // namespace quadrant::inline v0

// Pages that a browser shows: of a quantization, and of a comparison.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// A quantization as one page that a browser shows: what was decided, why, and what it cost.
//
//   HtmlReport report = gather_report(...).value();
//   report.file_bytes_after = ...;  // what only the caller knows
//   write(print_html(report));

/// Everything that is on the page. A plain value; it refers to nothing.
struct HtmlReport {
  std::string model;  ///< what to call it
  std::vector<PlannedScheme> schemes;
  std::string gain_model;
  std::string gain_unit;
  Gain objective;
  std::uint64_t conversions = 0;
  WeightReport weights;
  ActivationReport activations;
  GraphRows graph;

  // What `gather_report` cannot know; left empty, it is not shown.
  std::string bound;  ///< how good the decision is at best: `within 0.8 % of the best possible`
  std::string sums;   ///< what `saturation_remark` says of the quantized model
  std::optional<std::uint64_t> file_bytes_before;
  std::optional<std::uint64_t> file_bytes_after;
  std::vector<LayerSensitivity> sensitivity;  ///< in the order to be shown
  std::vector<FrontierPoint> frontier;
  std::string frontier_note;  ///< lines of text before it
};

/// What to report on. Refers to its parts.
struct ReportSubject {
  const Graph& graph;  ///< as the phases read it
  const Registry& registry;
  const Analysis& analysis;                     ///< of `graph`
  const Graph* quantized = nullptr;             ///< what phase 4 made of it; null: a plan alone
  const StatisticsTable* statistics = nullptr;  ///< of the values of `graph`; null: none
  std::string model{};
  std::string gain_unit{};
  Sink* sink = nullptr;  ///< progress; may be null
};

/// How much goes on a page, so that a browser can show it whatever the model.
struct ReportLimits {
  std::size_t weights = 2000;
  std::size_t activations = 2000;
  GraphRowLimits graph{};
};

/// Reads weights as `report_weights` does; fails where that does, or `report_activations`. Linear
/// but for sorting.
[[nodiscard]] Expected<HtmlReport> gather_report(const ReportSubject& subject,
                                                 const ReportLimits& limits = {});

/// One HTML document with all that it needs inside. It makes no request, reads without scripts, and
/// whatever names a model brings are shown as text. What was left out is said.
[[nodiscard]] std::string print_html(const HtmlReport& report);

// A Comparison as a page that a browser shows, with what its quantized values lose.

/// One HTML document as of `print_html`. `title`: plain text, whatever it holds.
[[nodiscard]] std::string print_comparison_html(std::string_view title,
                                                const Comparison& comparison,
                                                const ActivationReport& activations);

}  // namespace quadrant::inline v0

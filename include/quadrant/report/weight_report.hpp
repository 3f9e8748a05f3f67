// What became of each weight of a model, with the contents read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/report/value_histogram.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// One constant of a float or a quantized type.
struct ReportedWeight {
  std::string name;
  std::vector<std::string> readers;  ///< `conv conv1`, the first few
  std::uint64_t reader_count = 0;
  std::string shape;    ///< `1280x112x1x1`
  std::string element;  ///< `f32`: of the real values
  std::string form;     ///< the constraint that was selected; empty: float
  std::uint64_t elements = 0;
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;  ///< scales and zero points included
  std::optional<double> sqnr_db;  ///< +infinity: exact; none: in float, or not read
  Explanation why;
  std::optional<ValueHistogram> histogram;  ///< none: not read
};

struct WeightReport {
  std::vector<ReportedWeight> weights;  ///< largest first, then by name
  WeightTotals left_out;                ///< the smallest, where there were too many
  WeightTotals before;                  ///< of all
  WeightTotals after;
  WeightTotals in_float;  ///< of `after`: what stays float
};

/// What `report_weights` reports on. Refers to its parts.
struct WeightReportSubject {
  const Graph& graph;                ///< as the phases read it
  const Analysis& analysis;          ///< of `graph`
  std::span<const Explanation> why;  ///< `explain_all` of it
  const Graph* quantized = nullptr;  ///< what phase 4 made of `graph`; null: a plan alone
  std::size_t most = 2000;           ///< weights to report on
  Sink* sink = nullptr;              ///< progress; may be null
};

/// With `quantized`, reads each weight that is reported on, one at a time: memory for a few copies
/// of the largest. Without, no contents are read, and there are neither histograms nor SQNR; nor is
/// there SQNR of codes that a scheme reads as something else than their type says, as indices into
/// a table of its own, say. Fails where reading does.
[[nodiscard]] Expected<WeightReport> report_weights(const WeightReportSubject& subject);

}  // namespace quadrant::inline v0

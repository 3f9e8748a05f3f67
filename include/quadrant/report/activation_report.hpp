// What becomes of the values that a model computes where they are codes: ranges, and what rounding
// and clipping cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/report/value_histogram.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// A value that is rounded to codes while the model runs.
struct ReportedActivation {
  std::string name;   ///< of its real values
  std::string maker;  ///< `conv conv1`: what computes it in the float model
  std::string codes;  ///< `i8`

  /// Of the codes; empty where not one scale is for all.
  struct Coded {
    RealInterval range;
    double step = 0;
    std::int64_t zero_point = 0;
  };
  std::optional<Coded> coded;

  // On samples; empty, or 0, where nothing was observed. Where a Relu or a Clip alone reads a
  // value, what it lets through counts.
  std::optional<RealInterval> seen;
  std::uint64_t count = 0;       ///< of finite values
  std::uint64_t non_finite = 0;  ///< NaN and infinities

  /// Of the values seen; 0 to 1.
  struct Shares {
    double clipped = 0;  ///< so far outside of the codes' range that they lose over half a step
    double at_low = 0;   ///< with the code at the low end of that range
    double at_high = 0;
  };
  // Where codes have one range, and more than the ends was kept of what was observed.
  std::optional<Shares> shares;
  std::optional<double> sqnr_db;  ///< of these codes alone, all in front of them being exact
  std::optional<ValueHistogram> histogram;

  // Where the two models were compared, with all errors that there are.
  std::optional<double> sqnr_db_before;  ///< of the worst value that its operation reads
  std::optional<double> sqnr_db_behind;  ///< of the value itself, as codes
};

struct ActivationReport {
  std::vector<ReportedActivation> activations;  ///< lowest `sqnr_db` first; then those without
  std::uint64_t left_out = 0;  ///< those with the highest, where there were too many
  std::uint64_t samples = 0;   ///< on which values were observed
};

/// What `report_activations` reports on. Refers to its parts.
struct ActivationReportSubject {
  const Graph& real;                            ///< the float model, or what phases read
  const Graph& quantized;                       ///< what became of it
  const StatisticsTable* statistics = nullptr;  ///< of `real`'s values; null: none
  const Comparison* comparison = nullptr;       ///< of the two, with inner values; null: none
  std::size_t most = 2000;                      ///< activations to report on
};

/// Runs nothing: all that it says is in the types of `quantized`, and in what was observed. Memory:
/// a copy of that graph, without its constants, and a kilobyte an activation. Fails where reading
/// scales does.
[[nodiscard]] Expected<ActivationReport> report_activations(const ActivationReportSubject& subject);

}  // namespace quadrant::inline v0

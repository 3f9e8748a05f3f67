// What a run of quantize did to a model, to its weights and to its activations, in numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// How the values of a weight or an activation are spread, in float and as they come back from
// codes.

/// From `low` to `high`, ends included.
struct RealInterval {
  double low = 0;
  double high = 0;
};

/// Counts in bins of equal width over [low, high]; the last bin holds `high` too. What is not
/// finite is counted apart.
struct ValueHistogram {
  static constexpr std::size_t bin_count = 64;
  using Bins = std::array<std::uint64_t, bin_count>;

  double low = 0;  ///< least finite value, before or after
  double high = 0;
  Bins before{};
  std::optional<Bins> after{};   ///< none where they stay in float
  std::uint64_t non_finite = 0;  ///< of `before`

  /// Of a value in [low, high].
  [[nodiscard]] std::size_t bin_of(double value) const noexcept;
};

/// Both over one range, so that they can be compared bin by bin. Linear.
[[nodiscard]] ValueHistogram count_values(std::span<const float> before,
                                          std::optional<std::span<const float>> after);

// Which operations of a model compute on codes, and which in float, and why.

/// One operation that reads or makes floats, or codes of them.
struct Computation {
  std::string name;
  std::string kind;
  bool on_codes = false;
  std::string reason;  ///< one sentence
};

struct ComputationReport {
  std::vector<Computation> operations;  ///< producers first
  std::uint64_t on_codes = 0;
  std::uint64_t requantized = 0;  ///< codes that become other codes between two operations
};

/// Whether the report has a row for `node`: not `quantize`, `dequantize`, and what only holds or
/// hands on values.
[[nodiscard]] bool is_computation(NodeRef node);

/// After phase 3: what the decision makes of each computation of `graph`, which was analyzed.
/// Linear.
[[nodiscard]] ComputationReport report_computation(const GraphView& graph, const Registry& registry,
                                                   const Analysis& analysis);

/// A row for each kind of operation: how many compute on codes, and in float.
[[nodiscard]] Table table_of_kinds(const ComputationReport& report);
/// A row for each of the first `most` operations in float, with the reason.
[[nodiscard]] Table table_of_reals(const ComputationReport& report, std::size_t most);

// What a run of quantize did to a model, in numbers.
//
//   Summary summary = summarize(graph, registry, *result);
//   summary.file_bytes_before = ...;  // what only the caller knows
//   fputs(to_string(summary).c_str(), stdout);

/// Some weights, counted. Weights are constants of a float or a quantized type.
struct WeightTotals {
  std::uint64_t count = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;

  /// 0 without any.
  [[nodiscard]] double bits_per_element() const noexcept;
  friend bool operator==(const WeightTotals&, const WeightTotals&) = default;
};

/// A float weight that the run left as it was.
struct WeightLeftInFloat {
  std::string name;
  TensorType type;
  std::uint64_t bytes = 0;
  bool eligible = false;  ///< reaches the weight operand of a matmul, gemm or conv
  std::string reason;
};

struct OperationCount {
  std::string kind;
  std::uint64_t before = 0;
  std::uint64_t after = 0;

  friend bool operator==(const OperationCount&, const OperationCount&) = default;
};

/// A scheme of the run.
struct SchemeUse {
  std::string name;
  std::string options;
  std::uint64_t weights = 0;  ///< that it quantized

  friend bool operator==(const SchemeUse&, const SchemeUse&) = default;
};

struct Summary {
  std::string scheme;   ///< all of them, by name
  std::string options;  ///< and what each was asked for
  std::vector<SchemeUse> schemes;
  std::string gain_model;
  std::string gain_unit;  ///< empty for a gain model that the library does not know
  Gain objective;
  std::optional<Gain> bound;  ///< no decision is worth more; empty: the policy does not know

  WeightTotals weights_before;
  /// Codes, scales and zero points count as bytes; elements are codes.
  WeightTotals weights_after;
  /// Those of them that are quantized.
  WeightTotals quantized_after;
  /// Those that the model came with quantized, which stay as they are.
  WeightTotals given;
  /// Float weights that reach the weight operand of a matmul (both), gemm (A and B) or conv (W),
  /// directly or through values that the scheme could quantize, whatever the user excluded.
  WeightTotals eligible;
  /// Those of them that the run quantized, with the bytes that they had in float.
  WeightTotals eligible_quantized;

  std::vector<OperationCount> operations;        ///< by name; constants are none
  std::vector<WeightLeftInFloat> left_in_float;  ///< largest first, then by name

  // What `summarize` cannot know; left empty, it is not shown.
  std::optional<std::uint64_t> file_bytes_before;  ///< of the model and its data files
  std::optional<std::uint64_t> file_bytes_after;
  /// What weights take in the file, where that has other types than the graph.
  std::optional<std::uint64_t> tensor_bytes_after;
  std::optional<double> seconds;
};

/// Compares `before`, the graph that was given to `quantize`, with what came out. Reads metadata
/// only. Linear but for sorting.
[[nodiscard]] Summary summarize(const Graph& before, const Registry& registry,
                                const QuantizeResult& result);

/// Tables for a terminal. Of the weights that were left in float, the ten largest.
[[nodiscard]] std::string to_string(const Summary& summary);
/// One JSON object with everything.
[[nodiscard]] std::string print_json(const Summary& summary);

// What became of each weight of a model, with the contents read.

/// One constant of a float or a quantized type.
struct ReportedWeight {
  std::string name;
  std::vector<std::string> readers;  ///< `conv conv1`, the first few
  std::uint64_t reader_count = 0;
  std::string shape;    ///< `1280x112x1x1`
  std::string element;  ///< `f32`: of the float values
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

// Quantized activations of a model: their ranges, and the errors of rounding and clipping.

/// A value that is rounded to codes while the model runs.
struct ReportedActivation {
  std::string name;   ///< of its float values
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

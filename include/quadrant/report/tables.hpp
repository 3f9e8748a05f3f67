// Results as text and pictures for people: tables, rows of a graph, frontiers, DOT.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/targets/placement.hpp"
#include "quadrant/targets/runtime_profile.hpp"

namespace quadrant::inline v0 {

// Text in columns that line up.
//
//   Table table({{"weight"}, {"bytes", Table::Align::right}});
//   table.add({"dense.weight", "1.02 kB"});
//   table.print()  ->  "  weight          bytes\n  dense.weight  1.02 kB\n"

class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;  ///< all empty: no line of titles
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// A row: at most one cell for each column, those that are missing stay empty. Cells are made
  /// `printable`.
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool is_empty() const noexcept { return rows_.empty(); }

  /// The titles and the rows, each line after `indent` spaces and without spaces at its end.
  [[nodiscard]] std::string print(std::size_t indent = 2) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// A Comparison for people.

/// Tables: outputs, layers (the worst first, all of them), classes, detections.
[[nodiscard]] std::string to_string(const Comparison& comparison);

// A sensitivity study for people.

/// A table of layers in the given order, with the output that suffers most.
[[nodiscard]] std::string to_string(std::span<const LayerSensitivity> layers);

// Where a model can run, for people.

/// Tables: how parameters are stored, the verdict and the cost for each runtime, subnets; then what
/// the figures leave out.
[[nodiscard]] std::string to_string(const Placement& placement);

/// A row for each runtime, the advice, and its reasons.
[[nodiscard]] std::string to_string(const FileChoice& choice);

/// One sentence, or two: `the file's parameters carry the noise of quantization; ...`.
[[nodiscard]] std::string to_string(const AccuracyNote& note);

// Where sums of two products can leave 16 bits, for people.

/// One sentence: of how many products the sums can leave 16 bits, in which runtime, or what keeping
/// them there costs. Empty without such products. `graph` is the one that they were found in.
[[nodiscard]] std::string saturation_remark(const GraphView& graph,
                                            std::span<const PairedProduct> products);

/// A table of the runtimes, and one of the products that can saturate, those with the most such
/// pairs first. Empty without such products.
[[nodiscard]] std::string to_string(const GraphView& graph,
                                    std::span<const PairedProduct> products);

/// Of a product, or of a constant that products read: the runtimes whose integer kernels add its
/// products two by two in 16 bits, once all is codes of 8 bits. Empty: none.
[[nodiscard]] std::string pairing_note(const GraphView& graph, NodeId node);

// Size against accuracy: choices that no other beats in both, as a picture.

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

// A graph as a list: one row for each operation, producers first, with its values as lanes at the
// side, as viewers of a version history draw commits.

/// What a row is coloured by.
enum class RowState : std::uint8_t {
  quantized,  ///< its result is made in a quantized form, or came so
  consumer,   ///< it gains from a quantized operand, and got one
  wanted,     ///< it could be quantized, or gain, and is float
  untouched,  ///< float throughout
};
inline constexpr std::size_t row_state_count = 4;

/// A lane that comes into a row from above.
struct RowLane {
  std::uint32_t lane = 0;
  bool is_codes = false;  ///< the value is made in a quantized form
  bool is_read = false;   ///< by this row
  bool ends = false;      ///< no row below reads it
};

/// What a row reads that is worth a word: quantized values, and weights whether quantized or not.
struct RowOperand {
  std::uint32_t index = 0;
  std::string name;
  std::string form;        ///< that the value is made in; empty: float
  std::string read;        ///< that it is read in; empty: float
  Gain gain;               ///< of quantizing the value, as it was selected
  bool is_stored = false;  ///< a constant
};

struct GraphRow {
  NodeId node;
  std::string kind;
  std::string name;
  std::string type;  ///< of result 0
  std::string form;  ///< that result 0 was selected in; empty: none
  RowState state = RowState::untouched;
  std::uint32_t dot = 0;  ///< the lane in which the operation stands
  std::vector<RowLane> above;
  std::vector<RowLane> below;  ///< that begin here: one for each result that is read
  std::vector<RowOperand> operands;
  std::uint32_t undrawn = 0;  ///< operands and results for which no lane was free
  Explanation why;
};

struct GraphRows {
  std::vector<GraphRow> rows;  ///< all operations, inputs and outputs, but those left out
  std::uint64_t left_out = 0;  ///< the last ones, where there were too many
  std::uint32_t lanes = 0;     ///< in use at once
  /// Over all rows, those left out too, by RowState.
  std::vector<std::uint64_t> counts;
};

struct GraphRowLimits {
  std::size_t rows = 5000;
  std::size_t lanes = 12;
};

/// Constants get no rows: they stand with their readers. `why` is `explain_all` of the graph.
/// Linear in nodes and edges, for a fixed number of lanes.
[[nodiscard]] GraphRows lay_out_rows(const GraphView& graph, const Analysis& analysis,
                                     std::span<const Explanation> why,
                                     const GraphRowLimits& limits = {});

// A decision as a picture: Graphviz's DOT language.

/// The graph with its nodes coloured by state: what was selected, which Consumers got what they
/// asked for, what stays float. Bold edges carry quantized values, and say what quantizing those
/// gains; the form that each was selected in stands in its node. Constants that play no part
/// (biases, shapes) are left out.
///
/// `dot -Tsvg plan.dot -o plan.svg` draws it.
[[nodiscard]] std::string print_dot(const GraphView& graph, const Analysis& analysis);

// Explanations for programs: engine/explain/explain.hpp has them as text.

/// A JSON array with one object for each explanation, in their order.
[[nodiscard]] std::string print_json(std::span<const Explanation> explanations);

}  // namespace quadrant::inline v0

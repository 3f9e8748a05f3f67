// A graph as a list: one row for each operation, producers first, with its values as lanes at the
// side, as viewers of a version history draw commits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quadrant/engine/explain/explain.hpp"

namespace quadrant::inline v0 {

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
  bool ends = false;      ///< nobody below reads it
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

/// Constants get no rows: they stand with those who read them. `why` is `explain_all` of the graph.
/// Linear in nodes and edges, for a fixed number of lanes.
[[nodiscard]] GraphRows lay_out_rows(const GraphView& graph, const Analysis& analysis,
                                     std::span<const Explanation> why,
                                     const GraphRowLimits& limits = {});

}  // namespace quadrant::inline v0

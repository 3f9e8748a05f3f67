#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "quadrant/ir/ops.hpp"
#include "quadrant/report/tables.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::uint32_t no_lane = std::numeric_limits<std::uint32_t>::max();

class RowPlanner {
 public:
  RowPlanner(const GraphView& graph, const Analysis& analysis, std::span<const Explanation> why,
             const GraphRowLimits& limits)
      : graph_(graph), analysis_(analysis), why_(why), limits_(limits) {}

  GraphRows run() {
    result_.counts.assign(row_state_count, 0);
    for (std::size_t i = 0; i < analysis_.order.size(); ++i) {
      const NodeId node = analysis_.order[i];
      if (is_constant(node)) continue;
      const RowState state = state_of(node);
      ++result_.counts[static_cast<std::size_t>(state)];
      if (result_.rows.size() >= limits_.rows) {
        ++result_.left_out;
        continue;
      }
      GraphRow row = describe(node, state, why_[i]);
      place(node, row);
      result_.rows.push_back(std::move(row));
    }
    return std::move(result_);
  }

 private:
  struct Lane {
    Value value;  // absent: the lane is free
    std::uint32_t readers_left = 0;
  };

  [[nodiscard]] bool is_constant(NodeId node) const {
    return graph_.kind(node) == ops::Constant::kind;
  }

  [[nodiscard]] std::string print(ConstraintId form) const {
    return form == float_form ? "" : analysis_.requests.constraints().print(form);
  }

  [[nodiscard]] RowState state_of(NodeId node) const {
    for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
      const Value value{node, i};
      if (analysis_.selection.produced(value) != float_form) return RowState::quantized;
      if (analysis_.eligibility.furthest_state(value) == State::Quantized) {
        return RowState::quantized;
      }
    }
    const auto benefits = analysis_.requests.benefits(node);
    const bool gained = std::ranges::any_of(benefits, [this](const Benefit& benefit) {
      return analysis_.selection.is_realized(analysis_.requests, benefit);
    });
    if (gained) return RowState::consumer;
    if (graph_.result_count(node) == 0) return RowState::untouched;
    const State state = analysis_.eligibility.furthest_state({node, 0});
    return state == State::Unquantized ? RowState::untouched : RowState::wanted;
  }

  [[nodiscard]] GraphRow describe(NodeId node, RowState state, const Explanation& why) const {
    GraphRow row;
    row.node = node;
    row.kind = graph_.kind(node);
    row.name = graph_.name(node);
    row.state = state;
    row.why = why;
    if (graph_.result_count(node) > 0) {
      if (row.name.empty()) row.name = graph_.value_name({node, 0});
      row.type = to_string(graph_.type({node, 0}).expressed());
      row.form = print(analysis_.selection.produced({node, 0}));
    }
    const auto operands = graph_.operands(node);
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
      const Value operand = operands[i];
      if (operand.is_absent()) continue;
      const ConstraintId made = analysis_.selection.produced(operand);
      const ConstraintId read = analysis_.selection.read(node, i);
      const Constant* constant = graph_.constant(operand.node);
      const bool is_weight = constant != nullptr && is_float(graph_.type(operand).element) &&
                             constant->element_count() > 1;
      if (!is_weight && made == float_form && read == float_form) continue;
      row.operands.push_back({i, std::string(graph_.value_name(operand)), print(made), print(read),
                              analysis_.selection[operand].gain, constant != nullptr});
    }
    return row;
  }

  // Uses of a value by operands, each counted.
  [[nodiscard]] std::vector<std::uint32_t> readers_of(NodeId node) const {
    std::vector<std::uint32_t> readers(graph_.result_count(node), 0);
    for (const Use& use : graph_.uses(node)) ++readers[use.result];
    return readers;
  }

  void place(NodeId node, GraphRow& row) {
    std::vector<std::uint32_t> reads(lanes_.size(), 0);
    for (const Value operand : graph_.operands(node)) {
      if (operand.is_absent() || is_constant(operand.node)) continue;
      const auto found = lane_of_.find(operand);
      if (found == lane_of_.end()) {
        ++row.undrawn;
      } else {
        ++reads[found->second];
      }
    }
    row.dot = no_lane;
    for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      if (lane.value.is_absent()) continue;
      lane.readers_left -= reads[i];
      const bool ends = lane.readers_left == 0;
      const bool is_codes = analysis_.selection.produced(lane.value) != float_form;
      row.above.push_back({i, is_codes, reads[i] != 0, ends});
      if (!ends) continue;
      if (row.dot == no_lane) row.dot = i;
      lane_of_.erase(lane.value);
      lane = {};
    }
    const std::vector<std::uint32_t> readers = readers_of(node);
    for (std::uint32_t i = 0; i < readers.size(); ++i) {
      if (readers[i] == 0) continue;
      const std::uint32_t lane = free_lane();
      if (lane == no_lane) {
        ++row.undrawn;
        continue;
      }
      const Value value{node, i};
      lanes_[lane] = {value, readers[i]};
      lane_of_[value] = lane;
      row.below.push_back({lane, analysis_.selection.produced(value) != float_form, false, false});
    }
    if (!row.below.empty()) {
      row.dot = row.below.front().lane;
    } else if (row.dot == no_lane) {
      row.dot = unused_lane();
    }
    result_.lanes = std::max(result_.lanes, row.dot + 1);
    for (const RowLane& lane : row.above) result_.lanes = std::max(result_.lanes, lane.lane + 1);
  }

  // The leftmost that is free, made anew where there is none; no_lane where there are too many.
  std::uint32_t free_lane() {
    const std::uint32_t lane = unused_lane();
    if (lane < lanes_.size()) return lane;
    if (lanes_.size() >= limits_.lanes) return no_lane;
    lanes_.emplace_back();
    return lane;
  }

  [[nodiscard]] std::uint32_t unused_lane() const {
    const auto found =
        std::ranges::find_if(lanes_, [](const Lane& lane) { return lane.value.is_absent(); });
    return static_cast<std::uint32_t>(found - lanes_.begin());
  }

  const GraphView& graph_;
  const Analysis& analysis_;
  std::span<const Explanation> why_;
  const GraphRowLimits& limits_;
  GraphRows result_;
  std::vector<Lane> lanes_;
  std::unordered_map<Value, std::uint32_t> lane_of_;
};

}  // namespace

GraphRows lay_out_rows(const GraphView& graph, const Analysis& analysis,
                       std::span<const Explanation> why, const GraphRowLimits& limits) {
  return RowPlanner(graph, analysis, why, limits).run();
}

}  // namespace quadrant::inline v0

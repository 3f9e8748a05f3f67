#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "methods/weight_only/build.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/report/tables.hpp"

using namespace quadrant;

namespace {

struct Rows {
  Graph graph;
  Registry registry = *weight_only_registry();
  Analysis analysis;
  GraphRows rows;

  explicit Rows(Graph made, const GraphRowLimits& limits = {})
      : graph(std::move(made)), analysis(*analyze(graph, registry)) {
    rows = lay_out_rows(graph, analysis, explain_all(graph, registry, analysis), limits);
  }
};

Graph chain(int length) {
  Graph graph;
  Value value = build::input(graph, "x", {2, 2});
  for (int i = 0; i < length; ++i) {
    value = build::node(graph, "onnx.Relu", "r" + std::to_string(i), {value});
  }
  graph.add_output("y", value);
  return graph;
}

// Each node reads one or two of those before it.
Graph random_graph(unsigned seed, int nodes) {
  std::mt19937 random(seed);
  Graph graph;
  std::vector<Value> values{build::input(graph, "x", {2, 2})};
  for (int i = 0; i < nodes; ++i) {
    std::vector<Value> operands;
    for (unsigned k = 0; k <= random() % 2; ++k)
      operands.push_back(values[random() % values.size()]);
    values.push_back(build::node(graph, "onnx.Sum", "n" + std::to_string(i), operands));
  }
  for (const Value value : values) {
    if (graph.uses(value.node).empty()) graph.add_output("out", value);
  }
  return graph;
}

// Follows the lanes of the picture from row to row, and gathers which rows each row is joined to.
std::set<std::pair<std::size_t, std::size_t>> joined(const GraphRows& rows) {
  std::map<std::uint32_t, std::size_t> begun_by;  // lane, and the row that it began in
  std::set<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const GraphRow& row = rows.rows[i];
    CHECK(row.above.size() == begun_by.size());
    for (const RowLane& lane : row.above) {
      REQUIRE(begun_by.contains(lane.lane));
      if (lane.is_read) edges.emplace(begun_by[lane.lane], i);
      if (lane.ends) begun_by.erase(lane.lane);
    }
    for (const RowLane& lane : row.below) {
      CHECK_FALSE(begun_by.contains(lane.lane));
      begun_by[lane.lane] = i;
    }
    CHECK(row.dot < rows.lanes);
  }
  CHECK(begun_by.empty());
  return edges;
}

}  // namespace

TEST_CASE("the lanes join exactly the operations that the graph joins") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Rows made(random_graph(seed, 20), {.rows = 1000, .lanes = 1000});
    std::map<NodeId, std::size_t> row_of;
    for (std::size_t i = 0; i < made.rows.rows.size(); ++i) row_of[made.rows.rows[i].node] = i;
    std::set<std::pair<std::size_t, std::size_t>> edges;
    for (const auto& [node, row] : row_of) {
      for (const Value operand : made.graph.operands(node)) {
        edges.emplace(row_of.at(operand.node), row);
      }
    }
    CHECK(joined(made.rows) == edges);
    CHECK(
        std::ranges::all_of(made.rows.rows, [](const GraphRow& row) { return row.undrawn == 0; }));
  }
}

TEST_CASE("too many lanes: some are not drawn, and each row says how many") {
  const Rows whole(random_graph(7, 60), {.rows = 1000, .lanes = 1000});
  const Rows bounded(random_graph(7, 60), {.rows = 1000, .lanes = 3});
  REQUIRE(whole.rows.lanes > 4);
  CHECK(bounded.rows.lanes <= 4);  // a dot may stand beside them
  CHECK(bounded.rows.rows.size() == whole.rows.rows.size());
  CHECK(
      std::ranges::any_of(bounded.rows.rows, [](const GraphRow& row) { return row.undrawn > 0; }));
  joined(bounded.rows);
}

TEST_CASE("too many rows: the last are left out, and counted") {
  const Rows made(chain(98), {.rows = 10, .lanes = 4});
  CHECK(made.rows.rows.size() == 10);
  CHECK(made.rows.left_out == 90);
  CHECK(made.rows.counts[static_cast<std::size_t>(RowState::untouched)] == 100);
}

TEST_CASE("rows say what is quantized, and what is read") {
  Graph graph;
  const Value x = build::input(graph, "x", {2, 20});
  const Value w = build::weight(graph, "w", {30, 20});
  const Value bias = build::weight(graph, "bias", {30});
  const Value t = build::node(graph, ops::Transpose::kind, "t", {w});
  const Value m = build::node(graph, ops::MatMul::kind, "m", {x, t});
  graph.add_output("y", build::node(graph, "onnx.Add", "sum", {m, bias}));
  REQUIRE(infer_shapes(graph).has_value());
  const Rows made(std::move(graph));
  REQUIRE(made.rows.rows.size() == 5);  // neither w nor bias
  std::map<std::string, const GraphRow*> rows;
  for (const GraphRow& row : made.rows.rows) rows[row.name] = &row;
  CHECK(rows.at("t")->state == RowState::quantized);
  CHECK(rows.at("t")->form == "axis=1");
  REQUIRE(rows.at("t")->operands.size() == 1);
  CHECK(rows.at("t")->operands[0].name == "w");
  CHECK(rows.at("t")->operands[0].form == "axis=0");
  CHECK(rows.at("t")->operands[0].is_stored);
  CHECK(rows.at("m")->state == RowState::consumer);
  CHECK(rows.at("m")->operands[0].form == "axis=1");
  CHECK(rows.at("m")->operands[0].read.empty());
  CHECK(rows.at("sum")->state == RowState::untouched);
  REQUIRE(rows.at("sum")->operands.size() == 1);
  CHECK(rows.at("sum")->operands[0].form.empty());
}

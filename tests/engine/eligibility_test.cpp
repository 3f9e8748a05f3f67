#include "quadrant/engine/phases/eligibility.hpp"

#include <doctest/doctest.h>

#include "engine/toy_scheme.hpp"
#include "quadrant/ir/graph_view.hpp"

using namespace quadrant;

namespace {

Eligibility detect(const Graph& graph, const Vetoes& vetoes = {}) {
  return detect_eligibility(graph, *topological_order(graph), toy::registry(), vetoes);
}

}  // namespace

TEST_CASE("possibility travels forward; unknown operations and inputs end it") {
  Graph graph;
  const Value input = graph.add_input("x", {ElementType::float32, Shape{2, 3}, nullptr});
  const Value root = toy::add(graph, "root", "w", {});
  const Value pass = toy::add(graph, "pass", "p", {root});
  const Value foreign = toy::add(graph, "foreign", "f", {pass});
  const Value after = toy::add(graph, "pass", "q", {foreign});
  const Value use = toy::add(graph, "use", "u", {input, pass});
  const Eligibility found = detect(graph);
  CHECK(found.state(input) == State::Unquantized);
  CHECK(found.state(root) == State::Quantizable);
  CHECK(found.state(pass) == State::Quantizable);
  CHECK(found.state(foreign) == State::Unquantized);
  CHECK(found.cause(foreign.node) == EligibilityCause::no_method);
  CHECK(found.state(after) == State::Unquantized);
  CHECK(found.cause(after.node) == EligibilityCause::pattern);
  CHECK(found.state(use) == State::Consumer);
}

TEST_CASE("several requires_parents are alternatives") {
  Graph graph;
  const Value input = graph.add_input("x", {ElementType::float32, Shape{2, 3}, nullptr});
  const Value root = toy::add(graph, "root", "w", {});
  const Value left = toy::add(graph, "either", "l", {root, input});
  const Value right = toy::add(graph, "either", "r", {input, root});
  const Value none = toy::add(graph, "either", "n", {input, input});
  const Eligibility found = detect(graph);
  CHECK(found.state(left) == State::Quantizable);
  CHECK(found.state(right) == State::Quantizable);
  CHECK(found.state(none) == State::Unquantized);
}

TEST_CASE("AnyConsumer matches a Consumer's output alone") {
  Graph graph;
  const Value input = graph.add_input("x", {ElementType::float32, Shape{2, 3}, nullptr});
  const Value root = toy::add(graph, "root", "w", {});
  const Value use = toy::add(graph, "use", "u", {root});
  const Value after_use = toy::add(graph, "after_consumer", "a", {use, root});
  const Value after_input = toy::add(graph, "after_consumer", "b", {input, root});
  const Eligibility found = detect(graph);
  CHECK(found.state(after_use) == State::Consumer);
  CHECK(found.state(after_input) == State::Unquantized);
}

TEST_CASE("a vetoed node takes no part, and neither does what hangs on it") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  const Value pass = toy::add(graph, "pass", "p", {root});
  const Eligibility found = detect(graph, {{root.node, "because"}});
  CHECK(found.cause(root.node) == EligibilityCause::vetoed);
  CHECK(found.state(root) == State::Unquantized);
  CHECK(found.state(pass) == State::Unquantized);
}

TEST_CASE("a value that comes quantized is Quantized") {
  Graph graph;
  const Value codes = graph.add_input("q", {ElementType::int8, Shape{2, 3}, toy::quantized_type()});
  const Eligibility found = detect(graph);
  CHECK(found.state(codes) == State::Quantized);
  CHECK(found.cause(codes.node) == EligibilityCause::already_quantized);
}

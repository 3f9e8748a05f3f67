#include <doctest/doctest.h>

#include "engine/toy_scheme.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph_view.hpp"

using namespace quadrant;

TEST_CASE("including a consumer keeps the roots that serve it, and stops at floats") {
  Graph graph;
  const Value w = toy::add(graph, "root", "w", {});
  const Value v = toy::add(graph, "root", "v", {});
  const Value unrelated = toy::add(graph, "root", "z", {});
  const Value pass = toy::add(graph, "pass", "p", {w});
  const Value first = toy::add(graph, "use", "first", {v});
  const Value second = toy::add(graph, "use", "second", {first, pass});
  toy::add(graph, "use", "third", {unrelated});
  const auto order = *topological_order(graph);
  const Registry registry = toy::registry();
  const Eligibility eligibility = detect_eligibility(graph, order, registry);

  const Vetoes by_consumer = restrict_to(graph, order, eligibility, {second.node}, "outside");
  CHECK_FALSE(by_consumer.contains(w.node));
  CHECK(by_consumer.at(v.node) == "outside");  // behind a Consumer: another weight's affair
  CHECK(by_consumer.contains(unrelated.node));

  CHECK(by_consumer.contains(first.node));  // what is included is all that takes part
  CHECK_FALSE(by_consumer.contains(second.node));
  CHECK_FALSE(by_consumer.contains(pass.node));

  const Vetoes by_root = restrict_to(graph, order, eligibility, {v.node}, "outside");
  CHECK_FALSE(by_root.contains(v.node));
  CHECK_FALSE(by_root.contains(first.node));  // who reads it
  CHECK(by_root.contains(w.node));
}

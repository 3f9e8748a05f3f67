#include "quadrant/engine/phases/propagation.hpp"

#include <doctest/doctest.h>

#include <string>

#include "engine/toy_scheme.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

struct Propagated {
  std::vector<NodeId> order;
  Registry registry;
  Eligibility eligibility;
  RequestGraph requests;

  [[nodiscard]] RequestId find(Value value, int colour) {
    const toy::Colour wanted{colour};
    return requests.find(value, requests.constraints().intern(0, &wanted));
  }
};

Propagated propagate(const Graph& graph,
                     std::shared_ptr<toy::Calls> calls = std::make_shared<toy::Calls>()) {
  const UnitGain gains;
  auto order = *topological_order(graph);
  Registry registry = toy::registry(std::move(calls));
  Eligibility eligibility = detect_eligibility(graph, order, registry);
  RequestGraph requests = propagate_gains(graph, order, registry, eligibility, gains);
  return {std::move(order), std::move(registry), std::move(eligibility), std::move(requests)};
}

}  // namespace

TEST_CASE("requests are translated on their way up, and equal ones add their gains") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  const Value shift = toy::add(graph, "shift", "s", {root});
  toy::add(graph, "use", "u0", {shift});                                // colour 0 of s
  toy::add(graph, "use", "u1", {shift});                                // again
  toy::add(graph, "use", "u2", {root}, {{"colour", std::int64_t{1}}});  // colour 1 of w
  auto result = propagate(graph);
  const RequestId at_root = result.find(root, 1);
  REQUIRE(at_root != no_request);
  CHECK(result.requests[at_root].accepted);
  CHECK(result.requests[at_root].flow == Gain{3});
  CHECK(result.requests[result.find(shift, 0)].flow == Gain{2});
  CHECK(result.find(root, 0) == no_request);
}

TEST_CASE("a request is accepted only if the parents accept") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {}, {{"colours", std::int64_t{1}}});
  const Value shift = toy::add(graph, "shift", "s", {root});
  toy::add(graph, "use", "u", {shift});
  auto result = propagate(graph);
  const RequestId at_root = result.find(root, 1);
  CHECK_FALSE(result.requests[at_root].accepted);
  REQUIRE(result.requests[at_root].refusal != nullptr);
  CHECK(*result.requests[at_root].refusal == "no such colour");
  CHECK_FALSE(result.requests[result.find(shift, 0)].accepted);
  CHECK(result.requests[at_root].flow == Gain{0});
}

TEST_CASE("an AND splits its gain, so a diamond does not multiply it") {
  Graph graph;
  Value value = toy::add(graph, "root", "w", {});
  const Value root = value;
  for (int i = 0; i < 70; ++i)
    value = toy::add(graph, "join", "j" + std::to_string(i), {value, value});
  toy::add(graph, "use", "u", {value});
  auto result = propagate(graph);
  CHECK(result.requests[result.find(root, 0)].flow == Gain{1});
}

TEST_CASE("an AND with one refused side refuses, an OR with one refused side does not") {
  Graph graph;
  const Value good = toy::add(graph, "root", "good", {});
  const Value bad = toy::add(graph, "root", "bad", {}, {{"colours", std::int64_t{0}}});
  const Value join = toy::add(graph, "join", "j", {good, bad});
  const Value either = toy::add(graph, "either", "e", {bad, good});
  toy::add(graph, "use", "u", {join});
  toy::add(graph, "use", "v", {either});
  auto result = propagate(graph);
  CHECK_FALSE(result.requests[result.find(join, 0)].accepted);
  CHECK(result.requests[result.find(either, 0)].accepted);
  // Only the OR's gain arrives: the refused AND passes nothing on.
  CHECK(result.requests[result.find(good, 0)].flow == Gain{1});
}

TEST_CASE("lazy: nothing is called on nodes that are not eligible or not asked") {
  Graph graph;
  const Value input = graph.add_input("x", {ElementType::float32, Shape{2, 3}, nullptr});
  toy::add(graph, "root", "alone", {});
  toy::add(graph, "pass", "p", {input});
  auto calls = std::make_shared<toy::Calls>();
  auto result = propagate(graph, calls);
  CHECK(calls->callback == 0);
  CHECK(result.requests.requests().empty());
}

TEST_CASE("a chain of 100,000 is walked without recursion") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  Value value = root;
  const int length = test::shortened(100'000);
  for (int i = 0; i < length; ++i) value = toy::add(graph, "pass", "p", {value});
  toy::add(graph, "use", "u", {value});
  auto result = propagate(graph);
  CHECK(result.requests[result.find(root, 0)].accepted);
  CHECK(result.requests[result.find(root, 0)].flow == Gain{1});
}

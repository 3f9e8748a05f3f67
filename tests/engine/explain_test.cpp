#include "quadrant/engine/explain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "engine/toy_scheme.hpp"

using namespace quadrant;

namespace {

struct Explained {
  Registry registry = toy::registry();
  UnitGain gains;

  [[nodiscard]] std::vector<Explanation> all(const Graph& graph, Vetoes vetoes = {}) const {
    QuantizeOptions options;
    options.gains = &gains;
    options.vetoes = std::move(vetoes);
    const auto analysis = analyze(graph, registry, options);
    REQUIRE(analysis.has_value());
    return explain_all(graph, registry, *analysis);
  }
};

const Explanation& of(const std::vector<Explanation>& all, std::string_view value) {
  const auto found = std::ranges::find(all, value, &Explanation::value);
  REQUIRE(found != all.end());
  return *found;
}

bool mentions(const Explanation& explanation, std::string_view text) {
  return to_string(explanation).find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("every node has a reason") {
  Graph graph;
  const Value input = graph.add_input("x", {ElementType::float32, Shape{2, 3}, nullptr});
  const Value root = toy::add(graph, "root", "w", {});
  const Value poor = toy::add(graph, "root", "poor", {}, {{"colours", std::int64_t{0}}});
  toy::add(graph, "root", "alone", {});
  toy::add(graph, "foreign", "f", {toy::add(graph, "root", "odd", {})});
  const Value pass = toy::add(graph, "pass", "p", {input});
  toy::add(graph, "use", "u", {root, poor});
  toy::add(graph, "use", "v", {root});
  graph.add_output("y", pass);
  const auto all = Explained().all(graph);
  CHECK(all.size() == 10);
  for (const Explanation& explanation : all) CHECK_FALSE(explanation.reason.empty());

  CHECK(of(all, "w").state == State::ToQuantize);
  CHECK(mentions(of(all, "w"), "asked for colour 0 by u (operand 0), v (operand 0): gain 2"));
  CHECK(mentions(of(all, "poor"), "no such colour"));
  CHECK(of(all, "alone").reason == "nobody reads it");
  CHECK(mentions(of(all, "odd"), "read by foreign (operand 0)"));
  CHECK(mentions(of(all, "p"),
                 "PassMethod needs operand 0 to be AnyQuantizable, which is Unquantized ('x')"));
  CHECK(mentions(of(all, "x"), "no method for 'input'"));
  CHECK(of(all, "u").benefits.size() == 2);
  CHECK(of(all, "u").benefits[0].realized);
  CHECK_FALSE(of(all, "u").benefits[1].realized);
  CHECK(mentions(of(all, "u"), "1 of 2"));
}

TEST_CASE("removing the named blocker changes the decision") {
  const auto build = [](const char* blocker) {
    Graph graph;
    const Value root = toy::add(graph, "root", "w", {});
    const Value middle = toy::add(graph, blocker, "m", {root});
    const Value pass = toy::add(graph, "pass", "p", {middle});
    toy::add(graph, "use", "u", {pass});
    return graph;
  };
  const Explained explained;
  const auto blocked = explained.all(build("foreign"));
  CHECK(of(blocked, "p").state == State::Unquantized);
  CHECK(mentions(of(blocked, "p"), "operand 0 to be AnyQuantizable, which is Unquantized ('m')"));
  CHECK(mentions(of(blocked, "m"), "no method for 'foreign'"));
  const auto freed = explained.all(build("pass"));
  CHECK(of(freed, "p").state == State::ToQuantize);
}

TEST_CASE("a veto is the reason that was given") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  toy::add(graph, "use", "u", {root});
  const auto all = Explained().all(graph, {{root.node, "excluded by the user"}});
  CHECK(of(all, "w").reason == "excluded by the user");
  CHECK(mentions(of(all, "u"), "excluded by the user") == false);  // u has no eligible operand left
  CHECK(mentions(of(all, "u"), "which is Unquantized ('w')"));
}

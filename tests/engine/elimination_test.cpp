#include "engine/policies/elimination.hpp"

#include <doctest/doctest.h>

#include "engine/random_factors.hpp"
#include "shortened.hpp"

using namespace quadrant;

TEST_CASE("elimination finds the best of all assignments") {
  std::mt19937 random(7);
  for (std::uint32_t round = 0; round < test::shortened(3000U); ++round) {
    const FactorGraph graph = random_factors::draw(random, 1 + round % 8, 1 + round % 11);
    Assignment assignment(graph.variable_count(), 0);
    Elimination elimination(graph);
    REQUIRE(elimination.maximize(random_factors::all(graph), {}, assignment));
    CHECK(graph.worth(assignment) ==
          random_factors::best(graph, random_factors::all(graph), assignment));
  }
}

TEST_CASE("what is held stays as it is") {
  std::mt19937 random(8);
  for (std::uint32_t round = 0; round < test::shortened(3000U); ++round) {
    const FactorGraph graph = random_factors::draw(random, 2 + round % 7, 3 + round % 11);
    Assignment assignment(graph.variable_count(), 0);
    Elimination elimination(graph);
    // Twice with the same object, whose scratch memory must not tell.
    for (int again = 0; again < 2; ++again) {
      std::vector<VariableId> free;
      for (const VariableId variable : random_factors::all(graph)) {
        if (random_factors::below(random, 2) == 0) free.push_back(variable);
      }
      const Assignment before = assignment;
      REQUIRE(elimination.maximize(free, {}, assignment));
      for (const VariableId variable : random_factors::all(graph)) {
        const bool is_free = std::ranges::find(free, variable) != free.end();
        if (!is_free) CHECK(assignment[variable] == before[variable]);
      }
      CHECK(graph.worth(assignment) == random_factors::best(graph, free, before));
    }
  }
}

TEST_CASE("where tables would grow too large, or nothing is possible, nothing is changed") {
  FactorGraph graph;
  std::vector<VariableId> variables;
  for (int i = 0; i < 12; ++i) variables.push_back(graph.add_variable(4));
  for (const VariableId a : variables) {
    for (const VariableId b : variables) {
      if (a < b) graph.add_factor(std::vector{a, b}, std::vector<Worth>(16, Worth{Gain{1}, 0}));
    }
  }
  graph.freeze();
  Assignment assignment(12, 3);
  Elimination elimination(graph);
  CHECK_FALSE(elimination.maximize(variables, {.table = 1000}, assignment));
  CHECK_FALSE(elimination.maximize(variables, {.total = 1000}, assignment));
  CHECK(assignment == Assignment(12, 3));

  FactorGraph closed;
  const VariableId only = closed.add_variable(2);
  closed.add_factor(std::vector{only}, std::vector<Worth>(2, Worth::impossible()));
  closed.freeze();
  Assignment one(1, 1);
  CHECK_FALSE(Elimination(closed).maximize(std::vector{only}, {}, one));
  CHECK(one == Assignment(1, 1));
}

TEST_CASE("a long chain is no work") {
  const std::uint32_t length = test::shortened(200'000U);
  FactorGraph graph;
  for (std::uint32_t i = 0; i < length; ++i) graph.add_variable(2);
  // Neighbours gain 2 by being equal; the ends want to differ.
  const std::vector<Worth> equal{{Gain{2}, 0}, {}, {}, {Gain{2}, 0}};
  for (std::uint32_t i = 0; i + 1 < length; ++i) graph.add_factor(std::vector{i, i + 1}, equal);
  graph.add_factor(std::vector{0U}, std::vector<Worth>{{Gain{5}, 0}, {}});
  graph.add_factor(std::vector{length - 1}, std::vector<Worth>{{}, {Gain{3}, 0}});
  graph.freeze();
  Assignment assignment(length, 0);
  REQUIRE(Elimination(graph).maximize(random_factors::all(graph), {}, assignment));
  CHECK(graph.worth(assignment).gain == Gain{2 * (length - 1) - 2 + 8});
}

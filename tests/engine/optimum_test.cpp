#include "engine/optimum.hpp"

#include <doctest/doctest.h>

#include "engine/dual_bound.hpp"
#include "engine/random_factors.hpp"

using namespace quadrant;

namespace {

constexpr auto knows_nothing = [](std::span<const VariableId> /*component*/,
                                  Assignment& /*assignment*/) { return std::optional<Gain>(); };

}  // namespace

TEST_CASE("parts are solved one by one, and exactly") {
  std::mt19937 random(11);
  for (std::uint32_t round = 0; round < 2000; ++round) {
    const FactorGraph graph = random_factors::draw(random, 1 + round % 8, 1 + round % 9);
    const Optimum found = find_optimum(graph, Assignment(graph.variable_count(), 0), knows_nothing);
    const Worth best = random_factors::best(graph, random_factors::all(graph), found.assignment);
    CHECK(graph.worth(found.assignment) == best);
    CHECK(found.bound == best.gain);
  }
}

TEST_CASE("where nothing can be eliminated, the bound holds, and the start is not made worse") {
  std::mt19937 random(12);
  std::uint32_t tight = 0;
  constexpr std::uint32_t rounds = 3000;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const FactorGraph graph = random_factors::draw(random, 2 + round % 7, 3 + round % 12);
    const Assignment start(graph.variable_count(), 0);
    const Optimum found = find_optimum(graph, start, knows_nothing, {.table = 0, .total = 0});
    const Worth best = random_factors::best(graph, random_factors::all(graph), start);
    REQUIRE(graph.worth(found.assignment).is_possible());
    CHECK(graph.worth(found.assignment) >= graph.worth(start));
    CHECK(graph.worth(found.assignment) <= best);
    CHECK(found.bound >= best.gain);
    tight += found.bound == best.gain ? 1U : 0U;
  }
  MESSAGE("the bound is the optimum in " << tight << " of " << rounds);
  CHECK(tight > rounds / 2);
}

TEST_CASE("a bound from someone who knows better counts") {
  FactorGraph graph;
  const VariableId only = graph.add_variable(2);
  graph.add_factor(std::vector{only}, std::vector<Worth>{{Gain{1}, 0}, {Gain{3}, 0}});
  graph.freeze();
  const auto knows = [](std::span<const VariableId> component, Assignment& assignment) {
    assignment[component.front()] = 1;
    return std::optional(Gain{3});
  };
  const Optimum found = find_optimum(graph, {0}, knows, {.table = 0, .total = 0});
  CHECK(found.assignment == Assignment{1});
  CHECK(found.bound == Gain{3});
}

TEST_CASE("the dual bound of a tree is its optimum") {
  // A frustrated triangle has a gap, a chain has none.
  const std::vector<Worth> differ{{}, {Gain{1}, 0}, {Gain{1}, 0}, {}};
  FactorGraph triangle;
  FactorGraph chain;
  for (int i = 0; i < 3; ++i) {
    triangle.add_variable(2);
    chain.add_variable(2);
  }
  for (const auto& [a, b] : {std::pair{0U, 1U}, {1U, 2U}}) {
    triangle.add_factor(std::vector{a, b}, differ);
    chain.add_factor(std::vector{a, b}, differ);
  }
  triangle.add_factor(std::vector{0U, 2U}, differ);
  triangle.freeze();
  chain.freeze();
  CHECK(dual_bound(chain, random_factors::all(chain), Gain{0}) == Gain{2});
  CHECK(dual_bound(triangle, random_factors::all(triangle), Gain{2}) == Gain{3});
}

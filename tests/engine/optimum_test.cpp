#include "engine/policies/optimum.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>

#include "engine/policies/dual_bound.hpp"
#include "engine/random_factors.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

constexpr auto knows_nothing = [](std::span<const VariableId> /*component*/,
                                  Assignment& /*assignment*/) { return std::optional<Gain>(); };

// Parts of one variable each, which gains 1 or 3.
FactorGraph separate(std::uint32_t parts) {
  FactorGraph graph;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const VariableId only = graph.add_variable(2);
    graph.add_factor(std::vector{only}, std::vector<Worth>{{Gain{1}, 0}, {Gain{3}, 0}});
  }
  graph.freeze();
  return graph;
}

}  // namespace

TEST_CASE("parts are solved one by one, and exactly") {
  std::mt19937 random(11);
  for (std::uint32_t round = 0; round < test::shortened(2000U); ++round) {
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
  const std::uint32_t rounds = test::shortened(3000U);
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

TEST_CASE("someone who knows better is asked for all parts at once, and for few one by one") {
  constexpr std::uint32_t parts = 1000;
  constexpr Gain of_all{3000};
  const FactorGraph graph = separate(parts);
  std::size_t questions = 0;
  const auto knows = [&](std::span<const VariableId> variables, Assignment& assignment) {
    ++questions;
    for (const VariableId variable : variables) assignment[variable] = 1;
    return std::optional(Gain{3 * static_cast<std::int64_t>(variables.size())});
  };
  const EliminationLimits none{.table = 0, .total = 0};
  const Optimum found = find_optimum(graph, Assignment(parts, 0), knows, none);
  CHECK(questions == 1);
  CHECK(found.assignment == Assignment(parts, 1));
  CHECK(found.bound == of_all);
  // One of them, on whom nobody knows anything, does not spoil the others.
  questions = 0;
  const auto knows_most = [&](std::span<const VariableId> variables, Assignment& assignment) {
    const bool is_known = variables.front() != 0;
    ++questions;
    return is_known ? knows(variables, assignment) : std::optional<Gain>();
  };
  const Optimum most = find_optimum(graph, Assignment(parts, 0), knows_most, none);
  CHECK(questions < 100);
  CHECK(most.assignment == Assignment(parts, 1));
  CHECK(most.bound == of_all);
}

TEST_CASE("those on whom nothing is known are found by halves, and spoil no others") {
  constexpr std::uint32_t parts = 1000;
  constexpr double logarithm = 10;  // of 1000
  const FactorGraph graph = separate(parts);
  for (const std::vector<VariableId>& unknown : std::vector<std::vector<VariableId>>{
           {0}, {377}, {999}, {250, 251}, {17, 500, 983}, {5, 6, 7, 8, 9, 10, 11, 12}}) {
    std::size_t questions = 0;
    std::vector<VariableId> known;
    const auto knows = [&](std::span<const VariableId> variables, Assignment& assignment) {
      ++questions;
      for (const VariableId variable : variables) {
        if (std::ranges::find(unknown, variable) != unknown.end()) return std::optional<Gain>();
      }
      known.insert(known.end(), variables.begin(), variables.end());
      for (const VariableId variable : variables) assignment[variable] = 1;
      return std::optional(Gain{3 * static_cast<std::int64_t>(variables.size())});
    };
    const Optimum found =
        find_optimum(graph, Assignment(parts, 0), knows, {.table = 0, .total = 0});
    CHECK(static_cast<double>(questions) <=
          1 + 2 * logarithm * static_cast<double>(unknown.size()));
    CHECK(known.size() == parts - unknown.size());  // nobody twice
    CHECK(found.assignment == Assignment(parts, 1));
    CHECK(found.bound == Gain{3 * std::int64_t{parts}});
  }
  std::size_t questions = 0;
  const auto counts = [&](std::span<const VariableId> /*variables*/, Assignment& /*assignment*/) {
    ++questions;
    return std::optional<Gain>();
  };
  std::ignore = find_optimum(graph, Assignment(parts, 0), counts, {.table = 0, .total = 0});
  CHECK(questions <= 64);
}

TEST_CASE("of what is proposed for many parts the better is taken of each") {
  constexpr std::uint32_t parts = 100;
  const FactorGraph graph = separate(parts);
  Assignment start(parts, 0);
  start[7] = 1;
  std::size_t questions = 0;
  const auto knows = [&](std::span<const VariableId> variables, Assignment& assignment) {
    ++questions;
    for (const VariableId variable : variables) assignment[variable] = variable == 7 ? 0 : 1;
    return std::optional(Gain{3 * static_cast<std::int64_t>(variables.size())});
  };
  const Optimum found = find_optimum(graph, start, knows, {.table = 0, .total = 0});
  CHECK(questions == 1);  // all of them have what they gain at most
  CHECK(found.assignment == Assignment(parts, 1));
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

#include "quadrant/engine/phases/selection.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "engine/toy_scheme.hpp"

using namespace quadrant;

namespace {

Analysis analyze_toy(const Graph& graph, const GainModel& gains, const Plan* plan = nullptr) {
  static const Registry registry = toy::registry();
  QuantizeOptions options;
  options.gains = &gains;
  options.plan = plan;
  auto analysis = analyze(graph, registry, options);
  REQUIRE_MESSAGE(analysis.has_value(), to_string(analysis ? Error{} : analysis.error()));
  return *std::move(analysis);
}

const UnitGain unit;
const BytesGain bytes;

}  // namespace

TEST_CASE("the largest gain wins; the loser is remembered") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  toy::add(graph, "use", "a", {root}, {{"colour", std::int64_t{2}}});
  toy::add(graph, "use", "b", {root}, {{"colour", std::int64_t{2}}});
  toy::add(graph, "use", "c", {root}, {{"colour", std::int64_t{0}}});
  const Analysis analysis = analyze_toy(graph, unit);
  REQUIRE(analysis.plan.values.size() == 1);
  CHECK(analysis.plan.values[0].constraint == "colour 2");
  CHECK(analysis.plan.values[0].gain == Gain{2});
  CHECK(analysis.selection[root].runner_up_gain == Gain{1});
  CHECK(analysis.plan.objective == Gain{2});
}

TEST_CASE("equal gains are decided by the constraints' order") {
  for (const bool swapped : {false, true}) {
    Graph graph;
    const Value root = toy::add(graph, "root", "w", {});
    toy::add(graph, "use", "a", {root}, {{"colour", std::int64_t{swapped ? 1 : 3}}});
    toy::add(graph, "use", "b", {root}, {{"colour", std::int64_t{swapped ? 3 : 1}}});
    CHECK(analyze_toy(graph, unit).plan.values[0].constraint == "colour 1");
  }
}

TEST_CASE("so is the one that came next") {
  std::vector<std::int64_t> colours{1, 2, 3};
  do {
    Graph graph;
    const Value root = toy::add(graph, "root", "w", {});
    for (const std::int64_t colour : colours) {
      toy::add(graph, "use", "u" + std::to_string(colour), {root}, {{"colour", colour}});
    }
    const Analysis analysis = analyze_toy(graph, unit);
    const RequestGraph& requests = analysis.requests;
    const Request& next = requests[analysis.selection[root].runner_up];
    CHECK(requests.constraints().print(next.constraint) == "colour 2");
  } while (std::ranges::next_permutation(colours).found);
}

TEST_CASE("a value that costs more than it gains stays float") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {}, {{"after", std::int64_t{101}}});
  toy::add(graph, "use", "u", {root});
  const Analysis analysis = analyze_toy(graph, bytes);
  CHECK(analysis.plan.values.empty());
  CHECK(analysis.selection[root].cause == SelectionCause::no_gain);
  CHECK(analysis.selection[root].gain == Gain{-1});
}

TEST_CASE("bytes are counted once, however many consumers") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  for (int i = 0; i < 5; ++i) toy::add(graph, "use", "u" + std::to_string(i), {root});
  CHECK(analyze_toy(graph, bytes).plan.objective == Gain{70});
}

TEST_CASE("what nobody takes after all is given back") {
  // j needs w and v in the same colour; w is wanted elsewhere in another one, by more.
  Graph graph;
  const Value w = toy::add(graph, "root", "w", {});
  const Value v = toy::add(graph, "root", "v", {});
  const Value join = toy::add(graph, "join", "j", {w, v});
  toy::add(graph, "use", "u", {join});
  toy::add(graph, "use", "a", {w}, {{"colour", std::int64_t{3}}});
  toy::add(graph, "use", "b", {w}, {{"colour", std::int64_t{3}}});
  const Analysis analysis = analyze_toy(graph, unit);
  CHECK(analysis.selection.is_selected(w));
  CHECK(analysis.selection[join].cause == SelectionCause::unavailable);
  CHECK(analysis.selection[v].cause == SelectionCause::unused);
  CHECK(analysis.plan.objective == Gain{2});
}

TEST_CASE("a graph output reads floats") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  toy::add(graph, "use", "u", {root});
  graph.add_output("y", root);
  const Analysis analysis = analyze_toy(graph, unit);
  REQUIRE(analysis.plan.conversions.size() == 1);
  CHECK(analysis.plan.conversions[0].value == "w");
  CHECK(analysis.plan.conversions[0].users == std::vector<std::string>{"u", "y"});
}

TEST_CASE("the order in which a graph is built does not change its plan") {
  struct Blueprint {
    std::string kind;
    std::vector<int> operands;
    std::int64_t colour;
  };
  std::mt19937 random(20261120);
  for (int round = 0; round < 200; ++round) {
    // Nodes in levels, so that any order within a level can be built.
    std::vector<Blueprint> blueprint;
    const int count = 4 + static_cast<int>(random() % 12);
    for (int i = 0; i < count; ++i) {
      const auto pick = [&] { return static_cast<int>(random() % static_cast<unsigned>(i)); };
      const std::size_t kind = i < 3 ? 0 : random() % 6;
      static const char* const kinds[] = {"root", "pass", "shift", "join", "either", "use"};
      Blueprint node{kinds[kind], {}, static_cast<std::int64_t>(random() % 3)};
      if (kind >= 1) node.operands.push_back(pick());
      if (kind == 3 || kind == 4) node.operands.push_back(pick());
      blueprint.push_back(std::move(node));
    }
    const auto build = [&](std::mt19937& shuffle) {
      Graph graph;
      std::vector<Value> values(blueprint.size());
      std::vector<bool> done(blueprint.size(), false);
      std::vector<std::size_t> order(blueprint.size());
      std::iota(order.begin(), order.end(), 0U);
      for (std::size_t built = 0; built < blueprint.size();) {
        std::ranges::shuffle(order, shuffle);
        for (const std::size_t i : order) {
          const Blueprint& node = blueprint[i];
          if (done[i]) continue;
          if (!std::ranges::all_of(node.operands,
                                   [&](int o) { return done[static_cast<std::size_t>(o)]; }))
            continue;
          std::vector<Value> operands;
          for (const int o : node.operands) operands.push_back(values[static_cast<std::size_t>(o)]);
          values[i] = toy::add(graph, node.kind, "n" + std::to_string(i), std::move(operands),
                               {{"colour", node.colour}});
          done[i] = true;
          ++built;
        }
      }
      return graph;
    };
    const Plan first = analyze_toy(build(random), unit).plan;
    for (int again = 0; again < 5; ++again) CHECK(analyze_toy(build(random), unit).plan == first);
  }
}

TEST_CASE("a plan can be followed, and a plan that does not fit is refused") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  const Value pass = toy::add(graph, "pass", "p", {root});
  toy::add(graph, "use", "u", {pass});
  const Registry registry = toy::registry();
  Plan plan = analyze_toy(graph, unit).plan;
  CHECK(analyze_toy(graph, unit, &plan).plan == plan);

  const auto refusal = [&](const Plan& wrong) {
    QuantizeOptions options;
    options.plan = &wrong;
    const auto analysis = analyze(graph, registry, options);
    return analysis ? std::string() : to_string(analysis.error());
  };
  Plan missing = plan;
  missing.values[0].value = "nowhere";
  CHECK(refusal(missing).find("'nowhere'") != std::string::npos);
  Plan other = plan;
  other.values[0].constraint = "colour 3";
  CHECK(refusal(other).find("colour 3") != std::string::npos);
  Plan torn = plan;
  std::erase_if(torn.values, [](const PlannedValue& value) { return value.value == "w"; });
  CHECK(refusal(torn).find("'p'") != std::string::npos);
  Plan foreign = plan;
  foreign.schemes[0].name = "other";
  CHECK(refusal(foreign).find("other") != std::string::npos);
}

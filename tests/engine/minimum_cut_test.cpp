// The cut against all decisions of random graphs with one form or two.
#include "engine/policies/minimum_cut.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "engine/brute_force.hpp"
#include "engine/policies/optimum.hpp"
#include "engine/random_graphs.hpp"
#include "quadrant/ir/text.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

struct Outcome {
  int cut = 0;      // graphs of which every part was decided by a cut
  int exact = 0;    // among those, decisions that are possible, so the best
  int refused = 0;  // graphs with a part that a cut does not fit
};

// The optimum, where the cut found it.
std::optional<Gain> try_graph(const dice::Blueprint& blueprint, std::mt19937& random,
                              const Registry& registry, Outcome& outcome) {
  const dice::Built built = blueprint.build(random);
  const dice::Gains gains;
  QuantizeOptions options;
  options.gains = &gains;
  options.couplings = built.couplings;
  const dice::View view(built);
  const auto analysis = analyze(view, registry, options);
  REQUIRE(analysis.has_value());
  const CouplingTable couplings(view, built.couplings);
  const SelectionProblem problem{
      view, analysis->order, registry, analysis->eligibility, analysis->requests, gains, couplings};
  const brute_force::Oracle oracle(problem);
  if (oracle.choices() > 20'000) return std::nullopt;
  const Prices prices(built.graph, registry, analysis->requests.constraints(), gains);
  SelectionModel model(problem, prices, nullptr);
  model.add_values();
  if (model.is_relaxed()) return std::nullopt;

  Labelling labelling = *model.labelling(analysis->selection);
  bool is_refused = false;
  const auto cut = [&](std::span<const VariableId> component, Assignment& /*assignment*/) {
    auto found = select_by_cut(problem, prices, model, component, labelling);
    is_refused |= !found;
    if (!found) return std::optional<Gain>();
    labelling = std::move(found->labelling);
    return std::optional(found->bound);
  };
  const Assignment start = *model.assignment(labelling);
  // No elimination, and no bound but that of the cut: only it may know better.
  const Optimum found = find_optimum(model.factors(), start, cut, {.table = 0, .total = 0});
  if (is_refused) {
    ++outcome.refused;
    return std::nullopt;
  }
  ++outcome.cut;
  const Gain optimum = oracle.explore({}).optimum;
  const auto text = [&] { return print_graph(built.graph); };
  CHECK_MESSAGE((found.bound + model.constant()).amount() >= optimum.amount(), text());
  const std::optional<Assignment> chosen = model.assignment(labelling);
  REQUIRE_MESSAGE(chosen.has_value(), text());
  const Worth worth = model.factors().worth(*chosen);
  if (!worth.is_possible()) return std::nullopt;  // something is quantized for nobody
  ++outcome.exact;
  const Gain reached = worth.gain + model.constant();
  CHECK_MESSAGE(reached.amount() == optimum.amount(), text());
  return optimum;
}

void append(dice::Blueprint& whole, dice::Blueprint part) {
  const std::size_t shift = whole.nodes.size();
  const auto move = [&](dice::Source& source) {
    if (!source.is_absent()) source.node += shift;
  };
  for (dice::BlueprintNode& node : part.nodes) {
    std::ranges::for_each(node.operands, move);
    whole.nodes.push_back(std::move(node));
  }
  const auto append_groups = [&](auto& groups, auto& of_part) {
    for (std::vector<dice::Source>& group : of_part) {
      std::ranges::for_each(group, move);
      groups.push_back(std::move(group));
    }
  };
  append_groups(whole.couplings, part.couplings);
  append_groups(whole.of_one_type, part.of_one_type);
}

}  // namespace

TEST_CASE("floats and one form: a cut decides as all decisions compared do") {
  std::mt19937 random(21);
  const Registry registry = dice::registry();
  Outcome outcome;
  for (int round = 0; round < test::shortened(3000); ++round) {
    const dice::RandomOptions options{.most_nodes = 9, .faces = 1, .one_type = round % 3 == 2};
    try_graph(dice::random_graph(random, options), random, registry, outcome);
  }
  MESSAGE(outcome.cut << " cut, " << outcome.exact << " exact, " << outcome.refused << " refused");
  CHECK(outcome.exact > test::shortened(1000));
}

TEST_CASE("two forms with floats between them: so does a cut") {
  std::mt19937 random(22);
  const Registry registry = dice::registry();
  Outcome outcome;
  for (int round = 0; round < test::shortened(3000); ++round) {
    const dice::RandomOptions options{.most_nodes = 9, .faces = 2, .one_type = round % 3 == 2};
    try_graph(dice::random_graph(random, options), random, registry, outcome);
  }
  MESSAGE(outcome.cut << " cut, " << outcome.exact << " exact, " << outcome.refused << " refused");
  CHECK(outcome.exact > test::shortened(500));
}

// Large enough that a cut is tried before there are tables.
TEST_CASE("a graph of many parts is decided as each of them") {
  for (const std::int64_t faces : {1, 2, 3}) {
    std::mt19937 random(23);
    const Registry registry = dice::registry();
    Outcome outcome;
    dice::Blueprint whole;
    Gain optimum;
    while (whole.nodes.size() < test::shortened(std::size_t{8000})) {
      dice::Blueprint part = dice::random_graph(
          random, {.most_nodes = 9, .faces = faces, .one_type = whole.nodes.size() % 3 == 2});
      const std::optional<Gain> gain = try_graph(part, random, registry, outcome);
      if (!gain) continue;
      append(whole, std::move(part));
      optimum += *gain;
    }
    const dice::Built built = whole.build(random);
    const dice::Gains gains;
    QuantizeOptions options;
    options.gains = &gains;
    options.couplings = built.couplings;
    options.policy = SelectionPolicy::optimal;
    const dice::View view(built);
    const auto analysis = analyze(view, registry, options);
    REQUIRE(analysis.has_value());
    CHECK(analysis->selection.objective().amount() == optimum.amount());
    REQUIRE(analysis->selection.bound().has_value());
    CHECK(analysis->selection.bound()->amount() == optimum.amount());
    // Who follows the plan comes to the same.
    options.plan = &analysis->plan;
    const auto followed = analyze(view, registry, options);
    REQUIRE(followed.has_value());
    CHECK(followed->plan == analysis->plan);
    CHECK(followed->selection.objective().amount() == optimum.amount());
    int others = 0;
    for (const NodeId node : analysis->order) {
      for (std::uint32_t i = 0; i < built.graph.operands(node).size(); ++i) {
        others += followed->selection.read(node, i) == analysis->selection.read(node, i) ? 0 : 1;
      }
    }
    CHECK(others == 0);
  }
}

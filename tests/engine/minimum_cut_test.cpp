// The cut against all decisions of random graphs with one form or two.
#include "engine/minimum_cut.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/brute_force.hpp"
#include "engine/optimum.hpp"
#include "engine/random_graphs.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

struct Outcome {
  int cut = 0;      // graphs of which every part was decided by a cut
  int exact = 0;    // among those, decisions that are possible, so the best
  int refused = 0;  // graphs with a part that a cut does not fit
};

void try_graph(const dice::Blueprint& blueprint, std::mt19937& random, const Registry& registry,
               Outcome& outcome) {
  const dice::Built built = blueprint.build(random);
  const dice::Gains gains;
  QuantizeOptions options;
  options.gains = &gains;
  options.couplings = built.couplings;
  const auto analysis = analyze(built.graph, registry, options);
  REQUIRE(analysis.has_value());
  const SelectionProblem problem{built.graph,           analysis->order,    registry,
                                 analysis->eligibility, analysis->requests, gains,
                                 built.couplings};
  const brute_force::Oracle oracle(problem);
  if (oracle.choices() > 20'000) return;
  const Prices prices(built.graph, registry, analysis->requests.constraints(), gains);
  const SelectionModel model(problem, prices, nullptr);
  if (model.is_relaxed()) return;

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
    return;
  }
  ++outcome.cut;
  const Gain optimum = oracle.explore({}).optimum;
  const auto text = [&] { return print_graph(built.graph); };
  CHECK_MESSAGE((found.bound + model.constant()).amount() >= optimum.amount(), text());
  const std::optional<Assignment> chosen = model.assignment(labelling);
  REQUIRE_MESSAGE(chosen.has_value(), text());
  const Worth worth = model.factors().worth(*chosen);
  if (!worth.is_possible()) return;  // something is quantized for nobody
  ++outcome.exact;
  const Gain reached = worth.gain + model.constant();
  CHECK_MESSAGE(reached.amount() == optimum.amount(), text());
}

}  // namespace

TEST_CASE("floats and one form: a cut decides as all decisions compared do") {
  std::mt19937 random(21);
  const Registry registry = dice::registry();
  Outcome outcome;
  for (int round = 0; round < 3000; ++round) {
    try_graph(dice::random_graph(random, {.most_nodes = 9, .faces = 1}), random, registry, outcome);
  }
  MESSAGE(outcome.cut << " cut, " << outcome.exact << " exact, " << outcome.refused << " refused");
  CHECK(outcome.exact > 1000);
}

TEST_CASE("two forms with floats between them: so does a cut") {
  std::mt19937 random(22);
  const Registry registry = dice::registry();
  Outcome outcome;
  for (int round = 0; round < 3000; ++round) {
    try_graph(dice::random_graph(random, {.most_nodes = 9, .faces = 2}), random, registry, outcome);
  }
  MESSAGE(outcome.cut << " cut, " << outcome.exact << " exact, " << outcome.refused << " refused");
  CHECK(outcome.exact > 500);
}

// Factors of migrations, chosen by what is left of layers' results on samples.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pipeline/weights_of_codes.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/transforms/equalize.hpp"

namespace quadrant::inline v0 {

struct MigrationQuestion {
  const Graph& graph;
  const SecondMomentsTable& moments;  ///< of `graph`
  /// What the weights of a graph become that is `graph` but for weights which are multiplied.
  std::function<Expected<WeightsOfCodes>(const Graph& multiplied)> made;
  /// Steps of an activation's codes, over all channels, which one scale covers; 0: activations stay
  /// float.
  double activation_steps = 0;
  Executor* executor = nullptr;
};

/// What the products that read a site's value add to their results, squared, on average.
using MigrationCosts = std::map<std::string, double, std::less<>>;

/// Of the sites in `migrations`, with weights that are multiplied so. Those of the others are as
/// they are.
[[nodiscard]] Expected<MigrationCosts> migration_costs(const MigrationQuestion& question,
                                                       const std::vector<Migration>& migrations);

/// For each of these, the factors of least cost of some: powers of how large inputs are, and of
/// that over how large weights are (SmoothQuant, arXiv 2211.10438; AWQ, arXiv 2306.00978), 20 tries
/// for all sites together. Sites where nothing is better than no factors are not there.
[[nodiscard]] Expected<std::vector<Migration>> search_migrations(const MigrationQuestion& question);

/// Moments of inputs that these migrations divide.
void divide_inputs(SecondMomentsTable& moments, const Graph& graph,
                   const std::vector<Migration>& migrations);

}  // namespace quadrant::inline v0

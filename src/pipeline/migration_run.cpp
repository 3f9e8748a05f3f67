#include "pipeline/migration_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "numerics/reals.hpp"
#include "pipeline/migration_search.hpp"
#include "pipeline/optimizations.hpp"
#include "pipeline/weights_of_codes.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

// Weights as symmetric codes, the nearest ones, with a scale for each row of their products.
Expected<WeightsOfCodes> nearest_codes(const Graph& graph, const SecondMomentsTable& moments,
                                       const StaticCodes& codes) {
  const double most = std::exp2(codes.weight_bits - 1) - 1;
  WeightsOfCodes found;
  for (const auto& [name, each] : moments.weights) {
    const Constant& constant = *graph.constant(graph.find_value(name).node);
    QUADRANT_TRY(const std::vector<double> weight, read_reals(constant));
    const WeightMatrices& layout = each.layout();
    double of_all = 0;
    for (const double value : weight) of_all = std::max(of_all, std::fabs(value));
    std::vector<float> made(weight.size());
    for (std::size_t matrix = 0; matrix < layout.matrices.size(); ++matrix) {
      for (std::size_t row = 0; row < layout.rows.size(); ++row) {
        double largest = codes.one_scale ? of_all : 0;
        for (std::size_t c = 0; c < layout.columns.size(); ++c) {
          largest = std::max(largest, std::fabs(weight[layout.element(matrix, row, c)]));
        }
        const double scale = largest > 0 ? largest / most : 1;
        for (std::size_t c = 0; c < layout.columns.size(); ++c) {
          const std::size_t i = layout.element(matrix, row, c);
          made[i] = static_cast<float>(std::nearbyint(weight[i] / scale) * scale);
        }
      }
    }
    found.emplace(name, Constant::from_values<float>(ElementType::float32, constant.shape(), made));
  }
  return found;
}

Expected<void> migrate_by(Graph& graph, SecondMomentsTable& moments,
                          const std::vector<Migration>& migrations, const RunContext& context) {
  const MigrationSites found = find_migrations(graph);
  divide_inputs(moments, graph, migrations);
  QUADRANT_CHECK(migrate(graph, migrations));
  context.note(fmt::format("migrate: factors of {} moved into weights, of {} that could have some",
                           counted(migrations.size(), "value"), found.sites.size()));
  tell("migrate: it keeps its channels", found.left, context);
  return {};
}

}  // namespace

Expected<void> migrate_weights(SchemeSubject& subject, SecondMomentsTable& moments,
                               std::span<const SchemeChoice> choices) {
  Graph& graph = subject.graph;
  const RunContext& context = subject.context;
  // Costs with codes that are rounded by these moments; null: with the nearest ones.
  const auto question = [&](const std::shared_ptr<const SecondMomentsTable>& by) {
    return MigrationQuestion{.graph = graph,
                             .moments = moments,
                             .made =
                                 [&, by](const Graph& multiplied) {
                                   return weights_of_codes(subject, choices, multiplied, by);
                                 },
                             .executor = context.executor};
  };
  QUADRANT_TRY(std::vector<Migration> found, search_migrations(question(nullptr)));
  if (found.empty()) return migrate_by(graph, moments, found, context);
  const auto rounded = [&](const std::vector<Migration>& migrations) -> Expected<MigrationCosts> {
    auto divided = std::make_shared<SecondMomentsTable>(moments);
    divide_inputs(*divided, graph, migrations);
    return migration_costs(question(divided), migrations);
  };
  std::vector<Migration> none = found;
  for (Migration& each : none) std::ranges::fill(each.factors, 1.0);
  QUADRANT_TRY(const MigrationCosts before, rounded(none));
  QUADRANT_TRY(const MigrationCosts after, rounded(found));
  std::erase_if(found, [&](const Migration& each) {
    return !(after.at(each.value) < before.at(each.value));
  });
  return migrate_by(graph, moments, found, context);
}

Expected<void> migrate_activations(Graph& graph, const StaticCodes& codes, const RunInputs& inputs,
                                   const RunContext& context) {
  QUADRANT_TRY(const auto samples, open_samples(inputs, graph, context));
  const Interpreter interpreter({}, context.run_memory);
  QUADRANT_TRY(SecondMomentsTable moments,
               collect_second_moments(graph, interpreter, *samples,
                                      {.executor = context.executor, .sink = context.sink}));
  const MigrationQuestion question{
      .graph = graph,
      .moments = moments,
      .made = [&](const Graph& multiplied) { return nearest_codes(multiplied, moments, codes); },
      .activation_steps = std::exp2(codes.activation_bits) - 1,
      .executor = context.executor};
  QUADRANT_TRY(const std::vector<Migration> found, search_migrations(question));
  return migrate_by(graph, moments, found, context);
}

}  // namespace quadrant::inline v0

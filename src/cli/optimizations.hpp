// What --optimize does: to the float model before it is quantized, and to biases for what it
// became.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/console.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/engine/registry.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/recipe/option_table.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/transforms/moments.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace quadrant::cli {

struct Optimizations {
  std::vector<std::string> names;  ///< of cle, hba, bc, bc-analytic
  std::string relu6 = "exact";     ///< or relu

  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] bool correct_biases() const { return has("bc") || has("bc-analytic"); }
};

/// What `model` of a recipe says.
[[nodiscard]] Optimizations optimizations_of(const OptionValues& model);

/// Adds --relu6 to a subcommand.
void add_relu6(CLI::App& command, Optimizations& wanted);
/// That they go together.
[[nodiscard]] Expected<void> check(const Optimizations& wanted);

/// Folds batch normalizations, and equalizes and absorbs where that is asked for. `path`: of the
/// model, for messages. Returns the moments of the graph as it is then.
[[nodiscard]] Expected<MomentsTable> transform(Graph& graph, const Optimizations& wanted,
                                               const std::string& path, Sink& sink);

/// bc-analytic: the biases in `graph` for the weights that the phases would make of it.
[[nodiscard]] Expected<void> correct_from_moments(Graph& graph, const MomentsTable& moments,
                                                  const Registry& registry,
                                                  const QuantizeOptions& run, Sink& sink);

/// bc: the biases in `quantized`, which was made of `graph`. `samples`: where they are.
[[nodiscard]] Expected<void> correct_on_samples(const Graph& graph, Graph& quantized,
                                                const std::string& samples, Executor& executor,
                                                Console& console);

}  // namespace quadrant::cli

// What `optimize` of a recipe does: to the float model before it is quantized, and to biases for
// what it became.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/transforms/equalize.hpp"

namespace quadrant::inline v0 {

struct Optimizations {
  std::vector<std::string> names;  ///< of rotate, cle, hba, migrate, bc, bc-analytic
  std::string relu6 = "exact";     ///< or relu
  bool sequential = false;         ///< weights are rounded layers after layers
  std::size_t low_rank = 0;        ///< of what corrects products; 0: they are not corrected

  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] bool correct_biases() const { return has("bc") || has("bc-analytic"); }
};

/// What was left, and why, a line each for the first few.
void tell(std::string_view what, const std::vector<LeftAlone>& left, const RunContext& context);

/// What `model` of a recipe says.
[[nodiscard]] Optimizations optimizations_of(const OptionValues& model);

/// That there are samples for those that look at what layers compute.
[[nodiscard]] Expected<void> check_samples(const Optimizations& wanted, const RunInputs& inputs);

/// That they go together.
[[nodiscard]] Expected<void> check(const Optimizations& wanted);

/// Folds batch normalizations, and rotates, equalizes and absorbs where that is asked for. `path`:
/// of the model, for messages. Returns the moments of the graph as it is then.
[[nodiscard]] Expected<MomentsTable> transform(Graph& graph, const Optimizations& wanted,
                                               const std::string& path, const RunContext& context);

/// bc-analytic: the biases in `graph` for the weights that the phases would make of it.
[[nodiscard]] Expected<void> correct_from_moments(Graph& graph, const MomentsTable& moments,
                                                  const Registry& registry,
                                                  const QuantizeOptions& run,
                                                  const RunContext& context);

/// bc: the biases in `quantized`, which was made of `graph`, on the inputs' samples.
[[nodiscard]] Expected<void> correct_on_samples(const Graph& graph, Graph& quantized,
                                                const RunInputs& inputs, const RunContext& context);

}  // namespace quadrant::inline v0

// Trials of remedies for a cause.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/diagnose.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

/// Recipes that could mend `cause` in what `base` makes, those first that change least.
[[nodiscard]] std::vector<Recipe> remedies_for(const Cause& cause, const Recipe& base);

/// `base` with one value, weight or operation more in float.
[[nodiscard]] Recipe leaving_in_float(Recipe base, std::string_view name);

/// The last resort of a scheme that has activations: all of them with 16 bits.
[[nodiscard]] Recipe with_wide_activations(Recipe base);

/// The recipe with all that both of them add to `base`; of an option that both have, `first`'s.
[[nodiscard]] Recipe united(const Recipe& first, const Recipe& second);

/// Quantizes the float model by recipes, and measures what comes out, once for each. Each is tried
/// by one of the context's ranks, whole.
class RemedyTrials {
 public:
  RemedyTrials(const Graph& real, const RunInputs& samples, const DataSet& data,
               const DiagnoseOptions& options, RunContext context);

  /// At the output that agrees least; `saturating`: as kernels compute whose sums leave 16 bits.
  /// Empty where the recipe does not fit the model.
  [[nodiscard]] Expected<std::optional<Agreement>> measure(const Recipe& recipe,
                                                           bool saturating = false);
  /// Measures some, so that `measure` knows them: as many at a time as there are ranks. Does
  /// nothing where there are none.
  [[nodiscard]] Expected<void> measure_ahead(std::span<const Recipe> recipes, bool saturating);
  /// How many are measured in the time of one.
  [[nodiscard]] std::size_t at_a_time() const noexcept {
    return ranks_ == nullptr ? 1 : ranks_->size();
  }

 private:
  [[nodiscard]] Expected<std::optional<Agreement>> quantize_and_compare(const Recipe& recipe,
                                                                        bool saturating) const;

  const Graph& real_;
  const RunInputs& calibration_;
  const DataSet& data_;
  const DiagnoseOptions& options_;
  Ranks* ranks_;
  RunContext context_;  // trials report nothing
  std::map<std::string, std::optional<Agreement>> known_;
};

}  // namespace quadrant::inline v0

// The exact solver for two forms: a minimum cut.
#pragma once

#include <optional>
#include <span>

#include "engine/policies/factor_graph.hpp"
#include "engine/policies/prices.hpp"
#include "engine/policies/selection_model.hpp"
#include "quadrant/engine/phases/selection.hpp"

namespace quadrant::inline v0 {

/// What a cut found for one component of a model.
struct CutSelection {
  Labelling labelling;  ///< of the component; elsewhere that of `around`
  Gain bound;           ///< no decision of the component gains more
};

/// Decides a component of `model` in which each value is floats or one form, or one of two forms
/// with floats between them, and in which prices and needs all pull the same way: then it is worth
/// most that `labelling` makes, but for one thing that a cut cannot see, that nothing is quantized
/// for no reader. Empty where the component is not so. `around`: the decision elsewhere.
///
/// Two labels: D. M. Greig, B. T. Porteous, A. H. Seheult: Exact maximum a posteriori estimation
/// for binary images, Journal of the Royal Statistical Society B 51 (1989). Three in a row: Hiroshi
/// Ishikawa: Exact optimization for Markov random fields with convex priors, IEEE Transactions on
/// Pattern Analysis and Machine Intelligence 25 (2003).
[[nodiscard]] std::optional<CutSelection> select_by_cut(const SelectionProblem& problem,
                                                        const Prices& prices,
                                                        const SelectionModel& model,
                                                        std::span<const VariableId> component,
                                                        const Labelling& around);

}  // namespace quadrant::inline v0

// What of a quantized model might better stay float, the likeliest first.
#pragma once

#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/numerics/agreement.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Values that the run would make in codes and that Log, Exp, Reciprocal, Sqrt, Pow read, or Div
/// divides by, directly or through float operations that are no products: there a small error of a
/// small number becomes a large one. With what would take their place in that, were they float.
[[nodiscard]] Expected<std::vector<FloatPart>> steep_values(PreparedRun& run);

/// Weights that can only stay float together, and what they cost alone.
struct CostlyWeights {
  std::vector<FloatPart> parts;
  Agreement alone;  ///< of the output that suffers most
};

/// The run's weights, those first that cost most. `impossible` where it quantizes none.
[[nodiscard]] Expected<std::vector<CostlyWeights>> costly_weights(PreparedRun& run,
                                                                  const DataSet& samples);

}  // namespace quadrant::inline v0

// Parts of a quantized model that might better stay float, the likeliest first.
#pragma once

#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Values that the run would make in codes and that Log, Exp, Reciprocal, Sqrt, Pow read, or Div
/// divides by, directly or through float operations that are no products: there a small error of a
/// small number becomes a large one. With what would take their place in that, were they float.
[[nodiscard]] Expected<std::vector<FloatPart>> steep_values(PreparedRun& run);

/// A product that computes on codes, and what it costs where all others are float.
struct CostlyProduct {
  FloatPart part;
  Agreement alone;  ///< of the output that suffers most
};

/// The run's, those first that cost most. Of equals, the first in the graph.
[[nodiscard]] Expected<std::vector<CostlyProduct>> costly_products(PreparedRun& run,
                                                                   const DataSet& samples);

}  // namespace quadrant::inline v0

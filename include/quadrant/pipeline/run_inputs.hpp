// What a run knows of one model, beside its recipe.
#pragma once

#include <memory>
#include <string>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/run_context.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct RunInputs {
  /// Samples (as for `open_data_set`), to find ranges on, to round weights by and to correct biases
  /// on; or statistics that were saved, of ranges alone, where `is_statistics_file`. Empty: none.
  std::string calibration{};
  /// Samples in place of those files. Not owned; outlive what the run returns.
  const DataSet* samples = nullptr;
  /// A file of encodings (AIMET's format) that count instead of what would be found. Empty: none.
  std::string encodings{};
  /// A file of second moments of the model (`print_moments`), to round weights by in place of those
  /// of the samples. Empty: none.
  std::string moments{};

  [[nodiscard]] bool has_samples() const;
  [[nodiscard]] bool has_statistics() const;
  /// Whether there are files that were gathered on a model, which must be this one.
  [[nodiscard]] bool are_of_a_model() const { return has_statistics() || !moments.empty(); }
};

/// The samples that a caller names or lends, as the context says. Ends with
/// `cancelled`, at the next sample, once its stop is asked for.
[[nodiscard]] Expected<std::unique_ptr<DataSet>> open_samples(const RunInputs& inputs,
                                                              const Graph& graph,
                                                              const RunContext& context);

}  // namespace quadrant::inline v0

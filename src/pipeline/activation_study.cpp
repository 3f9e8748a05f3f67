#include <utility>

#include "calibration/located.hpp"
#include "calibration/value_errors.hpp"
#include "pipeline/quantized_places.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/gather.hpp"

namespace quadrant::inline v0 {

Expected<ActivationStudy> study_activations(const Graph& real, Graph quantized,
                                            const Runtime& runtime, const DataSet& data,
                                            const CompareOptions& options,
                                            const RunContext& context) {
  if (has_coded_borders(real)) {
    return fail(
        ErrorCode::usage,
        "activations are reported of a float model and what became of it: this one takes or "
        "gives codes",
        {.file = options.names.first});
  }
  QUADRANT_TRY(const Graph made, in_file(spelled_out(std::move(quantized)), options.names.second));
  ActivationStudy study;
  QUADRANT_TRY(study.comparison, compare_inner_values(real, made, runtime, data, options));
  QUADRANT_TRY(const StatisticsTable statistics,
               in_file(gather_statistics({real, runtime, data}, {}, context), options.names.first));
  QUADRANT_TRY(study.activations, in_file(report_activations({.real = real,
                                                              .quantized = made,
                                                              .statistics = &statistics,
                                                              .comparison = &study.comparison}),
                                          options.names.second));
  return study;
}

}  // namespace quadrant::inline v0

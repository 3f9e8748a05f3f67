// What the quantized activations of a model are, and lose, on samples.
#pragma once

#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/run_context.hpp"
#include "quadrant/report/activation_report.hpp"
#include "quadrant/runtime/runtime.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct ActivationStudy {
  Comparison comparison;
  ActivationReport activations;
};

/// `compare` of a float model with what quantization made of it, inner values included as far as
/// those of one name have one layout, and `report_activations` of both with the float model's
/// values on the same samples: it runs a second time for these. Values belong together by name.
/// Errors are those of the three.
[[nodiscard]] Expected<ActivationStudy> study_activations(const Graph& real, Graph quantized,
                                                          const Runtime& runtime,
                                                          const DataSet& data,
                                                          const CompareOptions& options,
                                                          const RunContext& context = {});

}  // namespace quadrant::inline v0

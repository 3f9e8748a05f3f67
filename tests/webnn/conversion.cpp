#include "conversion.hpp"

#include "quadrant/io/tflite.hpp"
#include "quadrant/methods/qdq_fusion.hpp"
#include "quadrant/report/summary.hpp"

namespace quadrant::webnn {

Expected<Converted> convert_case(const Graph& graph) {
  QUADRANT_TRY(FusedGraph result, quantize_qdq(graph, {.target = KernelsTarget::tflite}));
  Converted converted{std::move(result.graph), {}};
  const ComputationReport report =
      report_computation(result.model, result.analysis.registry, result.analysis);
  for (const Computation& row : report.operations) {
    if (!row.on_codes) converted.left.push_back({row.name, row.reason});
  }
  return converted;
}

Expected<void> write_case(const Converted& converted, const std::string& path) {
  QUADRANT_CHECK(write_tflite(converted.graph, path));
  return {};
}

}  // namespace quadrant::webnn

// Which layer of a prepared run, quantized alone, costs how much at the outputs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/runtime/runtime.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct SensitivityStudyOptions {
  /// File of what was measured: read if it is there and of the same model, samples and options,
  /// and written as the work goes on. Empty: none.
  std::string cache{};
  std::string settings{};  ///< what else tells one study from another: the runtime, say
};

/// Layers are the weights that the run would quantize, or what stands in for them; several that
/// can only be quantized together are measured together. The most sensitive come first. Reads all
/// constants. `impossible` where nothing is quantized.
[[nodiscard]] Expected<std::vector<LayerSensitivity>> study_sensitivity(
    PreparedRun& run, const Runtime& runtime, const DataSet& data,
    const SensitivityStudyOptions& options = {});

/// The study in a cache, the most sensitive layers first; fails where its outputs are not the
/// graph's. Errors name the file.
[[nodiscard]] Expected<std::vector<LayerSensitivity>> read_sensitivity(const std::string& path,
                                                                       const Graph& graph);

}  // namespace quadrant::inline v0

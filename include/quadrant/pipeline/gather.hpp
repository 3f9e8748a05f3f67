// Statistics of a model on samples, gathered by all ranks of the context, each on a part of them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// A file of what was gathered so far, from which a call that was stopped goes on.
struct CheckpointOptions {
  std::string path{};        ///< empty: none is kept
  std::size_t every = 1000;  ///< it is written, whole, after so many samples; not 0
  /// What else the result depends on, with its name for people: {"the runtime", "interpreter"}.
  std::vector<std::pair<std::string, std::string>> settings{};
};

/// What is run, and on which samples of a data set. Refers to what it is made with.
struct Gathering {
  const Graph& graph;
  const Runtime& runtime;
  const DataSet& samples;
  SamplePart part{};  ///< of those: an empty one of several gives nothing, and is no error
  /// If the file is there, the call goes on from it, whatever the number of ranks was; the result
  /// is that of a call that was never stopped, but warnings are of the samples that run now. All
  /// samples are read once more, to know them. `usage` where it was kept by another version, for
  /// another model, other samples, values or settings, and says which; `invalid_model` where it
  /// is damaged. It goes when the context's files are committed; without these it is the caller's
  /// to remove. On ranks the first has it.
  CheckpointOptions checkpoint{};
  /// Of second moments: columns that are counted together (SecondMoments).
  std::size_t block = SecondMoments::whole;
};

/// Calls of `quadrant/calibration/`, whose errors they hand on, with the context's executor and
/// sink. On ranks they give the same as alone, bit by bit; each rank runs every size-th sample.
/// `usage` where ranks have not the same samples, by their names.
[[nodiscard]] Expected<StatisticsTable> gather_statistics(const Gathering& what,
                                                          CalibrateOptions options,
                                                          const RunContext& context);
[[nodiscard]] Expected<MomentsGrid> gather_moments_grid(const Gathering& what,
                                                        const RunContext& context);
/// `grid`: to count on; null: one that is found first, on the same samples.
///
/// Within the context's `moments_memory`: where the sums of all layers take more than half of it,
/// the samples run several times, for some layers each, whose sums then wait in a file of the
/// folder `scratch`. Where those of one layer take more than a sixteenth, with which rounding by
/// them takes half, they are of blocks (CollectMomentsOptions). But for these the result does not
/// depend on it. Checkpoints have, and hold, what was gathered so far.
[[nodiscard]] Expected<SecondMomentsTable> gather_moments(const Gathering& what,
                                                          const MomentsGrid* grid,
                                                          const RunContext& context);

// Reports of a model's quantized activations on samples: ranges and errors.

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

// Sensitivity of a prepared run: what each layer, quantized alone, costs at the outputs.

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

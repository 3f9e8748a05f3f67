// What a model gives for samples, as files.
#pragma once

#include <string>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/error.hpp"
#include "recipe/node_names.hpp"

namespace quadrant::inline v0 {

struct RunSamplesOptions {
  std::string folder;     ///< is made; files that are there are replaced
  bool compress = false;  ///< arrays are deflated
  std::string model{};    ///< its file, for places of errors
};

struct SampleResults {
  std::vector<std::string> files;  ///< of each sample
  std::vector<TensorType> types;   ///< of each value; an extent that samples differ in is open
};

/// Runs the model on each sample, as many at a time as there are threads, and writes a .npz called
/// after it, with an array for each of `values`, which `executor` was loaded with. `impossible` for
/// a value that is not computed: one in a branch or a loop that does not run.
[[nodiscard]] Expected<SampleResults> run_samples(const ModelExecutor& executor,
                                                  const DataSet& data, const NamedValues& values,
                                                  const RunSamplesOptions& options,
                                                  const RunContext& context);

}  // namespace quadrant::inline v0

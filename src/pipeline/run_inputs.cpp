#include <utility>
#include <vector>

#include "calibration/data_set_fit.hpp"
#include "calibration/data_set_inputs.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/run.hpp"

namespace quadrant::inline v0 {
namespace {

// Those of another data set, until a stop is asked for; lent ones as the model takes them, which
// files are already.
class StoppableSamples final : public DataSet {
 public:
  StoppableSamples(std::unique_ptr<DataSet> owned, const DataSet& samples, const Graph& graph,
                   RunContext context)
      : owned_(std::move(owned)),
        samples_(samples),
        inputs_(data_set::inputs_of(graph)),
        context_(std::move(context)) {}

  [[nodiscard]] std::size_t size() const override { return samples_.size(); }
  [[nodiscard]] std::string name(std::size_t i) const override { return samples_.name(i); }
  [[nodiscard]] Expected<Sample> sample(std::size_t i) const override {
    QUADRANT_CHECK(context_.check_stop());
    QUADRANT_TRY(Sample sample, samples_.sample(i));
    if (owned_ != nullptr || sample.inputs.size() != inputs_.size()) return sample;
    for (std::size_t at = 0; at < inputs_.size(); ++at) {
      QUADRANT_TRY(sample.inputs[at],
                   data_set::fitted(std::move(sample.inputs[at]), inputs_[at],
                                    {.convert = context_.convert_samples,
                                     .allow_non_finite = context_.allow_non_finite_samples}));
    }
    return sample;
  }

 private:
  std::unique_ptr<DataSet> owned_;
  const DataSet& samples_;
  std::vector<data_set::Input> inputs_;
  RunContext context_;
};

}  // namespace

bool RunInputs::has_samples() const {
  return samples != nullptr || (!calibration.empty() && !is_statistics_file(calibration));
}

bool RunInputs::has_statistics() const {
  return samples == nullptr && is_statistics_file(calibration);
}

Expected<std::unique_ptr<DataSet>> open_samples(const RunInputs& inputs, const Graph& graph,
                                                const RunContext& context) {
  std::unique_ptr<DataSet> files;
  if (inputs.samples == nullptr) {
    QUADRANT_TRY(files, open_data_set(inputs.calibration, graph,
                                      {.convert = context.convert_samples,
                                       .allow_non_finite = context.allow_non_finite_samples,
                                       .sink = context.sink,
                                       .files = context.files}));
  }
  const DataSet& samples = files != nullptr ? *files : *inputs.samples;
  // Of none all figures would be perfect.
  if (samples.size() == 0) return fail(ErrorCode::usage, "there are no samples");
  return std::make_unique<StoppableSamples>(std::move(files), samples, graph, context);
}

}  // namespace quadrant::inline v0

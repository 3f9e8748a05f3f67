#include "quadrant/adapters/openvino.hpp"

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "adapters/openvino/compile.hpp"
#include "adapters/openvino/library.hpp"
#include "adapters/openvino/tensors.hpp"
#include "runtime/watched_values.hpp"

namespace quadrant::inline v0 {

using openvino::Handle;
using openvino::Library;

struct OpenVinoRuntime::Engine {
  const Library& library;
  Handle<ov_core_t> core;
};

namespace {

/// Infer requests of one model. Each serves one run at a time; there are as many as there have been
/// runs at the same time.
class Requests {
 public:
  Requests(const Library& library, const ov_compiled_model_t* model)
      : library_(library), model_(model) {}

  Expected<Handle<ov_infer_request_t>> take() {
    {
      const std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        Handle<ov_infer_request_t> request = std::move(idle_.back());
        idle_.pop_back();
        return request;
      }
    }
    return library_.make("make an infer request", library_.ov_infer_request_free,
                         library_.ov_compiled_model_create_infer_request, model_);
  }

  void give_back(Handle<ov_infer_request_t> request) {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(request));
  }

 private:
  const Library& library_;
  const ov_compiled_model_t* model_;
  std::mutex mutex_;
  std::vector<Handle<ov_infer_request_t>> idle_;
};

class OpenVinoModel final : public ModelExecutor {
 public:
  OpenVinoModel(const Graph& graph, const Library& library, std::shared_ptr<const void> engine)
      : graph_(graph), library_(library), engine_(std::move(engine)) {}

  Expected<void> prepare(const ov_core_t& core, std::span<const Value> watched);
  [[nodiscard]] Expected<void> run(std::span<const Tensor> inputs,
                                   TensorObserver observe) const override;

 private:
  Expected<void> compute(ov_infer_request_t& request, std::span<const Tensor> inputs) const;
  [[nodiscard]] Expected<Tensor> output(const ov_infer_request_t& request, std::size_t index) const;

  const Graph& graph_;
  const Library& library_;
  std::shared_ptr<const void> engine_;  // outlives what it made
  WatchedValues watched_;
  openvino::CompiledModel compiled_{{nullptr, nullptr}, {}};
  std::unique_ptr<Requests> requests_;  // null where nothing is computed
};

Expected<void> OpenVinoModel::prepare(const ov_core_t& core, std::span<const Value> watched) {
  QUADRANT_TRY(watched_, WatchedValues::find(graph_, watched));
  if (watched_.computed().empty()) return {};
  QUADRANT_TRY(compiled_, openvino::compile(library_, core, graph_, watched_.computed()));
  requests_ = std::make_unique<Requests>(library_, compiled_.model.get());
  return {};
}

Expected<void> OpenVinoModel::compute(ov_infer_request_t& request,
                                      std::span<const Tensor> inputs) const {
  for (std::size_t place = 0; place < compiled_.inputs.size(); ++place) {
    const std::size_t i = compiled_.inputs[place];
    QUADRANT_TRY(const Handle<ov_tensor_t> tensor, openvino::to_openvino(library_, inputs[i]));
    QUADRANT_CHECK(library_.check(
        library_.ov_infer_request_set_input_tensor_by_index(&request, place, tensor.get()),
        fmt::format("take the input '{}'", graph_.value_name({graph_.inputs()[i]}))));
  }
  return library_.check(library_.ov_infer_request_infer(&request), "run the model");
}

Expected<Tensor> OpenVinoModel::output(const ov_infer_request_t& request, std::size_t index) const {
  QUADRANT_TRY(
      const Handle<ov_tensor_t> given,
      library_.make("give an output", library_.ov_tensor_free,
                    library_.ov_infer_request_get_output_tensor_by_index, &request, index));
  const Value value = watched_.computed()[index];
  auto tensor = openvino::from_openvino(library_, *given, graph_.type(value).element);
  if (!tensor) tensor.error().place.tensor = graph_.value_name(value);
  return tensor;
}

Expected<void> OpenVinoModel::run(std::span<const Tensor> inputs, TensorObserver observe) const {
  QUADRANT_CHECK(check_inputs(graph_, inputs));
  QUADRANT_CHECK(watched_.give_known(inputs, observe));
  if (!requests_) return {};

  QUADRANT_TRY(Handle<ov_infer_request_t> request, requests_->take());
  QUADRANT_CHECK(compute(*request, inputs));  // one that failed is not used again
  QUADRANT_CHECK(
      watched_.give_computed([&](std::size_t i) { return output(*request, i); }, observe));
  requests_->give_back(std::move(request));
  return {};
}

}  // namespace

Expected<std::unique_ptr<OpenVinoRuntime>> OpenVinoRuntime::make() {
  QUADRANT_TRY(const Library* library, Library::get());
  QUADRANT_TRY(Handle<ov_core_t> core,
               library->make("start", library->ov_core_free, library->ov_core_create));
  auto engine = std::make_shared<const Engine>(*library, std::move(core));
  return std::unique_ptr<OpenVinoRuntime>(new OpenVinoRuntime(std::move(engine)));
}

Expected<std::unique_ptr<ModelExecutor>> OpenVinoRuntime::load(
    const Graph& graph, std::span<const Value> watched) const {
  auto model = std::make_unique<OpenVinoModel>(graph, engine_->library, engine_);
  QUADRANT_CHECK(model->prepare(*engine_->core, watched));
  return model;
}

}  // namespace quadrant::inline v0

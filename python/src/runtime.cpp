#include "runtime.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "arrays.hpp"
#include "model.hpp"
#include "runtime/watched_values.hpp"

namespace quadrant::python {
namespace {

class CalledModel final : public ModelExecutor {
 public:
  CalledModel(Session& session, const Graph& graph, WatchedValues watched)
      : session_(session), graph_(graph), watched_(std::move(watched)) {}
  CalledModel(const CalledModel&) = delete;
  CalledModel& operator=(const CalledModel&) = delete;
  ~CalledModel() override {
    const nb::gil_scoped_acquire gil;
    run_.reset();
  }

  Expected<void> prepare(nb::handle load, const std::string& path);
  [[nodiscard]] Expected<void> run(std::span<const Tensor> inputs,
                                   TensorObserver observe) const override;

 private:
  [[nodiscard]] Expected<Tensors> compute(std::span<const Tensor> inputs) const;

  Session& session_;
  const Graph& graph_;
  WatchedValues watched_;
  std::vector<std::size_t> inputs_;  // that are needed
  nb::object run_;                   // null where nothing is computed
};

Expected<void> CalledModel::prepare(nb::handle load, const std::string& path) {
  if (watched_.computed().empty()) return {};
  auto graph = std::make_shared<Graph>(graph_);
  QUADRANT_TRY(inputs_, keep_only(*graph, watched_.computed()));
  return call_python(session_, "the runtime did not take the model", [&]() -> Expected<void> {
    nb::list values;
    for (const Value value : watched_.computed()) {
      values.append(nb::make_tuple(std::string(graph_.value_name(value)),
                                   std::string(to_string(graph_.type(value).element))));
    }
    run_ = load(Model{std::move(graph), path, {}}, values);
    return {};
  });
}

Expected<Tensors> CalledModel::compute(std::span<const Tensor> inputs) const {
  return call_python(session_, "the runtime did not run the model", [&]() -> Expected<Tensors> {
    nb::list arrays;
    for (const std::size_t i : inputs_) arrays.append(to_python(inputs[i]));
    Tensors results;
    for (const nb::handle array : nb::object(run_(arrays))) results.push_back(to_tensor(array));
    return results;
  });
}

Expected<void> CalledModel::run(std::span<const Tensor> inputs, TensorObserver observe) const {
  QUADRANT_CHECK(check_inputs(graph_, inputs));
  QUADRANT_CHECK(watched_.give_known(inputs, observe));
  if (!run_) return {};
  QUADRANT_TRY(const Tensors results, compute(inputs));
  return watched_.give_computed(
      [&](std::size_t i) -> Expected<Tensor> {
        const Value value = watched_.computed()[i];
        const Shape& wanted = graph_.type(value).shape;
        const auto extents = results[i].extents();
        const Shape given(std::vector<std::int64_t>(extents.begin(), extents.end()));
        if (may_equal(given, wanted)) return results[i];
        return fail(ErrorCode::usage,
                    "the runtime gave an array of [" + to_string(given) +
                        "], and the model says [" + to_string(wanted) + "]",
                    {.tensor = std::string(graph_.value_name(value))});
      },
      observe);
}

}  // namespace

Expected<std::unique_ptr<ModelExecutor>> CalledRuntime::load(const Graph& graph,
                                                             std::span<const Value> watched) const {
  QUADRANT_TRY(WatchedValues found, WatchedValues::find(graph, watched));
  auto model = std::make_unique<CalledModel>(session_, graph, std::move(found));
  QUADRANT_CHECK(model->prepare(load_, path_));
  return model;
}

std::unique_ptr<Runtime> runtime_of(Session& session, nb::handle load, const std::string& path,
                                    const RunContext& context) {
  if (load.is_none())
    return std::make_unique<Interpreter>(std::vector<KernelEntry>{}, context.run_memory);
  return std::make_unique<CalledRuntime>(session, load, path);
}

}  // namespace quadrant::python

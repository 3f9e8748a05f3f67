#include "calibration/handed_out.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/regions.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

struct Expectation {
  std::string name;
  bool is_once = true;
};

class CheckedModel final : public ModelExecutor {
 public:
  CheckedModel(std::unique_ptr<ModelExecutor> model, std::vector<Expectation> expected)
      : model_(std::move(model)), expected_(std::move(expected)) {}

  [[nodiscard]] Expected<void> run(std::span<const Tensor> inputs,
                                   TensorObserver observe) const override {
    std::vector<std::size_t> times(expected_.size());
    QUADRANT_CHECK(model_->run(inputs, [&](std::size_t i, const Tensor& tensor) -> Expected<void> {
      if (i >= times.size()) {
        return fail(ErrorCode::usage,
                    fmt::format("the runtime handed out value {}, where {} were asked for", i,
                                times.size()));
      }
      ++times[i];
      return observe(i, tensor);
    }));
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i] == 1 || !expected_[i].is_once) continue;
      return fail(
          ErrorCode::usage,
          fmt::format("the runtime handed it out {} times for a sample, not once", times[i]),
          {.tensor = expected_[i].name});
    }
    return {};
  }

 private:
  std::unique_ptr<ModelExecutor> model_;
  std::vector<Expectation> expected_;
};

// Those of someone's own may have bodies that nobody else knows.
bool has_own_operations(const Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid()) continue;
    const std::string_view kind = graph.kind(node);
    const bool is_known = find_operation(kind) != nullptr || kind == ops::Input::kind ||
                          kind == ops::Output::kind || kind == ops::Constant::kind ||
                          kind == regions::input_kind;
    if (!is_known) return true;
  }
  return false;
}

}  // namespace

Expected<std::unique_ptr<ModelExecutor>> load_checked(const Runtime& runtime, const Graph& graph,
                                                      std::span<const Value> watched) {
  QUADRANT_TRY(std::unique_ptr<ModelExecutor> model, runtime.load(graph, watched));
  QUADRANT_TRY(const Regions regions, Regions::find(graph));
  const bool knows_bodies = !has_own_operations(graph);
  std::set<Value> borders;
  for (const NodeId input : graph.inputs()) borders.insert({input});
  for (const Value output : output_values(graph)) borders.insert(output);
  std::vector<Expectation> expected;
  expected.reserve(watched.size());
  for (const Value value : watched) {
    const bool is_outside = knows_bodies && regions.of(value.node) == Regions::model;
    expected.push_back(
        {std::string(graph.value_name(value)), is_outside || borders.contains(value)});
  }
  return std::make_unique<CheckedModel>(std::move(model), std::move(expected));
}

Expected<std::set<Value>> out_of_reach(const Runtime& runtime, const Graph& graph,
                                       std::span<const Value> values) {
  std::set<Value> found;
  if (runtime.reaches_bodies()) return found;
  QUADRANT_TRY(const Regions regions, Regions::find(graph));
  for (const Value value : values) {
    const bool is_inside =
        graph.constant(value.node) == nullptr && regions.of(value.node) != Regions::model;
    if (is_inside) found.insert(value);
  }
  return found;
}

}  // namespace quadrant::inline v0

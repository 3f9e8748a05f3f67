#include "runtime.hpp"

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kiln {
namespace {

using quadrant::ErrorCode;
using quadrant::Expected;
using quadrant::fail;
using quadrant::Tensor;

constexpr std::string_view number = "kiln.module";

class Executor final : public quadrant::ModelExecutor {
 public:
  Executor(const Module& module, const quadrant::Graph& graph,
           std::span<const quadrant::Value> watched)
      : module_(module), graph_(graph) {
    for (std::size_t i = 0; i < watched.size(); ++i) {
      watched_[std::string(graph.value_name(watched[i]))].push_back(i);
    }
  }

  [[nodiscard]] Expected<void> run(std::span<const Tensor> inputs,
                                   quadrant::TensorObserver observe) const override {
    QUADRANT_CHECK(quadrant::check_inputs(graph_, inputs));
    Expected<void> done;
    const auto see = [&](const Value& value, const std::vector<float>& numbers) {
      const auto found = watched_.find(value.name);
      if (!done || found == watched_.end()) return;
      for (const std::size_t index : found->second) {
        if (done) {
          done = observe(index,
                         Tensor::from_values<float>(quadrant::ElementType::float32,
                                                    quadrant::Shape(value.type.extents), numbers));
        }
      }
    };
    for (std::size_t function = 0; function < inputs.size() && done; ++function) {
      const auto input = inputs[function].as<float>();
      static_cast<void>(kiln::run(module_, function, {input.begin(), input.end()}, see));
    }
    return done;
  }

 private:
  const Module& module_;
  const quadrant::Graph& graph_;
  std::unordered_map<std::string, std::vector<std::size_t>> watched_;  // by name
};

}  // namespace

void Runtime::add(quadrant::Graph& graph, const Module& module) {
  graph.attributes().set(std::string(number), static_cast<std::int64_t>(modules_.size()));
  modules_.push_back(&module);
}

Expected<std::unique_ptr<quadrant::ModelExecutor>> Runtime::load(
    const quadrant::Graph& graph, std::span<const quadrant::Value> watched) const {
  const quadrant::Attribute* found = graph.attributes().find(number);
  if (found == nullptr) return fail(ErrorCode::usage, "no module belongs to this graph");
  const Module& module = *modules_[static_cast<std::size_t>(std::get<std::int64_t>(*found))];
  return std::make_unique<Executor>(module, graph, watched);
}

}  // namespace kiln

#include <fmt/format.h>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {

namespace {

Expected<void> check_input(const Graph& graph, Value input, const Tensor& tensor) {
  const TensorType& type = graph.type(input);
  const std::string name(graph.value_name(input));
  if (!tensor) return fail(ErrorCode::usage, "no tensor for this input", {.tensor = name});
  const bool same_element =
      type.element == ElementType::undefined || type.element == tensor.element();
  if (same_element && may_equal(tensor.shape(), type.shape)) return {};
  return fail(
      ErrorCode::usage,
      fmt::format("the input is {} [{}], the model takes {} [{}]", to_string(tensor.element()),
                  to_string(tensor.shape()), to_string(type.element), to_string(type.shape)),
      {.tensor = name});
}

}  // namespace

Expected<void> check_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return fail(ErrorCode::usage, fmt::format("{} inputs, where the model takes {}", inputs.size(),
                                              graph.inputs().size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    QUADRANT_CHECK(check_input(graph, {graph.inputs()[i], 0}, inputs[i]));
  }
  return {};
}

std::vector<Value> output_values(const Graph& graph) {
  std::vector<Value> values;
  for (const NodeId output : graph.outputs()) values.push_back(graph.operands(output)[0]);
  return values;
}

Expected<Tensors> run_model(const ModelExecutor& model, std::span<const Tensor> inputs,
                            std::size_t count) {
  Tensors results(count);
  QUADRANT_CHECK(model.run(inputs, [&](std::size_t index, const Tensor& tensor) -> Expected<void> {
    results[index] = tensor;
    return {};
  }));
  return results;
}

}  // namespace quadrant::inline v0

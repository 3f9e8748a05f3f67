#include "runs.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "quadrant/ir/text.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "require.hpp"

namespace fuzz {

using namespace quadrant;

const std::vector<std::string_view>& computed_kinds() {
  static const std::vector<std::string_view> kinds = [] {
    std::vector<std::string_view> kinds;
    for (const KernelEntry& entry : Interpreter::kernels()) kinds.push_back(entry.kind);
    return kinds;
  }();
  return kinds;
}

std::optional<Tensors> random_inputs(RandomValues& random, const Graph& graph) {
  Tensors inputs;
  for (const NodeId node : graph.inputs()) {
    const TensorType& type = graph.type({node, 0});
    if (byte_width(type.element) == 0) return {};
    const Shape stated = type.shape.is_ranked() ? type.shape : Shape{2, 3};
    std::vector<std::int64_t> extents;
    for (const Extent extent : stated.extents()) {
      extents.push_back(extent.is_known() ? extent.value() : random.number(1, 3));
    }
    Shape shape(std::move(extents));
    const auto count = shape.element_count();
    if (!count || *count > most_elements) return {};
    const std::vector<std::byte> bytes = random.contents(type.element, shape);
    inputs.push_back(Tensor::from_bytes(type.element, std::move(shape), bytes));
  }
  return inputs;
}

Expected<Tensors> run(const Graph& graph, const Tensors& inputs) {
  const std::vector<Value> outputs = output_values(graph);
  QUADRANT_TRY(const auto model, Interpreter({}, small_memory).load(graph, outputs));
  return run_model(*model, inputs, outputs.size());
}

bool same(const Tensor& a, const Tensor& b) {
  return a.element() == b.element() && a.shape() == b.shape() &&
         std::ranges::equal(a.bytes(), b.bytes());
}

std::string contradiction(const TensorType& type, const Tensor& tensor) {
  const bool agree = type.element == tensor.element() && may_equal(type.shape, tensor.shape());
  if (agree || type.element == ElementType::undefined) return {};
  return to_string(type) + " is said, " +
         to_string(TensorType{tensor.element(), tensor.shape(), nullptr}) + " computed";
}

void require_stated_types(const Graph& graph, const Tensors& outputs) {
  const std::vector<Value> values = output_values(graph);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string other = contradiction(graph.type(values[i]), outputs.at(i));
    require(other.empty(), "the types of a result contradict each other",
            [&] { return other + '\n' + print_graph(graph); });
  }
}

}  // namespace fuzz

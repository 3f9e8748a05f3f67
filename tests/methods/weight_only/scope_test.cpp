#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"

using namespace quadrant;

TEST_CASE("a weight goes with the bias of the product that reads it, and with no other weight") {
  Graph graph;
  const auto constant = [&](std::string name, Shape shape) {
    const auto count = static_cast<std::size_t>(shape.element_count().value_or(0));
    NodeSpec spec;
    spec.kind = ops::Constant::kind;
    spec.results = {{std::move(name), {ElementType::float32, shape, nullptr}}};
    spec.constant =
        Constant::from_values<float>(ElementType::float32, shape, std::vector<float>(count, 1));
    return Value{graph.add(std::move(spec))};
  };
  const TensorType matrix{ElementType::float32, Shape{4, 4}, nullptr};
  const Value input = graph.add_input("x", matrix);
  const Value w1 = constant("w1", {4, 4});
  const Value b1 = constant("b1", {4});
  const Value w2 = constant("w2", {4, 4});
  const auto gemm = [&](std::string name, std::vector<Value> operands) {
    NodeSpec spec;
    spec.kind = ops::Gemm::kind;
    spec.operands = std::move(operands);
    spec.results = {{std::move(name), matrix}};
    return Value{graph.add(std::move(spec))};
  };
  const Value first = gemm("first", {input, w1, b1});
  const Value second = gemm("second", {first, w2});
  graph.add_output("y", second);
  const auto order = *topological_order(graph);
  const Registry registry = *weight_only_registry();
  const auto vetoed = [&](std::vector<NodeId> included) {
    std::vector<std::string> names;
    for (const auto& [node, reason] :
         restrict_to(graph, order, detect_eligibility(graph, order, registry), included, "")) {
      names.emplace_back(graph.value_name({node}));
    }
    std::ranges::sort(names);
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(vetoed({w1.node}) == Names{"second", "w2"});
  CHECK(vetoed({b1.node}) == Names{"second", "w1", "w2"});
  CHECK(vetoed({first.node}) == Names{"second", "w2"});
  CHECK(vetoed({input.node}) == Names{"b1", "second", "w1", "w2"});
  CHECK(vetoed({first.node, w2.node}).empty());
}

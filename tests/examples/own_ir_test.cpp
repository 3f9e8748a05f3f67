// The example's adaptor keeps the promises of the two interfaces, and its IR ends up as the
// library's own graph does.
#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "adaptor.hpp"
#include "autoencoder.hpp"
#include "ir.hpp"
#include "methods.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/topology.hpp"
#include "quadrant/ir/verify.hpp"

namespace {

using namespace quadrant;

// A graph of the library's own kind with the same operations.
Graph converted(const GraphView& from) {
  Graph graph;
  std::unordered_map<NodeId, NodeId> made;
  const auto order = topological_order(from);
  REQUIRE(order.has_value());
  for (const NodeId node : *order) {
    NodeSpec spec{.kind = std::string(from.kind(node)), .name = std::string(from.name(node))};
    for (const Value operand : from.operands(node)) {
      spec.operands.push_back({made.at(operand.node), operand.result});
    }
    for (std::uint32_t i = 0; i < from.result_count(node); ++i) {
      const Value result{node, i};
      spec.results.push_back({std::string(from.value_name(result)), from.type(result)});
    }
    if (const Constant* constant = from.constant(node)) spec.constant = *constant;
    made[node] = graph.add(std::move(spec));
  }
  return graph;
}

// What makes each value, by its name; buffers, which the library's graph does not need, left out.
std::map<std::string, std::string> described(const GraphView& graph) {
  std::map<std::string, std::string> values;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (graph.result_count(node) == 0 || graph.kind(node) == "kiln.alloc") continue;
    std::string& text = values[std::string(graph.value_name({node}))];
    text = std::string(graph.kind(node)) + " " + to_string(graph.type({node}));
    for (const Value operand : graph.operands(node)) {
      if (graph.kind(operand.node) == "kiln.alloc") continue;
      text += " " + std::string(graph.value_name(operand));
    }
  }
  return values;
}

// What holds in the IR and what Quadrant cannot see.
void check_invariants(const kiln::Function& function) {
  std::unordered_set<const kiln::Value*> defined;
  for (const kiln::Op* op = function.first(); op != nullptr; op = op->next.get()) {
    for (const kiln::Use& use : op->operands) CHECK(defined.contains(use.value));
    defined.insert(&op->result);
    if (op->code == kiln::OpCode::transpose) {
      const kiln::Type& destination = op->operands[1].value->type;
      CHECK(destination.scalar == op->result.type.scalar);
      CHECK(destination.extents == op->result.type.extents);
    }
  }
}

void check_valid(const GraphView& graph) {
  const auto valid = verify(graph);
  CHECK_MESSAGE(valid.has_value(), to_string(valid ? Error{} : valid.error()));
}

// The model, and all that is needed to quantize it.
struct Model {
  Model() { kiln::build_autoencoder(function); }
  kiln::Function function;
  Registry registry = *kiln::weight_only();
};

}  // namespace

TEST_CASE("the plan is that of the library's own graph of the same model") {
  Model model;
  const kiln::Adaptor graph(model.function);
  check_valid(graph);
  const Graph same = converted(graph);
  const auto plan = analyze(graph, model.registry);
  const auto expected = analyze(same, model.registry);
  REQUIRE(plan.has_value());
  REQUIRE(expected.has_value());
  CHECK(plan->plan == expected->plan);
  CHECK(plan->plan.values.size() == 3);
}

TEST_CASE("rewritten, it is what the library's own graph becomes") {
  Model model;
  kiln::Adaptor graph(model.function);
  const auto expected = quantize(converted(graph), model.registry);
  REQUIRE(expected.has_value());
  REQUIRE(quantize(graph, model.registry).has_value());
  check_valid(graph);
  check_invariants(model.function);
  CHECK(described(graph) == described(expected->graph));
}

TEST_CASE("an adaptor made anew reads the rewritten IR as the old one does, and nothing is left") {
  Model model;
  kiln::Adaptor graph(model.function);
  REQUIRE(quantize(graph, model.registry).has_value());
  kiln::Adaptor anew(model.function);
  check_valid(anew);
  CHECK(described(anew) == described(graph));
  const std::string before = to_string(model.function);
  const auto again = quantize(anew, model.registry);
  REQUIRE(again.has_value());
  CHECK(again->plan.values.empty());
  CHECK(to_string(model.function) == before);
}

TEST_CASE("what Kiln does not have is impossible, and nothing happens") {
  Model model;
  kiln::Adaptor graph(model.function);
  const std::string before = to_string(model.function);
  NodeId weight;
  NodeId computed;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    if (graph.name({i}) == "filter") weight = {i};
    if (graph.name({i}) == "features") computed = {i};
  }
  for (const std::string_view kind : emitted_ops) {
    if (kind == ops::Dequantize::kind) continue;
    const auto made = graph.emit({.kind = std::string(kind)});
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().code == ErrorCode::impossible);
  }
  const std::vector<float> one{1};
  UniformType per_tensor;
  per_tensor.scales = Constant::from_values(ElementType::float32,
                                            Shape(std::vector<std::int64_t>{}), std::span(one));
  const auto type = std::make_shared<const UniformType>(per_tensor);
  const Constant codes = Constant::from_bytes(ElementType::int8, graph.type({weight}).shape,
                                              std::vector<std::byte>(324));
  CHECK_FALSE(graph.set_constant(weight, codes, type).has_value());
  CHECK_FALSE(graph.set_constant(weight, codes, nullptr).has_value());
  TensorType half = graph.type({computed});
  CHECK_FALSE(graph.set_type({computed}, half).has_value());
  half.element = ElementType::float16;
  CHECK_FALSE(graph.set_type({computed}, half).has_value());
  CHECK(to_string(model.function) == before);
  check_valid(graph);
}

TEST_CASE("a weight that holds NaN is found before the IR is touched") {
  Model model;
  std::vector<float> values(96);
  values[7] = std::numeric_limits<float>::quiet_NaN();
  kiln::Op* op = model.function.first();
  while (op->result.name != "shared") op = op->next.get();
  const auto bytes = std::as_bytes(std::span(values));
  op->contents = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  kiln::Adaptor graph(model.function);
  const std::string before = to_string(model.function);
  const auto refused = quantize(graph, model.registry);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().place.tensor == "shared");
  CHECK(to_string(model.function) == before);
  REQUIRE(
      quantize(graph, model.registry, {.non_finite = NonFinitePolicy::leave_float}).has_value());
  check_valid(graph);
}

#include "quadrant/engine/quantize.hpp"

#include <doctest/doctest.h>

#include <string>

#include "engine/toy_scheme.hpp"
#include "quadrant/ir/graph.hpp"

using namespace quadrant;

namespace {

QuantizeResult quantize_toy(const Graph& graph, const QuantizeOptions& options = {}) {
  auto result = quantize(graph, toy::registry(), options);
  REQUIRE_MESSAGE(result.has_value(), to_string(result ? Error{} : result.error()));
  return *std::move(result);
}

}  // namespace

TEST_CASE("rewriting dequantizes once, for all who read floats, and keeps the value's name") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  const Value pass = toy::add(graph, "pass", "p", {root});
  toy::add(graph, "use", "u", {pass});
  toy::add(graph, "use", "v", {pass});
  toy::add(graph, "foreign", "f", {pass});
  graph.add_output("y", pass);
  const QuantizeResult result = quantize_toy(graph);
  const Value real = result.graph.find_value("p");
  const Value codes = result.graph.find_value("p_quantized");
  REQUIRE_FALSE(real.is_absent());
  REQUIRE_FALSE(codes.is_absent());
  CHECK(result.graph.kind(real.node) == "dequantize");
  CHECK(result.graph.uses(real.node).size() == 4);
  CHECK(result.graph.uses(codes.node).size() == 1);
  CHECK(result.graph.type(codes).is_quantized());
  CHECK_FALSE(result.graph.type(real).is_quantized());
  // The root is read in quantized form alone: it needs no float form and keeps its name.
  CHECK(result.graph.type(result.graph.find_value("w")).is_quantized());
  CHECK(result.graph.find_value("w_quantized").is_absent());
}

TEST_CASE("the graph that was given is not changed") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  toy::add(graph, "use", "u", {root});
  const std::uint32_t nodes = graph.node_count();
  (void)quantize_toy(graph);
  CHECK(graph.node_count() == nodes);
  CHECK_FALSE(graph.type(root).is_quantized());
}

TEST_CASE("no quantized value reaches an operation that did not ask for it") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  const Value other = toy::add(graph, "root", "o", {});
  const Value join = toy::add(graph, "join", "j", {root, other});
  toy::add(graph, "use", "u", {join});
  toy::add(graph, "list", "many", {root, other, root, join});
  graph.add_output("y", root);
  const QuantizeResult result = quantize_toy(graph);
  for (std::uint32_t i = 0; i < result.graph.index_bound(); ++i) {
    const NodeId node = result.graph.node_at(i);
    const std::string_view kind = result.graph.kind(node);
    if (kind == "join" || kind == "pass" || kind == "dequantize") continue;
    for (const Value operand : result.graph.operands(node)) {
      CHECK_FALSE(result.graph.type(operand).is_quantized());
    }
  }
}

TEST_CASE("the data pass reads selected nodes alone, and its refusals are obeyed") {
  Graph graph;
  const Value good = toy::add(graph, "root", "good", {});
  const Value bad = toy::add(graph, "root", "bad", {}, {{"bad", std::int64_t{1}}});
  toy::add(graph, "root", "unasked", {}, {{"bad", std::int64_t{1}}});
  toy::add(graph, "use", "u", {good});
  toy::add(graph, "use", "v", {bad});
  auto calls = std::make_shared<toy::Calls>();
  const Registry registry = toy::registry(calls);

  const auto refused = quantize(graph, registry);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::impossible);
  CHECK(refused.error().place.tensor == "bad");
  CHECK(refused.error().message.find("bad contents") != std::string::npos);
  CHECK(calls->examine == 2);

  QuantizeOptions options;
  options.non_finite = NonFinitePolicy::leave_float;
  const auto left = quantize(graph, registry, options);
  REQUIRE(left.has_value());
  CHECK(left->analysis.plan.values.size() == 1);
  CHECK(left->analysis.plan.values[0].value == "good");
  CHECK(left->analysis.vetoes.at(bad.node) == "bad contents");
}

TEST_CASE("what was found outlives the registry that was given") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  toy::add(graph, "use", "u", {root});
  const QuantizeResult result = quantize_toy(graph);  // with a registry that is gone by now
  CHECK(result.analysis.eligibility.method(root.node)->name() == "RootMethod");
  CHECK(result.analysis.registry.scheme().name() == "toy");
}

TEST_CASE("a cycle is an error, not a hang") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  const Value a = toy::add(graph, "join", "a", {root, root});
  const Value b = toy::add(graph, "pass", "b", {a});
  graph.set_operand(a.node, 1, b);
  const auto result = quantize(graph, toy::registry());
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::invalid_model);
}

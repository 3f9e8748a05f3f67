// Consumers that read codes and rewrite themselves and what follows them: `take`, AnyConsumer,
// RewriteContext::emit and replace.
#include "engine/scale_behind.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <utility>

#include "quadrant/ir/graph.hpp"

using namespace quadrant;

namespace {

// --- building ------------------------------------------------------------------------------------

// 127 is the largest magnitude, so the scale is a power of two and everything is exact.
const std::vector<float> weights{127.0F / 4, -64.0F / 4, 32.0F / 4, 1.0F / 4};
const std::vector<float> biases{3, -5.5};

Value constant(Graph& graph, std::string name, Shape shape, const std::vector<float>& values) {
  return graph.add_constant(
      std::move(name),
      Constant::from_values(ElementType::float32, std::move(shape), std::span(values)));
}

Value node(Graph& graph, std::string_view kind, std::string name, std::vector<Value> operands) {
  return {graph.add({.kind = std::string(kind),
                     .name = name,
                     .operands = std::move(operands),
                     .results = {{name, {ElementType::float32, Shape{2, 2}, nullptr}}}})};
}

// y = x w + b, all of two rows and columns.
struct Affine {
  Graph graph;
  Value x = graph.add_input("x", {ElementType::float32, Shape{2, 2}, nullptr});
  Value w = constant(graph, "w", Shape{2, 2}, weights);
  Value b = constant(graph, "b", Shape{2}, biases);
  Value product = node(graph, ops::MatMul::kind, "product", {x, w});
  Value sum = node(graph, scale_behind::Add::kind, "sum", {product, b});
  NodeId output = graph.add_output("y", sum);
};

QuantizeResult quantized_and_verified(const Graph& graph, const QuantizeOptions& options = {}) {
  const auto registry = RegistryBuilder::of(scale_behind::Scheme()).freeze();
  REQUIRE(registry.has_value());
  auto result = quantize(graph, *registry, options);
  REQUIRE_MESSAGE(result.has_value(), to_string(result ? Error{} : result.error()));
  const auto verified = verify(result->graph);
  REQUIRE_MESSAGE(verified.has_value(), to_string(verified ? Error{} : verified.error()));
  return *std::move(result);
}

// --- computing -----------------------------------------------------------------------------------

using Matrix = std::vector<double>;  // of two columns; a scalar has one element

Matrix elementwise(const Matrix& a, const Matrix& b,
                   const std::function<double(double, double)>& f) {
  Matrix result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = f(a[i], b[i % b.size()]);
  return result;
}

Matrix product(const Matrix& a, const Matrix& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],  //
          a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
}

Matrix contents(const Constant& constant) {
  const auto read = constant.read();
  REQUIRE(read.has_value());
  Matrix result;
  if (constant.element() == ElementType::int8) {
    for (const std::int8_t code : read->as<std::int8_t>()) result.push_back(code);
  } else {
    for (const float value : read->as<float>()) result.push_back(static_cast<double>(value));
  }
  return result;
}

Matrix compute(const Graph& graph, Value value, const Matrix& x) {
  const NodeId at = value.node;
  const std::string_view kind = graph.kind(at);
  if (kind == ops::Input::kind) return x;
  if (kind == ops::Constant::kind) return contents(*graph.constant(at));
  const Value first = graph.operands(at)[0];
  Matrix a = compute(graph, first, x);
  if (kind == ops::StorageCast::kind) return a;
  if (kind == ops::Dequantize::kind) {
    return elementwise(a, contents(graph.type(first).uniform()->scales), std::multiplies<>());
  }
  const Matrix b = compute(graph, graph.operands(at)[1], x);
  if (kind == ops::MatMul::kind) return product(a, b);
  if (kind == scale_behind::Add::kind) return elementwise(a, b, std::plus<>());
  if (kind == scale_behind::Multiply::kind) return elementwise(a, b, std::multiplies<>());
  REQUIRE(kind == scale_behind::Divide::kind);
  return elementwise(a, b, std::divides<>());
}

Matrix output(const Graph& graph, std::size_t index = 0) {
  return compute(graph, graph.operands(graph.outputs()[index])[0], {1, 2, -3, 0.5});
}

// The operations from the output backwards along operand 0.
std::vector<std::string> spine(const Graph& graph) {
  std::vector<std::string> kinds;
  for (NodeId at = graph.operands(graph.outputs()[0])[0].node; graph.kind(at) != ops::Input::kind;
       at = graph.operands(at)[0].node) {
    kinds.emplace_back(graph.kind(at));
  }
  return kinds;
}

}  // namespace

TEST_CASE("a product takes codes, and the scale goes behind it and behind the addition after it") {
  const Affine affine;
  const QuantizeResult result = quantized_and_verified(affine.graph);
  const Selection& selection = result.analysis.selection;
  CHECK(selection.is_selected(affine.w));
  CHECK(selection.read(affine.product.node, 1) == selection.produced(affine.w));
  CHECK(selection.conversions().empty());  // nobody reads the weight in float
  CHECK(spine(result.graph) == std::vector<std::string>{"multiply", "add", "matmul"});
  CHECK(output(result.graph) == output(affine.graph));
}

TEST_CASE("the product computes on unscaled codes") {
  const QuantizeResult result = quantized_and_verified(Affine().graph);
  const NodeId product = result.graph.find_value("product").node;
  const Value operand = result.graph.operands(product)[1];
  CHECK(compute(result.graph, operand, {}) == Matrix{127, -64, 32, 1});
}

TEST_CASE("who reads the product beside the addition reads it scaled") {
  Affine affine;
  affine.graph.add_output("z", affine.product);
  const QuantizeResult result = quantized_and_verified(affine.graph);
  CHECK(output(result.graph, 0) == output(affine.graph, 0));
  CHECK(output(result.graph, 1) == output(affine.graph, 1));
}

TEST_CASE("who reads the weight in float reads it dequantized, beside those who take its codes") {
  Affine affine;
  affine.graph.add_output("weight", affine.w);
  const QuantizeResult result = quantized_and_verified(affine.graph);
  CHECK(result.analysis.selection.conversions().size() == 1);
  CHECK(output(result.graph, 0) == output(affine.graph, 0));
  CHECK(output(result.graph, 1) == output(affine.graph, 1));
}

TEST_CASE("two products, each with its addition, share the weight and not the scale's place") {
  Affine affine;
  const Value second = node(affine.graph, ops::MatMul::kind, "second", {affine.sum, affine.w});
  affine.graph.add_output("z",
                          node(affine.graph, scale_behind::Add::kind, "t", {second, affine.b}));
  const QuantizeResult result = quantized_and_verified(affine.graph);
  CHECK(output(result.graph, 1) == output(affine.graph, 1));
  CHECK(result.graph.kind(result.graph.find_value("w").node) == ops::Constant::kind);
}

TEST_CASE("one addition after another: each carries the scale on") {
  Affine affine;
  affine.graph.set_operand(
      affine.output, 0,
      node(affine.graph, scale_behind::Add::kind, "again", {affine.sum, affine.b}));
  const QuantizeResult result = quantized_and_verified(affine.graph);
  CHECK(spine(result.graph) == std::vector<std::string>{"multiply", "add", "add", "matmul"});
  CHECK(output(result.graph) == output(affine.graph));
}

TEST_CASE("AnyConsumer: an addition behind anything else is left alone") {
  Affine affine;
  const Value direct = node(affine.graph, scale_behind::Add::kind, "direct", {affine.x, affine.b});
  affine.graph.add_output("z", direct);
  const QuantizeResult result = quantized_and_verified(affine.graph);
  CHECK(result.analysis.eligibility.state(affine.sum) == State::Consumer);
  CHECK(result.analysis.eligibility.state(direct) == State::Unquantized);
  CHECK(result.analysis.eligibility.cause(direct.node) == EligibilityCause::pattern);
  const auto operands = result.graph.operands(direct.node);
  CHECK(std::vector(operands.begin(), operands.end()) == std::vector{affine.x, affine.b});
}

TEST_CASE("where the weight stays in float, neither the product nor the addition changes") {
  const Affine affine;
  const Plan nothing{.schemes = {{"scale_behind", "int8"}},
                     .gain_model = {},
                     .objective = {},
                     .values = {},
                     .conversions = {},
                     .shared = {}};
  QuantizeOptions options;
  options.plan = &nothing;
  const QuantizeResult result = quantized_and_verified(affine.graph, options);
  CHECK(spine(result.graph) == std::vector<std::string>{"add", "matmul"});
  CHECK(result.graph.node_count() == affine.graph.node_count());
}

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models.hpp"
#include "quadrant/targets/runtime_profile.hpp"

using namespace quadrant;

namespace {

ParameterList find(const Graph& graph) {
  auto list = find_parameters(graph);
  REQUIRE(list);
  return *std::move(list);
}

std::vector<std::string> names(const ParameterList& list) {
  std::vector<std::string> result;
  for (const Parameter& parameter : list.parameters) result.push_back(parameter.name);
  return result;
}

}  // namespace

TEST_CASE("a weight that two operations read counts once") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1, 4}));
  const Value w = models::weight(graph, "w", ElementType::float32, {4, 4});
  const Value h = build::add(graph, "matmul", {x, w}, build::f32({1, 4}));
  graph.add_output("y", build::add(graph, "matmul", {h, w}, build::f32({1, 4})));
  CHECK(find(graph).all == ParameterTotals{1, 16, 64});
}

TEST_CASE("contents are not read") {
  // The source of these fails when it is read.
  Graph graph = models::quantized();
  const Constant* w = graph.constant(graph.find_value("w").node);
  REQUIRE(w != nullptr);
  CHECK(!w->read());
  CHECK(find(graph).all.count == 3);
}

TEST_CASE("settings and integers are no parameters") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1, 4}));
  const Value shape = graph.add_constant("shape", build::integers({2, 2}));
  const Value reshaped = build::add(graph, "reshape", {x, shape}, build::f32({2, 2}));
  const Value half = graph.add_constant("half", build::floats(Shape::scalar(), {0.5F}));
  const Value one = graph.add_constant("one", build::floats({1}, {1.0F}));
  const Value none = graph.add_constant("none", build::floats({0}, {}));
  const Value factors = models::weight(graph, "factors", ElementType::float32, {4});
  const Value scaled = build::add(graph, "multiply", {reshaped, half}, build::f32({2, 2}));
  const Value sum = build::add(graph, "add", {scaled, one}, build::f32({2, 2}));
  const Value big = build::add(graph, "onnx.Resize", {sum, none, factors});
  const Value table = models::weight(graph, "table", ElementType::float32, {1, 1});
  graph.add_output("y", build::add(graph, "matmul", {big, table}));
  const ParameterList list = find(graph);
  // A weight of 1 x 1 is one all the same.
  CHECK(names(list) == std::vector<std::string>{"table"});
  CHECK(list.settings == ParameterTotals{4, 6, 24});
  CHECK(list.integers == ParameterTotals{1, 2, 16});

  // Who computes with the factors, too, makes a parameter of them.
  build::add(graph, "add", {sum, factors});
  CHECK(names(find(graph)) == std::vector<std::string>{"factors", "table"});
}

TEST_CASE("codes of operators that have scales of their own") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1, 32}));
  // MatMulNBits packs two codes of 4 bits: 6 columns of 32.
  const Value packed = models::weight(graph, "packed", ElementType::uint8, {6, 1, 16});
  const Value scales = models::weight(graph, "scales", ElementType::float32, {6});
  build::add(graph, "onnx.com.microsoft::MatMulNBits", {x, packed, scales}, {},
             {{"bits", std::int64_t{4}}});
  const Value kernel = models::weight(graph, "kernel", ElementType::int8, {3, 2, 5, 5});
  const Value point = models::weight(graph, "point", ElementType::int8, {3});
  const Value bias = models::weight(graph, "bias", ElementType::int32, {3});
  build::add(graph, "onnx.QLinearConv",
             {x, scales, point, kernel, scales, point, scales, point, bias});
  const ParameterList list = find(graph);
  CHECK(names(list) == std::vector<std::string>{"packed", "kernel", "bias"});
  CHECK(list.storage ==
        std::vector<StorageTotals>{{ParameterForm::quantized, ElementType::uint4, {1, 192, 96}},
                                   {ParameterForm::quantized, ElementType::int8, {1, 150, 150}},
                                   {ParameterForm::quantized, ElementType::int32, {1, 3, 12}}});
  CHECK(list.settings == ParameterTotals{1, 6, 24});
  CHECK(list.integers == ParameterTotals{1, 3, 3});
  CHECK(bytes_as(list.parameters[0], ElementType::float32) == 4 * 192);
  CHECK(bytes_as(list.parameters[0], ElementType::uint8) == 192);
  // With 8 bits a code is a byte.
  for (const std::int64_t bits : {std::int64_t{8}, std::int64_t{0}, std::int64_t{-3}}) {
    const NodeId product = graph.uses(packed.node)[0].user;
    graph.set_attribute(product, "bits", bits);
    CHECK(find(graph).parameters[0].elements == 96);
  }
}

TEST_CASE("bytes of blocks") {
  Graph graph;
  models::coded_weight(graph, "w", ElementType::int4, {5, 70}, Granularity::per_block(1, 32));
  const ParameterList list = find(graph);
  // 3 blocks in each of 5 rows; blocks whose zero points are all 0 store none.
  CHECK(list.all == ParameterTotals{1, 350, 175 + 15 * 4});
  CHECK(bytes_as(list.parameters[0], ElementType::uint8) == 350 + 15 * 5);
  CHECK(bytes_as(list.parameters[0], ElementType::float16) == 700);
}

TEST_CASE("an axis that the constant does not have is an error that names it") {
  for (const Granularity granularity :
       {Granularity::per_axis(2), Granularity::per_axis(-1), Granularity::per_block(0, 0)}) {
    Graph graph;
    const Value w = models::weight(graph, "w", ElementType::int8, {4, 6});
    auto type = std::make_shared<UniformType>();
    type->granularity = granularity;
    graph.set_constant(w.node, *graph.constant(w.node), type);
    const auto list = find_parameters(graph);
    REQUIRE(!list);
    CHECK(list.error().code == ErrorCode::invalid_model);
    CHECK(list.error().place.tensor == "w");
  }
}

TEST_CASE("a constant that nobody reads is in the file") {
  Graph graph;
  models::weight(graph, "w", ElementType::float32, {4});
  CHECK(find(graph).all == ParameterTotals{1, 4, 16});
}

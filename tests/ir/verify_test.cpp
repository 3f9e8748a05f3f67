#include <doctest/doctest.h>

#include <limits>

#include "build.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

bool valid(const UniformType& type, const Shape& shape) {
  const auto result = verify(type, shape);
  if (!result) CHECK(result.error().code == ErrorCode::invalid_model);
  return result.has_value();
}

Expected<void> verify_text(std::string_view text) {
  const auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())), text);
  return verify(*graph);
}

// A view that shows a graph with one thing about it wrong.
class Broken final : public GraphView {
 public:
  explicit Broken(const Graph& graph) : graph_(&graph) {}

  NodeId node;  // the one that is shown differently
  std::vector<Value> operands_of_node;
  std::vector<Use> uses_of_node;
  bool other_operands = false;
  bool other_uses = false;
  std::string_view name_of_all;  // of all values, when not null

  std::uint32_t index_bound() const noexcept override { return graph_->index_bound(); }
  NodeId node_at(std::uint32_t index) const noexcept override { return graph_->node_at(index); }
  std::string_view kind(NodeId id) const noexcept override { return graph_->kind(id); }
  std::string_view name(NodeId id) const noexcept override { return graph_->name(id); }
  std::span<const Value> operands(NodeId id) const noexcept override {
    return other_operands && id == node ? operands_of_node : graph_->operands(id);
  }
  std::uint32_t result_count(NodeId id) const noexcept override { return graph_->result_count(id); }
  std::span<const Use> uses(NodeId id) const noexcept override {
    return other_uses && id == node ? uses_of_node : graph_->uses(id);
  }
  const Attribute* attribute(NodeId id, std::string_view key) const noexcept override {
    return graph_->attribute(id, key);
  }
  const Constant* constant(NodeId id) const noexcept override { return graph_->constant(id); }
  const TensorType& type(Value value) const noexcept override { return graph_->type(value); }
  std::string_view value_name(Value value) const noexcept override {
    return name_of_all.data() != nullptr ? name_of_all : graph_->value_name(value);
  }

 private:
  const Graph* graph_;
};

}  // namespace

TEST_CASE("granularities that fit") {
  CHECK(valid(*build::uniform({0.5F}), {2, 3}));
  CHECK(valid(*build::uniform({0.5F}), Shape()));
  CHECK(valid(*build::uniform({1, 2, 3}, Granularity::per_axis(1)), {2, 3}));
  CHECK(valid(*build::uniform({1, 2, 3}, Granularity::per_axis(1)), {2, Extent::open()}));
  CHECK(valid(*build::uniform({1, 2, 3}, Granularity::per_axis(1)), Shape()));
  auto blocks = build::uniform({}, Granularity::per_block(1, 4));
  blocks->scales = build::floats({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(valid(*blocks, {2, 10}));
  CHECK(valid(*blocks, {Extent::open(), 10}));
  CHECK(valid(*build::uniform({}, Granularity::per_axis(0)), {0, 3}));
}

TEST_CASE("axes and blocks that do not fit") {
  CHECK(!valid(*build::uniform({1, 2, 3}, Granularity::per_axis(2)), {2, 3}));
  CHECK(!valid(*build::uniform({1, 2, 3}, Granularity::per_axis(-1)), {2, 3}));
  CHECK(!valid(*build::uniform({1, 2, 3}, Granularity::per_axis(-1)), Shape()));
  CHECK(!valid(*build::uniform({1}, Granularity::per_axis(0)), Shape(std::vector<std::int64_t>{})));
  for (const std::int64_t size : {0, -4}) {
    auto blocks = build::uniform({}, Granularity::per_block(1, size));
    blocks->scales = build::floats({2, 3}, {1, 2, 3, 4, 5, 6});
    CHECK(!valid(*blocks, {2, 10}));
    CHECK(!valid(*blocks, Shape()));
  }
}

TEST_CASE("scales of the wrong shape or type") {
  CHECK(!valid(*build::uniform({1, 2}, Granularity::per_axis(1)), {2, 3}));
  CHECK(!valid(*build::uniform({1, 2, 3}, Granularity::per_axis(0)), {2, 3}));
  auto type = build::uniform({0.5F});
  type->scales = build::floats({1}, {0.5F});  // one-dimensional for one scale
  CHECK(!valid(*type, {2, 3}));
  type->scales = build::floats({1, 3}, {1, 2, 3});
  type->granularity = Granularity::per_axis(1);
  CHECK(!valid(*type, {2, 3}));
  CHECK(!valid(*type, Shape()));
  type->scales = build::zeros(ElementType::float64, {3});
  CHECK(!valid(*type, {2, 3}));
  type->scales = Constant();
  CHECK(!valid(*type, {2, 3}));
}

TEST_CASE("scales are finite and not zero, where they can be seen") {
  for (const float scale : {0.0F, -0.0F, infinity, -infinity, not_a_number}) {
    CAPTURE(scale);
    CHECK(!valid(*build::uniform({scale}), {2}));
    CHECK(!valid(*build::uniform({1.0F, scale}, Granularity::per_axis(0)), {2}));
  }
  CHECK(valid(*build::uniform({std::numeric_limits<float>::denorm_min()}), {2}));
  // Negative ones mirror the range.
  CHECK(valid(*build::uniform({-1.0F}), {2}));
  CHECK(valid(*build::uniform({-std::numeric_limits<float>::max(), 2.0F}, Granularity::per_axis(0)),
              {2}));
  auto type = build::uniform({1}, Granularity::per_axis(0));
  type->scales = build::deferred(ElementType::float32, {2}, true);  // must not be read
  CHECK(valid(*type, {2}));
  CHECK(!valid(*type, {3}));
}

TEST_CASE("zero points") {
  const auto with = [](ElementType storage, Constant zero_points) {
    auto type = build::uniform({1, 2}, Granularity::per_axis(0));
    type->storage = storage;
    type->storage_min = storage == ElementType::int8 ? -127 : 0;
    type->storage_max = 127;
    type->zero_points = std::move(zero_points);
    return *type;
  };
  const auto codes = [](std::vector<std::int8_t> values) {
    return Constant::from_values<std::int8_t>(ElementType::int8,
                                              {static_cast<std::int64_t>(values.size())}, values);
  };
  CHECK(valid(with(ElementType::int8, codes({-127, 127})), {2}));
  CHECK(!valid(with(ElementType::int8, codes({-128, 0})), {2}));
  CHECK(!valid(with(ElementType::int8, codes({0})), {2}));
  CHECK(!valid(with(ElementType::int8, codes({0, 0, 0})), {2}));
  CHECK(!valid(with(ElementType::uint8, codes({0, 0})), {2}));
  CHECK(!valid(with(ElementType::int8, build::zeros(ElementType::int8, {2, 1})), {2}));
  CHECK(!valid(with(ElementType::int8, build::zeros(ElementType::int32, {2})), {2}));
  CHECK(valid(with(ElementType::int8, build::deferred(ElementType::int8, {2}, true)), {2}));
  CHECK(!valid(with(ElementType::int8, build::deferred(ElementType::int8, {3}, true)), {2}));
}

TEST_CASE("storage and expressed types") {
  const auto with = [](ElementType storage, std::int64_t min, std::int64_t max,
                       ElementType expressed = ElementType::float32) {
    auto type = build::uniform({1});
    type->storage = storage;
    type->storage_min = min;
    type->storage_max = max;
    type->expressed = expressed;
    return *type;
  };
  CHECK(valid(with(ElementType::int8, -128, 127), {2}));
  CHECK(valid(with(ElementType::uint4, 0, 15, ElementType::bfloat16), {2}));
  CHECK(valid(with(ElementType::int32, INT32_MIN, INT32_MAX), {2}));
  CHECK(!valid(with(ElementType::int8, -129, 127), {2}));
  CHECK(!valid(with(ElementType::int8, -128, 128), {2}));
  CHECK(!valid(with(ElementType::int4, -8, 8), {2}));
  CHECK(!valid(with(ElementType::uint8, -1, 255), {2}));
  CHECK(!valid(with(ElementType::int8, 5, 5), {2}));
  CHECK(!valid(with(ElementType::int8, 5, -5), {2}));
  CHECK(!valid(with(ElementType::int64, -5, 5), {2}));
  CHECK(!valid(with(ElementType::boolean, 0, 1), {2}));
  CHECK(!valid(with(ElementType::float32, 0, 1), {2}));
  CHECK(!valid(with(ElementType::undefined, 0, 1), {2}));
  CHECK(!valid(with(ElementType::int8, -128, 127, ElementType::int32), {2}));
  CHECK(!valid(with(ElementType::int8, -128, 127, ElementType::undefined), {2}));
}

TEST_CASE("graphs that keep the rules") {
  CHECK(verify(Graph()));
  CHECK(verify_text(R"(
%x: tensor<2x3xf32> = input()
%w: tensor<3x4x!quant.uniform<i8<-127:127>:f32:1, {1.0, 2.0, 0.5, 0.25}>> = constant() <...>
%r: tensor<3x4xf32> = dequantize(%w)
%y: tensor<2x4xf32> = matmul(%x, %r)
%z: tensor<*xundefined> = mystery(%y, _, %y)
%q: tensor<2x4x!quant.uniform<u8:f32, 0.5:128>> = quantize(%y)
%c: tensor<2x4xu8> = storage_cast(%q)
%b: tensor<2x4x!quant.uniform<u8:f32, 0.5:128>> = storage_cast(%c)
output(%z)
output(%z)
)"));
}

TEST_CASE("types that contradict the operation") {
  const std::string x = "%x: tensor<2x3xf32> = input()\n";
  const std::string q = "%q: tensor<2x3x!quant.uniform<i8:f32, 0.5>> = input()\n";
  for (const std::string& text : {
           x + "%y: tensor<2x3xf32> = transpose(%x)",
           x + "%y: tensor<3x2xf32> = identity(%x)",
           x + "%y: tensor<2x3xf16> = identity(%x)",
           x + "%y: tensor<2x3xf32> = matmul(%x, %x)",
           x + "%y: tensor<2x3xf32> = identity(%x, %x)",
           x + "%y: tensor<2x3xf32> = identity()",
           x + "%y: tensor<2x3xf32> = identity(_)",
           x + "%y: tensor<2x3xf32>, %z: tensor<2x3xf32> = identity(%x)",
           x + "identity(%x)",
           x + "output()",
           x + "%y: tensor<2x3xf32> = output(%x)",
           x + "%y: tensor<2xf32> = input(%x)",
           std::string("%y: tensor<2xf32> = constant()"),
           std::string("%y: tensor<2xf32> = constant() tensor<3xf32>[1, 2, 3]"),
           std::string("%y: tensor<2xf32> = constant() tensor<2xf64>[1, 2]"),
           // quantize, dequantize, storage_cast
           x + "%y: tensor<2x3xi8> = quantize(%x)",
           x + "%y: tensor<2x3x!quant.uniform<i8:f16, 0.5>> = quantize(%x)",
           x + "%y: tensor<3x3x!quant.uniform<i8:f32, 0.5>> = quantize(%x)",
           x + "%y: tensor<2x3xf32> = dequantize(%x)",
           x + "%y: tensor<2x3xf32> = storage_cast(%x)",
           x + "%y: tensor<2x3xf32> = fake_quantize(%x, %x, %x, %x, %x)",
           x + "%y: tensor<3x2xf32> = fake_quantize(%x, %x, %x, %x, %x) {levels = 2}",
           q + "%y: tensor<2x3xf16> = dequantize(%q)",
           q + "%y: tensor<3x2xf32> = dequantize(%q)",
           q + "%y: tensor<2x3xi8> = dequantize(%q)",
           q + "%y: tensor<2x3xi16> = storage_cast(%q)",
           q + "%y: tensor<2x3xu8> = storage_cast(%q)",
           q + "%y: tensor<2x4xi8> = storage_cast(%q)",
           q + "%y: tensor<2x3x!quant.uniform<i8:f32, 0.5>> = storage_cast(%q)",
           q + "%y: tensor<2x3x!quant.uniform<i8:f32, 0.5>> = quantize(%q)",
           q + "%y: tensor<2x3xi8> = identity(%q)",
           q + "%y: tensor<2x3x!quant.uniform<i8:f32, 0.25>> = identity(%q)",
           std::string("%i: tensor<2xi16> = input()\n"
                       "%y: tensor<2x!quant.uniform<i8:f32, 0.5>> = storage_cast(%i)"),
           // a bad type on an operation that is not known
           x + "%y: tensor<2x!quant.uniform<i8:f32, 0.0>> = mystery(%x)",
           x + "%y: tensor<2x!quant.uniform<i8<-127:127>:f32, 0.5:-128>> = mystery(%x)",
           x + "%y: tensor<2x!quant.uniform<i8:i32, 0.5>> = mystery(%x)",
           x + "%y: tensor<2x!quant.uniform<i8<5:-5>:f32, 0.5>> = mystery(%x)",
       }) {
    CAPTURE(text);
    const auto result = verify_text(text);
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::invalid_model);
    CHECK(!result.error().place.node.empty());
    CHECK(!result.error().message.empty());
  }
}

TEST_CASE("the error names the node and, where it is about a type, the tensor") {
  Graph graph;
  const NodeId node = graph.add(
      {.kind = "mystery", .name = "block/7", .results = {{"a", {}}, {"b", build::f32({-3})}}});
  const auto negative = verify(graph);
  REQUIRE(!negative);
  CHECK(negative.error().place == Place{.node = "block/7", .tensor = "b"});
  graph.set_type({node, 1}, {ElementType::int16, {2}, build::uniform({0.5F})});
  const auto width = verify(graph);
  REQUIRE(!width);
  CHECK(width.error().place.tensor == "b");
  graph.set_type({node, 1}, {ElementType::int8, {2}, build::uniform({0.5F})});
  CHECK(verify(graph));
}

TEST_CASE("a cycle") {
  Graph graph;
  const Value a = build::add(graph, "op", {Value{}}, {}, {}, "a");
  const Value b = build::add(graph, "op", {a}, {}, {}, "b");
  CHECK(verify(graph));
  graph.set_operand(a.node, 0, b);
  CHECK(!verify(graph));
}

TEST_CASE("views of other graphs: operands, uses and names") {
  Graph graph;
  const Value x = graph.add_input("x", {});
  const Value y = build::add(graph, "op", {x, x}, {}, {}, "y");
  Broken view(graph);
  REQUIRE(verify(view));

  SUBCASE("an operand of a node that does not exist") {
    view.node = y.node;
    view.other_operands = true;
    view.operands_of_node = {{{9, 0}, 0}, x};
  }
  SUBCASE("an operand of an earlier node at the same index") {
    view.node = y.node;
    view.other_operands = true;
    view.operands_of_node = {{{x.node.index, 7}, 0}, x};
  }
  SUBCASE("an operand that is a result too many") {
    view.node = y.node;
    view.other_operands = true;
    view.operands_of_node = {{x.node, 1}, x};
  }
  SUBCASE("a use is missing") {
    view.node = x.node;
    view.other_uses = true;
    view.uses_of_node = {{0, y.node, 0}};
  }
  SUBCASE("a use is there twice") {
    view.node = x.node;
    view.other_uses = true;
    view.uses_of_node = {{0, y.node, 0}, {0, y.node, 0}};
  }
  SUBCASE("a use of a node that does not exist") {
    view.node = x.node;
    view.other_uses = true;
    view.uses_of_node = {{0, y.node, 0}, {0, {9, 9}, 1}};
  }
  SUBCASE("a use of an operand that does not exist") {
    view.node = x.node;
    view.other_uses = true;
    view.uses_of_node = {{0, y.node, 0}, {0, y.node, 2}};
  }
  SUBCASE("a name twice") { view.name_of_all = "same"; }
  SUBCASE("no name") { view.name_of_all = ""; }
  const auto result = verify(view);
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::invalid_model);
  CHECK(!result.error().place.node.empty());
}

TEST_CASE("a long chain") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({2, 2}));
  Value value = x;
  for (int i = 0; i < test::shortened(100000); ++i) {
    value = build::add(graph, i % 2 == 0 ? "identity" : "add",
                       i % 2 == 0 ? std::vector<Value>{value} : std::vector<Value>{value, x},
                       build::f32({2, 2}));
  }
  CHECK(verify(graph));
}

// The table of operations. What it claims of each is held against what they compute in
// tests/runtime/op_cases_test.cpp, and how many operands ONNX's have against onnx in tests/peers.
#include "quadrant/ir/operations.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "build.hpp"
#include "ir/shape_inference.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

Traits traits_in(const std::string& constants, const std::string& node) {
  const auto graph = parse_graph("%x: tensor<1x2x4x4xf32> = input()\n" + constants +
                                 "%y: tensor<*xundefined> = " + node + "\noutput(%y)\n");
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())));
  return traits_of(graph->ref(graph->find_value("y").node));
}

}  // namespace

TEST_CASE("each row is found by its kind, and no other kind is") {
  const auto rows = operations();
  CHECK(std::ranges::is_sorted(rows, {}, &Operation::kind));
  for (const Operation& row : rows) CHECK(find_operation(row.kind) == &row);
  CHECK(find_operation("") == nullptr);
  CHECK(find_operation("onnx.NoSuchOperator") == nullptr);
}

TEST_CASE("operations are found by the names that ONNX has for them") {
  REQUIRE(find_onnx_operator("Mul") != nullptr);
  CHECK(find_onnx_operator("Mul")->kind == "multiply");
  CHECK(find_onnx_operator("Relu") == nullptr);  // its kind says it
  CHECK(find_onnx_operator("") == nullptr);
}

TEST_CASE("roles of a product's operands are those of its parts") {
  std::size_t products = 0;
  for (const Operation& row : operations()) {
    if (row.product == nullptr) continue;
    CAPTURE(row.kind);
    ++products;
    const Product& parts = *row.product;
    CHECK(parts.kind == row.kind);
    const Role data = row.roles.of(parts.data);
    const Role weight = row.roles.of(parts.weight);
    CHECK((data == Role::factor || (data == Role::data && weight == Role::weight)));
    CHECK((weight == Role::factor || weight == Role::weight));
    if (parts.bias >= row.operands.most) continue;
    const Role bias = row.roles.of(parts.bias);
    CHECK((bias == Role::bias || bias == Role::term));
  }
  CHECK(products == 7);
}

TEST_CASE("a graph's own row that cannot be asked is refused, and says why") {
  const auto why = [](const Operation& row) {
    Graph graph;
    graph.set_operations(std::span(&row, 1));
    const auto verified = verify(graph);
    return verified ? std::string() : verified.error().message;
  };
  const Move no_move{};
  const Product no_product{};
  CHECK(why({.kind = "tests.own"}).empty());
  CHECK(why({}).ends_with("has no kind"));
  CHECK(why({.kind = "transpose"}).ends_with("says what the library says already"));
  CHECK(why({.kind = "tests.own", .roles = {""}}).find("without a role") != std::string::npos);
  CHECK(why({.kind = "tests.own", .roles = {"dx"}}).find("unheard-of") != std::string::npos);
  CHECK(why({.kind = "tests.own", .traits = {Trait::keeps_order}}).ends_with("is no move"));
  CHECK(why({.kind = "tests.own", .move = &no_move}).find("a move without") != std::string::npos);
  CHECK(why({.kind = "tests.own", .product = &no_product}).find("a product without") !=
        std::string::npos);
}

TEST_CASE("places of MaxPool are integers, whatever the file says of them") {
  auto graph = parse_graph(
      "%x: tensor<1x2x4x4xf32> = input()\n"
      "%y: tensor<*xundefined>, %i: tensor<*xundefined> = onnx.MaxPool(%x) {kernel_shape = [2, "
      "2]}\n"
      "output(%y)\noutput(%i)\n");
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())));
  REQUIRE(infer_shapes(*graph).has_value());
  CHECK(to_string(graph->type(graph->find_value("i"))) == "tensor<1x2x3x3xi64>");
}

TEST_CASE("what moves of constants make is known; what is looked up by computed places is not") {
  const auto is_constant = [](const std::string& moved) {
    const auto graph = parse_graph(
        "%i: tensor<2xi64> = input()\n%w: tensor<2x2xf32> = constant() "
        "[1, 2, 3, 4]\n%k: tensor<2xi64> = constant() [0, 1]\n" +
        moved + "output(%y)\n");
    REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())));
    return is_known(*graph, graph->find_value("y"),
                    [](NodeRef maker) { return find_move(maker) != nullptr; });
  };
  CHECK(is_constant("%y: tensor<2x2xf32> = transpose(%w)\n"));
  CHECK(is_constant("%y: tensor<2x2xf32> = gather(%w, %k)\n"));
  CHECK_FALSE(is_constant("%y: tensor<2x2xf32> = gather(%w, %i)\n"));
  CHECK_FALSE(is_constant("%y: tensor<2x2xf32> = onnx.Relu(%w)\n"));
}

TEST_CASE("operators on codes have no real numbers for operands but scales") {
  // https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
  const auto roles = [](std::string_view kind) { return find_operation(kind)->roles; };
  const Roles gemm = roles("onnx.com.microsoft::QGemm");
  for (const std::size_t codes : {0U, 3U, 6U}) CHECK(gemm.of(codes) == Role::codes);
  for (const std::size_t scale : {1U, 4U, 7U}) CHECK(gemm.of(scale) == Role::setting);
  const Roles add = roles("onnx.com.microsoft::QLinearAdd");
  for (const std::size_t scale : {1U, 4U, 6U}) CHECK(add.of(scale) == Role::setting);
  CHECK(roles("onnx.com.microsoft::MatMulIntegerToFloat").of(6) == Role::data);  // its bias
}

TEST_CASE("the last role is that of all operands that follow") {
  const Roles clip = find_operation("onnx.Clip")->roles;
  CHECK(clip.of(0) == Role::data);
  CHECK(clip.of(1) == Role::setting);
  CHECK(clip.of(2) == Role::setting);
  CHECK(find_operation("onnx.Relu")->roles.of(5) == Role::data);
}

TEST_CASE("traits: what keeps more keeps less, too") {
  for (const Operation& row : operations()) {
    CAPTURE(row.kind);
    const auto implies = [&](Trait more, Trait less) {
      return !row.traits.contains(more) || row.traits.contains(less);
    };
    CHECK(implies(Trait::keeps_order, Trait::keeps_elements));
    CHECK(implies(Trait::keeps_elements, Trait::takes_elements));
    CHECK(implies(Trait::takes_elements, Trait::stays_in_range));
    CHECK((row.move == nullptr || row.family == Family::move));
    CHECK((row.product == nullptr || row.work != nullptr));
  }
}

TEST_CASE("traits of paddings and resizings are those of their attributes") {
  const std::string pads = "%p: tensor<8xi64> = constant() [0, 0, 1, 1, 0, 0, 1, 1]\n";
  const auto filled = [&](const std::string& number) {
    return traits_in(pads + "%v: tensor<f32> = constant() [" + number + "]\n",
                     "onnx.Pad(%x, %p, %v)");
  };
  CHECK(filled("0").contains(Trait::stays_in_range));
  CHECK(!filled("0").contains(Trait::takes_elements));
  CHECK(!filled("1").contains(Trait::stays_in_range));
  CHECK(traits_in(pads, "onnx.Pad(%x, %p) {mode = \"reflect\"}").contains(Trait::takes_elements));

  const auto resized = [](const std::string& attributes) {
    return traits_in(
        "%s: tensor<4xf32> = constant() [1, 1, 2, 2]\n%n: tensor<0xf32> = constant() []\n",
        "onnx.Resize(%x, %n, %s) {" + attributes + "}");
  };
  const std::string crop = ", coordinate_transformation_mode = \"tf_crop_and_resize\"";
  CHECK(resized("mode = \"nearest\"").contains(Trait::takes_elements));
  CHECK(resized("mode = \"linear\"").contains(Trait::stays_in_range));
  CHECK(!resized("mode = \"linear\"").contains(Trait::takes_elements));
  CHECK(!resized("mode = \"cubic\"").contains(Trait::stays_in_range));
  CHECK(!resized("mode = \"nearest\"" + crop).contains(Trait::stays_in_range));
}

#include "numerics/code_sign.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "helpers.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

Graph parsed(const std::string& text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? std::string() : to_string(graph.error())));
  return *std::move(graph);
}

// Two values that a concat joins, one beside them, and a weight.
Graph network(const std::string& rest = {}) {
  return parsed(R"(
%x: tensor<2x3xf32> = input()
%a: tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>> = quantize(%x)
%b: tensor<2x3x!quant.uniform<i8:f32, 0.5:-3>> = quantize(%x)
%c: tensor<4x3x!quant.uniform<i8:f32, 0.5:-3>> = concat(%a, %b) {axis = 0}
%y: tensor<4x3xf32> = dequantize(%c)
%d: tensor<2x3x!quant.uniform<i8<-127:127>:f32, 0.25>> = quantize(%x)
%z: tensor<2x3xf32> = dequantize(%d)
%w: tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0:5}>> = constant() [-128, -1, 0, 1, 2, 127]
%v: tensor<2x3xf32> = dequantize(%w)
output(%y)
output(%z)
output(%v)
)" + rest);
}

bool is_anything(NodeId /*node*/) { return true; }

std::vector<std::string> free_names(const Graph& graph, ElementType storage,
                                    const std::function<bool(NodeId)>& is_ours) {
  std::vector<std::string> names;
  for (const Value value : free_codes(graph, storage, is_ours)) {
    names.emplace_back(graph.value_name(value));
  }
  std::ranges::sort(names);
  return names;
}

std::string type_of(const Graph& graph, std::string_view name) {
  return to_string(graph.type(graph.find_value(name)));
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("codes that only quantize, moves and dequantize see are free") {
  const Graph graph = network();
  CHECK(free_names(graph, ElementType::int8, is_anything) == Names{"a", "b", "c", "d", "w"});
  CHECK(free_names(graph, ElementType::uint8, is_anything).empty());
}

TEST_CASE("but not those that are not ours, nor what moves connect with them") {
  const Graph graph = network();
  const auto without = [&](std::string_view name) {
    return free_names(graph, ElementType::int8,
                      [&](NodeId node) { return node != graph.find_value(name).node; });
  };
  CHECK(without("w") == Names{"a", "b", "c", "d"});
  CHECK(without("b") == Names{"d", "w"});
}

TEST_CASE("and with one that somebody else sees, all that moves connect with it is not") {
  CHECK(free_names(network("output(%a)\n"), ElementType::int8, is_anything) == Names{"d", "w"});
  const Graph read = network("%r: tensor<*xi8> = onnx.Foreign(%c)\noutput(%r)\n");
  CHECK(free_names(read, ElementType::int8, is_anything) == Names{"d", "w"});
  const auto are_no_weights = [](const Graph& graph) {
    return [&graph](NodeId node) { return graph.constant(node) == nullptr; };
  };
  const Graph joined = network(
      "%j: tensor<4x3x!quant.uniform<i8:f32, 1.0>> = concat(%d, %w) {axis = 0}\n"
      "%k: tensor<4x3xf32> = dequantize(%j)\noutput(%k)\n");
  CHECK(free_names(joined, ElementType::int8, are_no_weights(joined)) == Names{"a", "b", "c"});
}

TEST_CASE("without a sign, codes, their ends and zero points are 128 more; back again, 128 less") {
  Graph graph = network();
  const auto codes = free_codes(graph, ElementType::int8, is_anything);
  REQUIRE(change_sign(graph, codes));
  CHECK(type_of(graph, "a") == "tensor<2x3x!quant.uniform<u8:f32, 0.5:125>>");
  CHECK(type_of(graph, "c") == "tensor<4x3x!quant.uniform<u8:f32, 0.5:125>>");
  CHECK(type_of(graph, "d") == "tensor<2x3x!quant.uniform<u8<1:255>:f32, 0.25:128>>");
  CHECK(type_of(graph, "w") == "tensor<2x3x!quant.uniform<u8:f32:0, {1.0:128, 2.0:133}>>");
  const Value weight = graph.find_value("w");
  CHECK(read_integers(*graph.constant(weight.node)).value() ==
        std::vector<std::int64_t>{0, 127, 128, 129, 130, 255});

  REQUIRE(change_sign(graph, free_codes(graph, ElementType::uint8, is_anything)));
  for (const std::string_view name : {"a", "b", "c", "d", "w"}) {
    CHECK(type_of(graph, name) == type_of(network(), name));
  }
  CHECK(read_integers(*graph.constant(weight.node)).value() ==
        std::vector<std::int64_t>{-128, -1, 0, 1, 2, 127});
}

TEST_CASE("codes of fewer bits are half of their range apart") {
  Graph graph = parsed(R"(
%w: tensor<4x!quant.uniform<u4:f32, 0.5:15>> = constant() [0, 7, 8, 15]
%n: tensor<4x!quant.uniform<u2:f32:0, {0.5, 1.0:1, 2.0:2, 4.0:3}>> = constant() [0, 1, 2, 3]
%a: tensor<4xf32> = dequantize(%w)
%b: tensor<4xf32> = dequantize(%n)
output(%a)
output(%b)
)");
  REQUIRE(change_sign(graph, free_codes(graph, ElementType::uint4, is_anything)));
  CHECK(type_of(graph, "w") == "tensor<4x!quant.uniform<i4:f32, 0.5:7>>");
  CHECK(type_of(graph, "n") == "tensor<4x!quant.uniform<i2:f32:0, {0.5:-2, 1.0:-1, 2.0, 4.0:1}>>");
  const auto codes = [&](std::string_view name) {
    return *read_integers(*graph.constant(graph.find_value(name).node));
  };
  CHECK(codes("w") == std::vector<std::int64_t>{-8, -1, 0, 7});
  CHECK(codes("n") == std::vector<std::int64_t>{-2, -1, 0, 1});
  REQUIRE(change_sign(graph, free_codes(graph, ElementType::int4, is_anything)));
  CHECK(type_of(graph, "w") == "tensor<4x!quant.uniform<u4:f32, 0.5:15>>");
  CHECK(codes("w") == std::vector<std::int64_t>{0, 7, 8, 15});
  CHECK(codes("n") == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("codes that are no integers have no other sign") {
  const Graph graph = parsed(R"(
%w: tensor<2x!quadrant.numbers<"nf4 * f32[tensor] : f32", [1]>> = constant() [0, 15]
%y: tensor<2xf32> = dequantize(%w)
output(%y)
)");
  REQUIRE(graph.type(graph.find_value("w")).element == ElementType::uint4);
  CHECK(free_names(graph, ElementType::uint4, is_anything).empty());
}

TEST_CASE("codes that would be shifted otherwise than those that they are moved to stay") {
  const Graph graph = parsed(R"(
%w: tensor<2x1x!quant.uniform<u2:f32, 0.5:1>> = constant() [0, 3]
%t: tensor<1x2x!quant.uniform<u4:f32, 0.5:1>> = transpose(%w) {perm = [1, 0]}
%y: tensor<1x2xf32> = dequantize(%t)
%v: tensor<2x!quant.uniform<u2:f32, 0.5:1>> = constant() [1, 2]
%z: tensor<2xf32> = dequantize(%v)
output(%y)
output(%z)
)");
  CHECK(free_names(graph, ElementType::uint4, is_anything) == Names{"v"});
}

// Static quantization of activations, from end to end on a toy scheme: what enters and leaves the
// integers, what that costs, and whose parameters are whose.
#include "engine/activations.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/check_rewriting.hpp"

using namespace quadrant;
using activations::add;
using activations::ChosenWorth;
using activations::Codes;
using activations::conv;
using activations::input;
using activations::Ranges;
using check_rewriting::count;
using check_rewriting::quantize_checked;

namespace {

QuantizeResult run(const Graph& graph, const Ranges& ranges = {},
                   const ChosenWorth::Amounts& amounts = {}) {
  const ChosenWorth worth(amounts);
  QuantizeOptions options;
  options.gains = &worth;
  return quantize_checked(graph, activations::registry(ranges), options);
}

// x -> c1 -> r -> add -> c2 -> y, where the other branch into `add` goes through an operation that
// the scheme does not know. Quantizing what comes out of that costs `price`.
Graph residual_with_island(std::int64_t price) {
  Graph graph;
  const Value c1 = conv(graph, "c1", input(graph, "x"));
  const Value r = add(graph, "relu", "r", {c1});
  const Value island = add(graph, "mystery", "island", {r}, {{"enter", price}});
  const Value sum = add(graph, "add", "sum", {r, island});
  graph.add_output("y", conv(graph, "c2", sum));
  return graph;
}

const std::string u8 = activations::u8.print();
const std::string s8 = activations::s8.print();

using Conversions = std::vector<PlannedConversion>;

std::vector<std::string> quantized_values(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlannedValue& value : plan.values) names.push_back(value.value);
  return names;
}

const UniformType& type_of(const Graph& graph, std::string_view value) {
  const Value found = graph.find_value(value);
  REQUIRE_FALSE(found.is_absent());
  REQUIRE(graph.type(found).is_quantized());
  return *graph.type(found).uniform();
}

}  // namespace

TEST_CASE("constraints print, and what is printed reads back") {
  for (const Codes& codes : {activations::u8, activations::s8, activations::s8_channels,
                             activations::s32_channels, Codes{ElementType::int8, 12}}) {
    CHECK(Codes::parse(codes.print()) == codes);
  }
  for (const char* const text : {"", "u8", "u8 ", "u4 per tensor", "s8 axis", "s8 axis -1",
                                 "s8 axis 1x", "u8 per tensors"}) {
    CHECK_FALSE(Codes::parse(text).has_value());
  }
}

TEST_CASE("what a float operation made is quantized again, where that pays") {
  const QuantizeResult result = run(residual_with_island(22));
  CHECK(quantized_values(result.analysis.plan) ==
        std::vector<std::string>{"c1", "c1.b", "c1.w", "c2", "c2.b", "c2.w", "r", "sum"});
  CHECK(result.analysis.plan.conversions == Conversions{{"c2", u8, "float", {"y"}},
                                                        {"island", "float", u8, {"sum"}},
                                                        {"r", u8, "float", {"island"}},
                                                        {"x", "float", u8, {"c1"}}});
  // Two convolutions of three operands, a relu, a sum of two; x and the island enter, r and c2
  // leave.
  CHECK(result.analysis.plan.objective == Gain{9 * 10 - 3 - 22 - 2 - 2});
}

TEST_CASE("where it does not pay, the sum is float, and enters behind itself") {
  const QuantizeResult result = run(residual_with_island(24));
  CHECK(quantized_values(result.analysis.plan) ==
        std::vector<std::string>{"c1", "c1.b", "c1.w", "c2", "c2.b", "c2.w", "r"});
  // The float form of r is made once, for the island and for the sum.
  CHECK(result.analysis.plan.conversions == Conversions{{"c2", u8, "float", {"y"}},
                                                        {"r", u8, "float", {"island", "sum"}},
                                                        {"sum", "float", u8, {"c2"}},
                                                        {"x", "float", u8, {"c1"}}});
  CHECK(result.analysis.plan.objective == Gain{7 * 10 - 3 - 2 - 3 - 2});
  CHECK(count(result.graph, "dequantize") == 2);
  CHECK(count(result.graph, "quantize") == 2);
}

TEST_CASE("nothing is quantized where conversions eat up what is gained") {
  const QuantizeResult result =
      run(residual_with_island(3), {}, {.operand = 1, .enter = 30, .leave = 30, .convert = 30});
  CHECK(result.analysis.plan.values.empty());
  CHECK(result.analysis.plan.conversions.empty());
  CHECK(result.analysis.plan.objective == Gain{0});
}

TEST_CASE("a conversion is made once, however many read it") {
  Graph graph;
  const Value x = input(graph, "x");
  for (const char* const name : {"a", "b", "c"}) {
    graph.add_output(std::string(name) + ".y", conv(graph, name, x));
  }
  const QuantizeResult result = run(graph);
  CHECK(result.analysis.plan.conversions.back() ==
        PlannedConversion{"x", "float", u8, {"a", "b", "c"}});
  CHECK(count(result.graph, "quantize") == 1);
  CHECK(result.analysis.plan.objective == Gain{3 * 3 * 10 - 3 - 3 * 2});
}

TEST_CASE("who is tied shares parameters: their ranges are merged") {
  const QuantizeResult result =
      run(residual_with_island(5), {{"c1", {-1, 4}}, {"r", {0, 4}}, {"island", {-2, 3}}});
  // relu is tied to its producer, and a sum's operands to each other.
  CHECK(result.analysis.plan.shared == std::vector<PlannedGroup>{{u8, {"c1", "island", "r"}}});
  const Graph& graph = result.graph;
  CHECK(activations::read_scales(type_of(graph, "c1")) == std::vector{6.0F / 255});
  for (const char* const member : {"r_quantized", "island_quantized"}) {
    CHECK(&type_of(graph, member) == &type_of(graph, "c1"));
  }
  CHECK(&type_of(graph, "sum") != &type_of(graph, "c1"));
}

TEST_CASE("a bias has the scales of the products that it is added to") {
  const QuantizeResult result =
      run(residual_with_island(5), {{"x", {0, 5.1}}, {"c1.w", {-2.54, 1}}});
  const UniformType& bias = type_of(result.graph, "c1.b");
  CHECK(bias.storage == ElementType::int32);
  const std::vector<float> input = activations::read_scales(type_of(result.graph, "x_quantized"));
  const std::vector<float> weight = activations::read_scales(type_of(result.graph, "c1.w"));
  CHECK(input[0] == doctest::Approx(0.02));
  CHECK(weight[0] == doctest::Approx(0.02));
  CHECK(weight[1] == doctest::Approx(0.01));
  CHECK(activations::read_scales(bias) == std::vector{input[0] * weight[0], input[0] * weight[1]});
}

TEST_CASE("a form that a reader wants is made from the one there is, without floats") {
  Graph graph;
  const Value c1 = conv(graph, "c1", input(graph, "x"));
  graph.add_output("y", conv(graph, "c2", c1, {{"reads", s8}}));
  graph.add_output("z", conv(graph, "c3", c1));
  const QuantizeResult result = run(graph, {{"c1", {-1.27, 1.27}}});
  // Either form is worth as much; the constraints' order has s8 first.
  CHECK(result.analysis.plan.conversions == Conversions{{"c1", s8, u8, {"c3"}},
                                                        {"c2", u8, "float", {"y"}},
                                                        {"c3", u8, "float", {"z"}},
                                                        {"x", "float", u8, {"c1"}}});
  CHECK(result.analysis.plan.objective == Gain{3 * 3 * 10 - 1 - 2 - 2 - 3});
  const std::vector<float> made = activations::read_scales(type_of(result.graph, "c1"));
  const std::vector<float> read = activations::read_scales(type_of(result.graph, "c1_quantized"));
  CHECK(made == std::vector{0.01F});
  CHECK(read == std::vector{2.54F / 255});
  // The bias follows the form that its convolution reads.
  CHECK(activations::read_scales(type_of(result.graph, "c3.b"))[0] ==
        read[0] * activations::read_scales(type_of(result.graph, "c3.w"))[0]);
}

TEST_CASE("forms beside the float one are named after it") {
  Graph graph;
  const Value c1 = conv(graph, "c1", input(graph, "x"));
  graph.add_output("y", conv(graph, "c2", c1, {{"reads", s8}}));
  graph.add_output("z", conv(graph, "c3", c1));
  graph.add_output("also", c1);
  const QuantizeResult result = run(graph);
  const Value real = result.graph.find_value("c1");
  REQUIRE_FALSE(real.is_absent());
  CHECK_FALSE(result.graph.type(real).is_quantized());
  CHECK(result.graph.type(result.graph.find_value("c1_quantized")).is_quantized());
  CHECK(result.graph.find_value("c1_quantized_quantized").is_absent());
}

TEST_CASE("codes of different forms are not added as they are") {
  // a is signed for its own reader, b unsigned: the sum has one of them requantized.
  Graph graph;
  const Value x = input(graph, "x");
  const Value a = conv(graph, "a", x, {{"makes", s8}});
  const Value b = conv(graph, "b", x);
  graph.add_output("y", conv(graph, "c", add(graph, "add", "sum", {a, b})));
  graph.add_output("z", conv(graph, "d", a, {{"reads", s8}}));
  const QuantizeResult result = run(graph, {{"a", {-1, 3}}, {"b", {-2, 1}}});
  CHECK(result.analysis.plan.conversions.front() == PlannedConversion{"a", s8, u8, {"sum"}});
  CHECK(result.analysis.plan.shared == std::vector<PlannedGroup>{{u8, {"a", "b"}}});
  const NodeId sum = result.graph.find_value("sum").node;
  const auto operands = result.graph.operands(sum);
  CHECK(result.graph.type(operands[0]).quantization == result.graph.type(operands[1]).quantization);
  CHECK(activations::read_scales(type_of(result.graph, "b")) == std::vector{5.0F / 255});
}

TEST_CASE("codes that came with other parameters are refused, not mixed") {
  // Both operands of the sum came quantized, with their own scales.
  const auto given = [](Graph& graph, const std::string& name, float scale) {
    const Value codes = add(graph, "quantize", name, {input(graph, name + ".x")});
    const auto type = activations::with_scales(activations::u8, {scale});
    graph.set_type(codes, build::quantized(activations::map_shape, type));
    return codes;
  };
  Graph graph;
  const Value a = given(graph, "a", 0.5F);
  const Value b = given(graph, "b", 0.25F);
  graph.add_output("y", conv(graph, "c", add(graph, "add", "sum", {a, b})));
  const ChosenWorth worth;
  QuantizeOptions options;
  options.gains = &worth;
  const auto result = quantize(graph, activations::registry(), options);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::impossible);
  CHECK(result.error().place.tensor == "b");

  graph.set_type(b, graph.type(a));  // the same parameters can be added
  const QuantizeResult mended = run(graph);
  CHECK(&type_of(mended.graph, "a") == &type_of(mended.graph, "b"));
  CHECK(mended.analysis.plan.shared == std::vector<PlannedGroup>{{u8, {"a", "b"}}});
  CHECK(mended.analysis.plan.objective == Gain{2 * 10 + 3 * 10 - 2});
}

TEST_CASE("a bias that two convolutions would scale differently is impossible") {
  Graph graph;
  const Value x = input(graph, "x");
  const Value c1 = conv(graph, "c1", x);
  const Value c2 = conv(graph, "c2", c1);
  graph.set_operand(c2.node, 2, graph.find_value("c1.b"));
  graph.add_output("y", c2);
  const ChosenWorth worth;
  QuantizeOptions options;
  options.gains = &worth;
  const auto result = analyze(graph, activations::registry(), options);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::impossible);
  CHECK(result.error().place.tensor == "c1.b");
}

TEST_CASE("a plan of activations is followed as it was made") {
  const Graph graph = residual_with_island(22);
  const QuantizeResult made = run(graph);
  const ChosenWorth worth;
  QuantizeOptions options;
  options.gains = &worth;
  options.plan = &made.analysis.plan;
  const QuantizeResult followed = quantize_checked(graph, activations::registry(), options);
  CHECK(followed.analysis.plan == made.analysis.plan);
}

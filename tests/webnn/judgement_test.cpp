// What counts as fused, on graphs that are converted by hand.
#include "judgement.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "browser.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "real_operations.hpp"

namespace {

using namespace quadrant;
using namespace quadrant::webnn;

/// x -> dequantize -> transpose -> relu -> quantize -> y, which the browser fused in part.
constexpr std::string_view text = R"json({"cases": [{
  "name": "chain",
  "tensors": {
    "x": {"dtype": "int8", "shape": [1, 3], "values": [-1, 2, 3], "constant": false},
    "s": {"dtype": "float32", "shape": [1, 1], "values": [0.5], "constant": true},
    "z": {"dtype": "int8", "shape": [1, 1], "values": [0], "constant": true}
  },
  "nodes": [
    {"op": "dequantizeLinear", "inputs": ["x", "s", "z"], "outputs": ["r"], "attributes": {}},
    {"op": "transpose", "inputs": ["r"], "outputs": ["t"], "attributes": {}},
    {"op": "relu", "inputs": ["t"], "outputs": ["u"], "attributes": {}},
    {"op": "quantizeLinear", "inputs": ["u", "s", "z"], "outputs": ["y"], "attributes": {}}
  ],
  "outputs": ["y"],
  "result_without_fusion": {"y": {"dtype": "int8", "shape": [3, 1], "values": [0, 2, 3]}},
  "result_with_fusion": {"y": {"dtype": "int8", "shape": [3, 1], "values": [0, 2, 3]}},
  "emitted_ops": [
    {"op": "TRANSPOSE", "inputs": ["int8[1, 3] q(0.5,0)", "const int32[2]"],
     "outputs": ["int8[3, 1] q(0.5,0)"], "act": null},
    {"op": "RELU", "inputs": ["float32[3, 1]"], "outputs": ["float32[3, 1]"], "act": null}
  ]}]})json";

constexpr std::string_view fused = R"(
%x: tensor<1x3x!quant.uniform<i8:f32, 0.5>> = input()
%t: tensor<3x1x!quant.uniform<i8:f32, 0.5>> = transpose(%x) {name = "transpose#1", perm = [1, 0]}
%y: tensor<3x1x!quant.uniform<i8:f32, 0.5>> = onnx.Relu(%t) {name = "relu#2"}
output(%y)
)";

constexpr std::string_view half_fused = R"(
%x: tensor<1x3x!quant.uniform<i8:f32, 0.5>> = input()
%t: tensor<3x1x!quant.uniform<i8:f32, 0.5>> = transpose(%x) {name = "transpose#1", perm = [1, 0]}
%r: tensor<3x1xf32> = dequantize(%t)
%u: tensor<3x1xf32> = onnx.Relu(%r) {name = "relu#2"}
%y: tensor<3x1x!quant.uniform<i8:f32, 0.5>> = quantize(%u)
output(%y)
)";

constexpr std::string_view with_another = R"(
%x: tensor<1x3x!quant.uniform<i8:f32, 0.5>> = input()
%r: tensor<1x3xf32> = dequantize(%x)
%i: tensor<1x3xf32> = identity(%r) {name = "mine"}
%q: tensor<1x3x!quant.uniform<i8:f32, 0.5>> = quantize(%i)
%t: tensor<3x1x!quant.uniform<i8:f32, 0.5>> = transpose(%q) {name = "transpose#1", perm = [1, 0]}
%y: tensor<3x1x!quant.uniform<i8:f32, 0.5>> = onnx.Relu(%t) {name = "relu#2"}
output(%y)
)";

template <class T>
T value_of(Expected<T> result) {
  if (!result) FAIL(to_string(result.error()));
  return *std::move(result);
}

Case chain() { return value_of(parse_cases(text)).at(0); }

Converted by_hand(std::string_view graph, std::vector<LeftReal> left = {}) {
  return {value_of(parse_graph(graph)), std::move(left)};
}

Judgement judged(const Case& from, const Converted& converted) {
  return value_of(judge(from, value_of(build_graph(from)), converted));
}

}  // namespace

TEST_CASE("the graph of a case has quantized types, and names that tell the operations") {
  const CaseGraph built = value_of(build_graph(chain()));
  CHECK(built.graph.type({built.graph.inputs()[0]}).is_quantized());
  CHECK(real_operations(built.graph) == std::set<std::string>{"relu#2", "transpose#1"});
  CHECK(built.graph.type(output_values(built.graph).at(0)).is_quantized());
  CHECK(built.inputs.size() == 1);
  CHECK(built.outputs.at(0).name == "y");
}

TEST_CASE("equal parameters of two tensors are one quantized type") {
  Case from = chain();
  from.tensors["s2"] = from.tensors.at("s");
  from.tensors["z2"] = from.tensors.at("z");
  from.nodes.push_back(
      {"dequantizeLinear", {"y", "s2", "z2"}, {"w"}, nlohmann::json::object(), "$"});
  from.outputs = {"w"};
  const CaseGraph built = value_of(build_graph(from));
  const Value reals = output_values(built.graph).at(0);
  CHECK(built.graph.kind(reals.node) == "dequantize");
}

TEST_CASE("a case is fused where nothing computes on real numbers") {
  const Judgement judgement = judged(chain(), by_hand(fused));
  CHECK(judgement.ours == Fusion::fused);
  CHECK(judgement.left.empty());
  CHECK(judgement.converted == 0);
  CHECK(judgement.built == 0);
  CHECK(judgement.browser == Fusion::partly);
  CHECK(judgement.missed().empty());
  CHECK_FALSE(judgement.failed());
}

TEST_CASE("what is left is told, with the reason") {
  const Judgement explained = judged(chain(), by_hand(half_fused, {{"relu#2", "alone"}}));
  CHECK(explained.ours == Fusion::partly);
  CHECK(explained.left.size() == 1);
  CHECK(explained.left.at(0).reason == "alone");
  CHECK(explained.is_explained());
  CHECK(explained.missed().empty());
  CHECK(describe(chain(), explained).find("relu#2: alone") != std::string::npos);
  CHECK_FALSE(judged(chain(), by_hand(half_fused)).is_explained());
}

TEST_CASE("an operation that conversion adds keeps a case from being fused") {
  const Judgement judgement = judged(chain(), by_hand(with_another));
  CHECK(judgement.ours == Fusion::partly);
  CHECK(judgement.added == std::vector<std::string>{"mine"});
}

TEST_CASE("a fusion is missed where the browser's is sound") {
  const CaseGraph built = value_of(build_graph(chain()));
  Case from = chain();
  Judgement judgement = judged(from, {built.graph, {}});
  CHECK(judgement.ours == Fusion::not_fused);
  CHECK(judgement.missed() == std::vector<std::string>{"transpose"});
  CHECK(judgement.failed());

  SUBCASE("not where its result is wrong") {
    from.with_fusion->at("y") = from.tensors.at("x").tensor.reshaped({3, 1});
    from.without_fusion->at("y") =
        Tensor::from_values<std::int8_t>(ElementType::int8, {3, 1}, {{1, 2, 3}});
    judgement = judged(from, {built.graph, {}});
    CHECK(judgement.browser_difference == 2);
    CHECK_FALSE(judgement.failed());
  }
  SUBCASE("not where it built nothing") {
    from.build_error = "no";
    CHECK(judged(from, {built.graph, {}}).missed().empty());
  }
  SUBCASE("not where its result is not known") {
    from.with_fusion.reset();
    CHECK(judged(from, {built.graph, {}}).missed().empty());
  }
}

TEST_CASE("what the browser fused is counted in whole operations") {
  const std::string codes = "int8[3] q(0.1,0)";
  const std::string reals = "float32[3]";
  const std::vector<EmittedOp> emitted{
      {"MAXIMUM", {codes}, {codes}, ""},        {"MINIMUM", {codes}, {codes}, ""},
      {"RELU6", {codes}, {codes}, ""},          {"CONV_2D", {codes, codes}, {codes}, "RELU6"},
      {"CONV_2D", {reals, codes}, {reals}, ""}, {"EQUAL", {codes, codes}, {"bool[3]"}, ""}};
  CHECK(count_fused(emitted, "clamp") == 3);
  CHECK(count_fused(emitted, "min") == 1);
  CHECK(count_fused(emitted, "conv2d") == 1);
  CHECK(count_fused(emitted, "equal") == 1);
  CHECK(count_fused(emitted, "log") == 0);
}

TEST_CASE("a converted graph of other outputs is an error") {
  const Case from = chain();
  const CaseGraph built = value_of(build_graph(from));
  Converted converted{built.graph, {}};
  const auto outputs = converted.graph.outputs();
  converted.graph.erase(outputs[0]);
  CHECK_FALSE(judge(from, built, converted).has_value());
}

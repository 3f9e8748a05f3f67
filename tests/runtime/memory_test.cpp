// What a model computes takes bounded memory, whatever it asks for.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "model_text.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::test {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;

// An input of one number, and what is computed from it.
Graph model(const std::string& lines) {
  return parsed("graph {}\n%x: tensor<1xf32> = input()\n" + lines);
}

Expected<Tensors> run(const Graph& graph, std::uint64_t memory) {
  const std::vector<Value> outputs = output_values(graph);
  QUADRANT_TRY(const auto model, Interpreter({}, memory).load(graph, outputs));
  const float one = 1;
  const std::array inputs{
      Tensor::from_values<float>(ElementType::float32, {1}, std::span(&one, 1))};
  return run_model(*model, inputs, outputs.size());
}

void check_refused(const Expected<Tensors>& result, std::string_view node) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::impossible);
  CHECK(result.error().place.node == node);
  CAPTURE(result.error().message);
  CHECK(result.error().remedy == Remedy::more_memory);
}

TEST_CASE("a few bytes of a model that ask for gigabytes are refused, with the node") {
  const Graph loaded = model(
      "%n: tensor<1xi64> = constant() [4294967296]\n"
      "%huge: tensor<4294967296xf32> = onnx.ConstantOfShape(%n)\noutput(%huge)\n");
  check_refused(run(loaded, Interpreter::default_memory), "huge");
  const Graph while_running = model(
      "%n: tensor<1xi64> = constant() [4294967296]\n"
      "%huge: tensor<4294967296xf32> = expand(%x, %n)\noutput(%huge)\n");
  check_refused(run(while_running, Interpreter::default_memory), "huge");
}

TEST_CASE("tensors that live at the same time count together, those that are gone do not") {
  // Each of half a mebibyte.
  const std::string expanded =
      "%n: tensor<1xi64> = constant() [131072]\n%a: tensor<131072xf32> = expand(%x, %n)\n"
      "%b: tensor<131072xf32> = onnx.Neg(%a)\n%c: tensor<131072xf32> = onnx.Neg(%b)\n";
  const Graph chain = model(expanded + "output(%c)\n");
  CHECK(run(chain, mebibyte).has_value());
  check_refused(run(chain, mebibyte - 1), "b");
  const Graph joined = model(expanded + "%d: tensor<131072xf32> = add(%a, %c)\noutput(%d)\n");
  check_refused(run(joined, mebibyte), "c");
  CHECK(run(joined, 3 * mebibyte).has_value());
}

TEST_CASE("what was computed at loading counts in each run, and runs can follow one another") {
  const Graph graph = model(
      "%n: tensor<1xi64> = constant() [131072]\n%k: tensor<131072xf32> = onnx.ConstantOfShape(%n)\n"
      "%y: tensor<131072xf32> = add(%x, %k)\noutput(%y)\n");
  check_refused(run(graph, mebibyte - 1), "y");
  const std::vector<Value> outputs = output_values(graph);
  const auto loaded = Interpreter({}, mebibyte).load(graph, outputs);
  REQUIRE(loaded.has_value());
  const float one = 1;
  const std::array inputs{
      Tensor::from_values<float>(ElementType::float32, {1}, std::span(&one, 1))};
  for (int i = 0; i < 3; ++i) {
    const auto kept = run_model(**loaded, inputs, 1);
    REQUIRE(kept.has_value());
    CHECK(kept->front().as<float>()[131071] == 1);
  }
}

TEST_CASE("tables that kernels make count, too") {
  // Of each element of the result, two sources and weights: 24 bytes for its 4.
  for (const char* const large :
       {"%n: tensor<3xi64> = constant() [1, 1, 100000]\n"
        "%y: tensor<1x1x100000xf32> = onnx.Resize(%r, _, _, %n) {mode = \"linear\"}\n",
        "%y: tensor<1x1x100001xf32> = onnx.MaxPool(%r) {kernel_shape = [100001], "
        "pads = [100000, 100000]}\n"}) {
    const Graph graph = model(std::string("%shape: tensor<3xi64> = constant() [1, 1, 1]\n"
                                          "%r: tensor<1x1x1xf32> = reshape(%x, %shape)\n") +
                              large + "output(%y)\n");
    CHECK(run(graph, 8 * mebibyte).has_value());
    check_refused(run(graph, 2 * mebibyte), "y");
  }
}

TEST_CASE("folding has a bound of its own, whatever types say") {
  // The type says one number, the operand a hundred million.
  Graph graph = parsed(
      "graph {}\n%n: tensor<1xi64> = constant() [100000000]\n"
      "%huge: tensor<*xf32> = onnx.ConstantOfShape(%n)\n"
      "%lie: tensor<*xf32> = onnx.ConstantOfShape(%n)\noutput(%huge)\noutput(%lie)\n");
  graph.set_type(graph.find_value("lie"), {ElementType::float32, Shape{1}, nullptr});
  const auto folded = fold_constants(graph);
  REQUIRE(folded.has_value());
  CHECK(folded->folded == 0);
  REQUIRE(folded->left.size() == 2);
  CHECK(folded->left[1] == LeftAlone{"lie", "its result may be much larger than its operands"});
}

TEST_CASE("iterations without end are refused, with the loop") {
  const Graph endless = model(
      "%yes: tensor<i1> = constant() [1]\n"
      "%trip: tensor<i64> = onnx.region_input() {\"onnx.region\" = \"loop/body\"}\n"
      "%on: tensor<i1> = onnx.region_input() "
      "{\"onnx.region\" = \"loop/body\", \"onnx.region_position\" = 1}\n"
      "%v: tensor<1xf32> = onnx.region_input() "
      "{\"onnx.region\" = \"loop/body\", \"onnx.region_position\" = 2}\n"
      "%w: tensor<1xf32> = onnx.Neg(%v) {\"onnx.region\" = \"loop/body\"}\n"
      "%y: tensor<1xf32> = onnx.Loop(_, %yes, %x, %on, %w) "
      "{body = \"loop/body\", \"onnx.yields\" = [2]}\noutput(%y)\n");
  check_refused(run(endless, mebibyte), "y");
}

}  // namespace
}  // namespace quadrant::test

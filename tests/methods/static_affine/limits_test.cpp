// Relu, Clip and Min: which values they limit, and which of them go.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "build.hpp"
#include "ir/scales.hpp"

using namespace quadrant;
using quadrant::test::count_of_kind;
using quadrant::test::Model;
using quadrant::test::one_by_one;

namespace {

Value last_result(const Graph& graph) { return graph.ref(graph.outputs().front()).operand(0); }

float scale(const QuantizeResult& result, std::string_view name) {
  const auto type = result.graph.type(result.graph.find_value(name)).uniform();
  REQUIRE(type != nullptr);
  return test::value_of(read_scales(type->scales)).front();
}

float lowest(const QuantizeResult& result, std::string_view name) {
  const auto type = result.graph.type(result.graph.find_value(name)).uniform();
  REQUIRE(type != nullptr);
  const std::int64_t zero =
      type->zero_points ? test::value_of(read_integers(type->zero_points)).front() : 0;
  return scale(result, name) * static_cast<float>(type->storage_min - zero);
}

}  // namespace

TEST_CASE("static_affine: a Min with bounds that repeat its operand stays") {
  Model model;
  const Value x = model.input("x", {1, 3, 1, 4});
  const Value bounds = model.constant("bounds", {1, 1, 5, 1}, std::vector<float>(5, 100));
  const Value limited = model.add("onnx.Min", {one_by_one(model, x, "a"), bounds}, "limited");
  REQUIRE(model.shape(limited) == Shape{1, 3, 5, 4});
  model.output(one_by_one(model, limited, "b"));
  const QuantizeResult result = test::quantized_by_operands(model);
  CHECK(count_of_kind(result.graph, "onnx.Min") == 1);
  const Value output = last_result(result.graph);
  const std::vector<Value> watched{output};
  const auto loaded = test::value_of(Interpreter().load(result.graph, watched));
  CHECK(test::value_of(run_model(*loaded, model.sample(), 1))[0].shape() == Shape{1, 3, 5, 4});
}

TEST_CASE("static_affine: a limit of a value that others read as it is stays") {
  Model model;
  const Value s = model.add("onnx.Sin", {model.input("x", {1, 3, 4, 4})}, "s");
  model.output(one_by_one(model, model.add("onnx.Relu", {s}, "relu"), "y"));
  model.output(model.add("onnx.Exp", {s}, "z"));
  const QuantizeResult result = test::quantized_by_operands(model);
  REQUIRE(test::planned(result, "y") == "activation i8");
  CHECK(count_of_kind(result.graph, "onnx.Relu") == 1);
}

TEST_CASE("static_affine: with 16 bits limits stay") {
  StaticAffineOptions options;
  options.activations.bits = 16;
  Model model;
  const Value x = model.input("x", {1, 3, 4, 4});
  model.output(one_by_one(model, model.add("onnx.Relu", {one_by_one(model, x, "a")}, "relu"), "b"));
  const QuantizeResult result = test::quantized_by_operands(model, options);
  CHECK(test::planned(result, "relu") == "activation i16");
  CHECK(count_of_kind(result.graph, "onnx.Relu") == 1);
}

TEST_CASE("static_affine: limits behind one another go together") {
  Model model;
  const Value x = model.input("x", {1, 3, 4, 4});
  const Value relu = model.add("onnx.Relu", {one_by_one(model, x, "a")}, "relu");
  const Value bounds = model.constant("bounds", {1}, {100});
  model.output(one_by_one(model, model.add("onnx.Min", {relu, bounds}, "limited"), "b"));
  const QuantizeResult result = test::quantized_by_operands(model);
  CHECK(count_of_kind(result.graph, "onnx.Relu") == 0);
  CHECK(count_of_kind(result.graph, "onnx.Min") == 0);
}

TEST_CASE("static_affine: what is chosen before it is limited has no codes beyond the limit") {
  const auto lowest_of = [](std::string_view between, Attributes attributes) {
    Model model;
    const Value x = model.input("x", {1, 3, 4, 4});
    const Value moved = model.add(std::string(between), {one_by_one(model, x, "a")}, "moved",
                                  std::move(attributes));
    model.output(one_by_one(model, model.add("onnx.Relu", {moved}, "relu"), "b"));
    return lowest(test::quantized_by_operands(model), "a");
  };
  const std::vector<std::int64_t> two{2, 2};
  CHECK(lowest_of("onnx.MaxPool", {{"kernel_shape", two}, {"strides", two}}) == 0);
  CHECK(lowest_of("transpose", {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}}) == 0);
  // Means are of what was there before the limit.
  CHECK(lowest_of("onnx.AveragePool", {{"kernel_shape", two}, {"strides", two}}) < 0);
}

TEST_CASE(
    "static_affine: a limit of what was moved from a value that others read has its own "
    "parameters") {
  // One of [0, 0.01], of values many times as large.
  const auto scale_of = [](std::string_view between, Attributes attributes, bool is_read) {
    Model model;
    const Value a = one_by_one(model, model.input("x", {1, 3, 4, 4}), "a");
    const Value moved = model.add(std::string(between), {a}, "moved", std::move(attributes));
    const Value limited = model.add(
        "onnx.Clip", {moved, model.constant("low", {1}, {0}), model.constant("high", {1}, {0.01F})},
        "clip");
    model.output(one_by_one(model, limited, "b"));
    if (is_read) model.output(one_by_one(model, a, "c"));
    return scale(test::quantized_by_operands(model), "clip");
  };
  const float own = 0.01F / 255 * 1.001F;
  const Attributes turned{{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}};
  CHECK(scale_of("transpose", turned, true) <= own);
  CHECK(scale_of("transpose", turned, false) <= own);
  // Means are of what was there before the limit.
  CHECK(scale_of("onnx.AveragePool", {{"kernel_shape", std::vector<std::int64_t>{2, 2}}}, false) <=
        own);
}

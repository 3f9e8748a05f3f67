// The model's inputs and outputs: real values, or codes where the options ask for them.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "build.hpp"
#include "quantized_types.hpp"

using namespace quadrant;
using quadrant::test::Model;
using quadrant::test::planned;

namespace {

StaticAffineOptions with_codes(bool at_inputs, bool at_outputs) {
  StaticAffineOptions options;
  options.quantized_inputs = at_inputs;
  options.quantized_outputs = at_outputs;
  return options;
}

const TensorType& input_type(const Graph& graph, std::size_t index = 0) {
  return graph.type({graph.inputs()[index]});
}

const TensorType& output_type(const Graph& graph, std::size_t index = 0) {
  return graph.type(graph.operands(graph.outputs()[index])[0]);
}

Value two_channel_conv(Model& model, Value x, const std::string& name) {
  return model.add("conv", {x, model.weight(name + "_w", {2, 2, 1, 1})}, name);
}

// y = conv(x)
Model one_layer() {
  Model model;
  model.output(two_channel_conv(model, model.input("x", {1, 2, 3, 3}), "y"));
  return model;
}

std::string type_name(const TensorType& type) {
  return std::string(to_string(type.element)) + (type.is_quantized() ? " codes" : "");
}

}  // namespace

TEST_CASE("static_affine: inputs and outputs are real values, or codes, as the options say") {
  for (const bool at_inputs : {false, true}) {
    for (const bool at_outputs : {false, true}) {
      CAPTURE(at_inputs);
      CAPTURE(at_outputs);
      Model model = one_layer();
      StaticAffineOptions options = with_codes(at_inputs, at_outputs);
      options.unsigned_activations = at_outputs;
      const QuantizeResult result = test::quantized_by_operands(model, options);
      const std::string codes = options.unsigned_activations ? "u8 codes" : "i8 codes";
      CHECK(type_name(input_type(result.graph)) == (at_inputs ? codes : "f32"));
      CHECK(type_name(output_type(result.graph)) == (at_outputs ? codes : "f32"));
      // Inputs and outputs are as many as before, and called as before.
      REQUIRE(result.graph.inputs().size() == 1);
      REQUIRE(result.graph.outputs().size() == 1);
      CHECK(result.graph.name(result.graph.inputs()[0]) ==
            model.graph.name(model.graph.inputs()[0]));
      CHECK(result.graph.name(result.graph.outputs()[0]) ==
            model.graph.name(model.graph.outputs()[0]));
      CHECK(result.graph.value_name({result.graph.inputs()[0]}) == "x");
      CHECK(result.graph.value_name(result.graph.operands(result.graph.outputs()[0])[0]) == "y");
      if (!at_inputs) {
        CHECK(test::reason(model.graph, result, "x") == "the model's inputs stay float");
      }
    }
  }
}

TEST_CASE("static_affine: an output says whether it takes codes, not that it holds no numbers") {
  for (const bool at_outputs : {false, true}) {
    Model model = one_layer();
    const NodeId output = model.graph.outputs()[0];
    const StaticAffineOptions options = with_codes(false, at_outputs);
    const QuantizeResult result = test::quantized_by_operands(model, options);
    const Explanation explained =
        explain(model.graph, result.analysis.registry, result.analysis, output);
    CHECK(explained.reason == (at_outputs
                                   ? "takes 1 of 1 operands that it asked for in quantized form"
                                   : "it asks for nothing"));
  }
}

TEST_CASE("static_affine: an input of integers stays what it is") {
  Model model;
  const Value indices =
      model.graph.add_input("indices", build::tensor(ElementType::int64, Shape{3}));
  const Value table = model.weight("table", {5, 4});
  const Value rows = model.add("gather", {table, indices}, "rows", {{"axis", std::int64_t{0}}});
  model.output(model.add("matmul", {rows, model.weight("w", {4, 2})}, "y"));
  StaticAffineOptions options = with_codes(true, true);
  options.statistics = test::statistics_of({{"rows", -1, 1}, {"y", -2, 2}});
  const QuantizeResult result = test::quantized(model.graph, options, test::by_operands());
  CHECK(type_name(input_type(result.graph)) == "i64");
  CHECK(test::reason(model.graph, result, "indices") == "it is not float");
  CHECK(planned(result, "rows") == "activation i8");
  CHECK(type_name(output_type(result.graph)) == "i8 codes");
}

TEST_CASE("static_affine: an output of integers stays what it is") {
  Model model;
  const Value x = model.input("x", {1, 2, 3, 3});
  const Value y = two_channel_conv(model, x, "y");
  const Value best = build::add(model.graph, "onnx.ArgMax", {y},
                                build::tensor(ElementType::int64, Shape{1, 1, 3, 3}),
                                {{"axis", std::int64_t{1}}}, "best");
  model.graph.add_output("best", best);
  StaticAffineOptions options = with_codes(true, true);
  options.statistics = test::statistics_of({{"x", -1, 1}, {"y", -2, 2}});
  const QuantizeResult result = test::quantized(model.graph, options, test::by_operands());
  CHECK(type_name(output_type(result.graph)) == "i64");
}

TEST_CASE("static_affine: an input that is an output, too") {
  for (const bool at_inputs : {false, true}) {
    for (const bool at_outputs : {false, true}) {
      CAPTURE(at_inputs);
      CAPTURE(at_outputs);
      Model model = one_layer();
      model.output(model.graph.find_value("x"));
      const QuantizeResult result =
          test::quantized_by_operands(model, with_codes(at_inputs, at_outputs));
      // One name in a file is either codes or real values.
      const bool has_codes = at_inputs && at_outputs;
      CHECK(input_type(result.graph).is_quantized() == has_codes);
      CHECK(output_type(result.graph, 0).is_quantized() == at_outputs);
      CHECK(output_type(result.graph, 1).is_quantized() == has_codes);
      CHECK(planned(result, "x") == (has_codes ? "activation i8" : "float"));
    }
  }
}

TEST_CASE("static_affine: an input that is an output, and nothing else") {
  for (const bool at_inputs : {false, true}) {
    for (const bool at_outputs : {false, true}) {
      CAPTURE(at_inputs);
      CAPTURE(at_outputs);
      Model model;
      model.output(model.input("x", {1, 2}));
      const QuantizeResult result =
          test::quantized_by_operands(model, with_codes(at_inputs, at_outputs));
      const bool has_codes = input_type(result.graph).is_quantized();
      CHECK(has_codes == (at_inputs && at_outputs));
      CHECK(result.graph.inputs().size() == 1);
      CHECK(result.graph.outputs().size() == 1);
    }
  }
}

TEST_CASE("static_affine: an input that several read is codes for each, and real for others") {
  Model model;
  const Value x = model.input("x", {1, 2, 3, 3});
  model.output(two_channel_conv(model, x, "a"));
  model.output(two_channel_conv(model, x, "b"));
  model.output(model.add("onnx.Exp", {x}, "e"));
  const QuantizeResult result = test::quantized_by_operands(model, with_codes(true, false));
  CHECK(type_name(input_type(result.graph)) == "i8 codes");
  std::size_t dequantizers = 0;
  for (const Use& use : result.graph.uses(result.graph.inputs()[0])) {
    if (result.graph.kind(use.user) == ops::Dequantize::kind) ++dequantizers;
  }
  CHECK(dequantizers == 1);
  const Value e = result.graph.find_value("e");
  REQUIRE_FALSE(e.is_absent());
  CHECK_FALSE(result.graph.type(result.graph.operands(e.node)[0]).is_quantized());
  for (const char* const name : {"a_w", "b_w"}) {
    CHECK(planned(result, name) == "weight i8 axis=0");
  }
}

TEST_CASE("static_affine: an input without statistics stays real, and says why") {
  Model model = one_layer();
  StaticAffineOptions options = with_codes(true, true);
  options.statistics = test::statistics_of({{"y", -1, 1}});
  const QuantizeResult result = test::quantized(model.graph, options, test::by_operands());
  CHECK(type_name(input_type(result.graph)) == "f32");
  CHECK(test::reason(model.graph, result, "x") ==
        "activation i8 was asked for: nothing is known of its range: calibrate the model");
}

TEST_CASE("static_affine: one value may be several outputs") {
  for (const bool at_outputs : {false, true}) {
    CAPTURE(at_outputs);
    Model model = one_layer();
    const Value y = model.graph.find_value("y");
    model.graph.add_output("again", y);
    const QuantizeResult result = test::quantized_by_operands(model, with_codes(false, at_outputs));
    REQUIRE(result.graph.outputs().size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(output_type(result.graph, i).is_quantized() == at_outputs);
    }
    CHECK(result.graph.name(result.graph.outputs()[1]) == "again");
  }
}

TEST_CASE("static_affine: a constant that is an output may be codes") {
  for (const bool at_outputs : {false, true}) {
    CAPTURE(at_outputs);
    Model model = one_layer();
    model.output(model.constant("c", {2}, {1, -1}));
    const QuantizeResult result = test::quantized_by_operands(model, with_codes(false, at_outputs));
    CHECK(output_type(result.graph, 1).is_quantized() == at_outputs);
  }
}

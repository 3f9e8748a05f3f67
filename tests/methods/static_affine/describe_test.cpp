// What the scheme says of itself: its options in one line, and the operations that it knows.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "build.hpp"

using namespace quadrant;
using quadrant::test::Model;

TEST_CASE("static_affine: options are described") {
  struct Case {
    StaticAffineOptions options;
    std::string_view description;
  };
  StaticAffineOptions narrow;
  narrow.weights.bits = 4;
  narrow.weights.method = EncodingMethod::mse;
  narrow.bias_bits = 8;
  StaticAffineOptions wide;
  wide.activations = EncodingRule::onnx();
  wide.activations.bits = 16;
  wide.activations.symmetry = EncodingSymmetry::symmetric;
  wide.activations.method = EncodingMethod::enhanced;
  wide.unsigned_activations = true;
  wide.weight_granularity = Granularity::Kind::tensor;
  StaticAffineOptions whole;
  whole.quantized_inputs = true;
  whole.quantized_outputs = true;
  whole.quantized_recurrent_weights = true;
  StaticAffineOptions profile;
  profile.activations = EncodingRule::snpe();
  profile.activations.method = EncodingMethod::percentile;
  profile.activations.percentile = 99.5;
  profile.weights.method = EncodingMethod::entropy;
  StaticAffineOptions litert;
  litert.kernels = KernelsTarget::tflite;
  litert.activations.bits = 16;
  const std::vector<Case> cases{
      {{},
       "activations=i8 asymmetric minmax weights=i8 symmetric-strict minmax granularity=channel "
       "bias=i32 recurrent=float inputs=float outputs=float"},
      {narrow,
       "activations=i8 asymmetric minmax weights=i4 symmetric-strict mse granularity=channel "
       "bias=i8 recurrent=float inputs=float outputs=float"},
      {wide,
       "activations=u16 symmetric enhanced weights=i8 symmetric-strict minmax granularity=tensor "
       "bias=i32 recurrent=float inputs=float outputs=float"},
      {whole,
       "activations=i8 asymmetric minmax weights=i8 symmetric-strict minmax granularity=channel "
       "bias=i32 recurrent=codes inputs=codes outputs=codes"},
      {profile,
       "activations=i8 asymmetric percentile 99.5 minimum-range=0.01 weights=i8 symmetric-strict "
       "entropy granularity=channel bias=i32 recurrent=float inputs=float outputs=float"},
      {litert,
       "activations=i16 symmetric minmax weights=i8 symmetric-strict minmax granularity=channel "
       "bias=i32 recurrent=float inputs=float outputs=float kernels=tflite"},
  };
  for (const Case& each : cases) {
    const auto scheme = StaticAffine::make(each.options);
    REQUIRE(scheme.has_value());
    CHECK(scheme->describe() == each.description);
    CHECK(scheme->name() == "static_affine");
  }
}

TEST_CASE("static_affine: a plan is made for options, and is not followed with others") {
  Model model;
  const Value x = model.input("x", {1, 2, 3, 3});
  model.output(model.add("conv", {x, model.weight("w", {2, 2, 1, 1})}, "y"));
  StaticAffineOptions options{.statistics = model.statistics()};
  const QuantizeResult first = test::quantized(model.graph, options, test::by_operands());
  REQUIRE(first.analysis.plan.schemes.size() == 1);
  CHECK(first.analysis.plan.schemes[0].options == StaticAffine(options).describe());
  QuantizeOptions follow = test::by_operands();
  follow.plan = &first.analysis.plan;
  const auto refuses = [&](const StaticAffineOptions& others) {
    const auto result = quantize_static(model.graph, others, follow);
    return !result && result.error().code == ErrorCode::impossible &&
           result.error().message.find("the plan was made with") != std::string::npos;
  };
  CHECK_FALSE(refuses(options));
  StaticAffineOptions others = options;
  others.quantized_recurrent_weights = true;
  CHECK(refuses(others));
  others = options;
  others.activations.minimum_range = 0.01;
  CHECK(refuses(others));
  others = options;
  others.quantized_outputs = true;
  CHECK(refuses(others));
}

TEST_CASE("static_affine: the operations that it knows are those of its documentation") {
  const Registry registry = test::value_of(static_affine_registry({}));
  REQUIRE(registry.scheme_count() == 1);
  std::vector<std::string> found;
  std::vector<std::string> consumers;
  for (const QuantizationMethod* const method : registry.methods()) {
    found.emplace_back(method->op());
    if (method->eligible_state() == State::Consumer) consumers.emplace_back(method->op());
  }
  std::vector<std::string> expected{"constant",
                                    "input",
                                    "output",  //
                                    "conv",
                                    "conv_transpose",
                                    "matmul",
                                    "gemm",
                                    "linear",
                                    "addmm",
                                    "batch_matmul",  //
                                    "onnx.Relu",
                                    "onnx.Clip",
                                    "onnx.Min",  //
                                    "identity",
                                    "transpose",
                                    "reshape",
                                    "squeeze",
                                    "unsqueeze",
                                    "flatten",
                                    "expand",
                                    "slice",
                                    "split",
                                    "gather",
                                    "onnx.MaxPool",
                                    "onnx.AveragePool",
                                    "onnx.Pad",
                                    "onnx.Resize",
                                    "onnx.DepthToSpace",
                                    "onnx.SpaceToDepth",
                                    "onnx.Tile",  //
                                    "add",
                                    "multiply",
                                    "concat",
                                    "onnx.GlobalAveragePool",
                                    "onnx.LeakyRelu",
                                    "onnx.Sigmoid",
                                    "onnx.Softmax",  //
                                    "lstm",
                                    "gru",
                                    "rnn"};
  std::ranges::sort(expected);
  CHECK(found == expected);  // sorted by operation
  CHECK(consumers == std::vector<std::string>{"gru", "lstm", "output", "rnn"});
}

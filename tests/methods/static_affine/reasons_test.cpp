// Every reason that the scheme gives for what it leaves in float, and every run that it refuses,
// each provoked by a small model.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "build.hpp"
#include "quantized_types.hpp"

using namespace quadrant;
using quadrant::test::Model;

namespace {

constexpr std::string_view unknown = "nothing is known of its range: calibrate the model";
constexpr std::string_view non_finite = "it was NaN or infinite when it was calibrated";
const std::string asked = "activation i8 was asked for: ";
const std::string asked_for_weight = "weight i8 axis=1 was asked for: ";

std::shared_ptr<StatisticsTable> statistics_of_all(const Graph& graph) {
  auto table = std::make_shared<StatisticsTable>();
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid()) continue;
    for (std::uint32_t k = 0; k < graph.result_count(node); ++k) {
      table->values[std::string(graph.value_name({node, k}))].histogram.add(
          std::vector<float>{-1, 2});
    }
  }
  return table;
}

// With statistics of all values but `unseen`; `broken` was NaN.
struct Seen {
  std::string_view unseen;
  std::string_view broken;
};

QuantizeResult quantized_when_seen(const Model& model, StaticAffineOptions options = {},
                                   const Seen& except = {}) {
  auto table = statistics_of_all(model.graph);
  if (!except.unseen.empty()) table->values.erase(std::string(except.unseen));
  if (!except.broken.empty()) {
    table->values[std::string(except.broken)].histogram.add(
        std::vector<float>{std::numeric_limits<float>::quiet_NaN()});
  }
  options.statistics = std::move(table);
  return test::quantized(model.graph, std::move(options), test::by_operands());
}

Value four_channel_conv(Model& model, Value x, const std::string& name = "conv") {
  return model.add("conv", {x, model.weight(name + "_w", {4, 4, 1, 1})}, name);
}

// last = conv(v), v made of x: v is asked for codes.
using MakeFromInput = std::function<Value(Model&, Value)>;
Model model_asking_for(const MakeFromInput& make) {
  Model model;
  const Value x = model.input("x", {1, 4, 4, 4});
  model.output(four_channel_conv(model, make(model, x), "last"));
  return model;
}

}  // namespace

TEST_CASE("static_affine: activations of every family say why they stay float") {
  struct Family {
    std::string_view name;
    MakeFromInput make;
  };
  const std::vector<Family> families{
      {"product", [](Model& model, Value x) { return four_channel_conv(model, x, "v"); }},
      {"arithmetic", [](Model& model, Value x) { return model.add("add", {x, x}, "v"); }},
      {"concat",
       [](Model& model, Value x) {
         const Value half = model.weight("half", {1, 2, 4, 4});
         const Value w = model.weight("v_w", {2, 4, 1, 1});
         return model.add("concat", {model.add("conv", {x, w}, "other"), half}, "v",
                          {{"axis", std::int64_t{1}}});
       }},
      {"clamp",
       [](Model& model, Value x) {
         return model.add("onnx.Relu", {model.add("onnx.Exp", {x}, "island")}, "v");
       }},
      {"curve", [](Model& model, Value x) { return model.add("onnx.LeakyRelu", {x}, "v"); }},
  };
  for (const Family& family : families) {
    CAPTURE(family.name);
    const Model model = model_asking_for(family.make);
    CHECK(test::reason(model.graph, quantized_when_seen(model, {}, {.unseen = "v"}), "v") ==
          asked + std::string(unknown));
    CHECK(test::reason(model.graph, quantized_when_seen(model, {}, {.broken = "v"}), "v") ==
          asked + std::string(non_finite));
    CHECK(test::planned(quantized_when_seen(model), "v") == "activation i8");
  }
}

TEST_CASE("static_affine: a product whose result nobody asks for says why it makes no codes") {
  const Model model =
      model_asking_for([](Model& grown, Value x) { return four_channel_conv(grown, x, "v"); });
  const auto reason_without = [&](const Seen& except) {
    return test::reason(model.graph, quantized_when_seen(model, {}, except), "last");
  };
  const std::string nobody =
      "no operation requests it in quantized form; it is read by output (operand 0); its own "
      "operation "
      "does not either: ";
  CHECK(reason_without({.unseen = "last"}) == nobody + std::string(unknown));
  CHECK(reason_without({.broken = "last"}) == nobody + std::string(non_finite));
}

TEST_CASE("static_affine: a weight says what keeps its product from asking for it") {
  const Model model =
      model_asking_for([](Model& grown, Value x) { return four_channel_conv(grown, x, "v"); });
  CHECK(test::reason(model.graph, quantized_when_seen(model, {}, {.broken = "last"}), "last_w")
            .ends_with("; 'last' does not: " + std::string(non_finite)));
}

TEST_CASE("static_affine: what limits or moves a value of an unknown range stays float with it") {
  const auto reason_of = [](const MakeFromInput& make, std::string_view value) {
    const Model model = model_asking_for(make);
    return test::reason(model.graph, quantized_when_seen(model, {}, {.unseen = "v"}), value);
  };
  const std::string behind = "what it is computed from cannot be quantized as asked";
  const MakeFromInput moved = [](Model& model, Value x) {
    return model.add("transpose", {four_channel_conv(model, x, "v")}, "moved",
                     {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
  };
  CHECK(reason_of(moved, "v") == asked + std::string(unknown));
  CHECK(reason_of(moved, "moved") == behind);
  // Of a value that is only limited, the limited one counts.
  const MakeFromInput limits = [](Model& model, Value x) {
    return model.add("onnx.Relu", {four_channel_conv(model, x, "before")}, "v");
  };
  CHECK(reason_of(limits, "before").ends_with(unknown));
  CHECK(reason_of(limits, "v") == asked + std::string(unknown));
}

TEST_CASE("static_affine: moves that are none say so") {
  const std::string reason = asked + "its result is no choice of its operand's elements";
  const std::vector<MakeFromInput> cases{
      [](Model& model, Value x) {
        return model.add("onnx.Pad",
                         {x, model.integers({0, 0, 1, 0, 0, 0, 0, 0}),
                          model.constant("filling", Shape::scalar(), {1})},
                         "v");
      },
      [](Model& model, Value x) {
        return model.add("onnx.Resize", {x, {}, model.constant("scales", {4}, {1, 1, 2, 2})}, "v",
                         {{"mode", std::string("cubic")}});
      },
  };
  for (const MakeFromInput& make : cases) {
    const Model model = model_asking_for(make);
    CHECK(test::reason(model.graph, quantized_when_seen(model), "v") == reason);
  }
}

TEST_CASE("static_affine: constants say why they are no codes") {
  Model model;
  const Value x = model.input("x", {1, 4, 4, 4});
  const Value empty = model.constant("empty", {1, 0, 4, 4}, {});
  const Value joined = model.add("concat", {x, empty}, "joined", {{"axis", std::int64_t{1}}});
  const Value shape = model.integers({1, 4, 16});
  model.output(model.add("reshape", {four_channel_conv(model, joined), shape}, "formed"));
  const QuantizeResult result = quantized_when_seen(model);
  CHECK(test::reason(model.graph, result, "empty") == "it is empty");
  CHECK(test::reason(model.graph, result, "integers") == "it is not float");
}

TEST_CASE("static_affine: a weight without the axis that is asked for") {
  // The model is wrong, and nobody has looked at its shapes.
  Model model;
  const Value x = model.input("x", {5, 1, 3});
  const Value w = model.weight("w", {6});
  const Value r = model.weight("r", {1, 2, 2});
  model.output(build::add(model.graph, "rnn", {x, w, r}, build::f32({5, 1, 1, 2}),
                          {{"hidden_size", std::int64_t{2}}}, "y"));
  StaticAffineOptions options;
  options.quantized_recurrent_weights = true;
  const QuantizeResult result =
      test::value_of(quantize_static(model.graph, options, test::by_operands()));
  CHECK(test::reason(model.graph, result, "w") == asked_for_weight + "it has no such axis");
  CHECK(test::planned(result, "r") == "weight i8 axis=1");
}

TEST_CASE("static_affine: a weight whose channels are spread over its axes") {
  Model model;
  const Value x = model.input("x", {5, 1, 3});
  const Value flat = model.weight("flat", {6});
  const Value w = model.add("reshape", {flat, model.integers({1, 2, 3})}, "w");
  const Value r = model.weight("r", {1, 2, 2});
  model.output(model.add("rnn", {x, w, r}, "y", {{"hidden_size", std::int64_t{2}}}));
  StaticAffineOptions options;
  options.quantized_recurrent_weights = true;
  const QuantizeResult result = quantized_when_seen(model, options);
  CHECK(test::reason(model.graph, result, "w") ==
        asked_for_weight + "the channels of its result are not those of one axis of its operand");
  CHECK(test::planned(result, "flat") == "float");
}

TEST_CASE("static_affine: integers that are computed hold no real numbers") {
  Model model;
  const Value given = model.graph.add_input("given", build::tensor(ElementType::int64, {4}));
  const Value sum = build::add(model.graph, "add", {given, given},
                               build::tensor(ElementType::int64, {4}), {}, "sum");
  model.graph.add_output("sum", sum);
  StaticAffineOptions options;
  options.quantized_inputs = true;
  options.quantized_outputs = true;
  const QuantizeResult result = quantized_when_seen(model, options);
  CHECK(test::reason(model.graph, result, "sum") == "its results are not float");
  CHECK(StaticAffine(options).refusal(model.graph, sum) == std::string_view("it is not float"));
  CHECK(test::reason(model.graph, result, "given") == "it is not float");
}

// An operation of somebody else, whose methods come on top of the scheme's.
namespace {
struct Odd {
  static constexpr std::string_view kind = "test.Odd";
};
QUADRANT_CONSUMER(OddMethod, StaticAffine, Odd, requires_parents(AnyState)) {
  void request(NodeRef /*node*/, Asks& asks) const override { asks.benefit(0, scheme().weight(0)); }
};

}  // namespace

TEST_CASE("static_affine: what is computed is no weight, whoever asks") {
  Model model;
  const Value x = model.input("x", {1, 4, 4, 4});
  const Value odd = build::add(model.graph, "test.Odd", {model.add("add", {x, x}, "sum")},
                               build::f32({1, 4, 4, 4}), {}, "odd");
  model.output(odd);
  RegistryBuilder builder =
      RegistryBuilder::of(StaticAffine({.statistics = statistics_of_all(model.graph)}));
  StaticAffine::Registration(builder).add<OddMethod>();
  const Registry registry = test::value_of(std::move(builder).freeze());
  const QuantizeResult result =
      test::value_of(quantize(model.graph, registry, test::by_operands()));
  CHECK(test::reason(model.graph, result, "sum") ==
        "weight i8 axis=0 was asked for: its result is an activation");
}

TEST_CASE("static_affine: a weight with NaN is named with its element, or left with that reason") {
  const Model model = [] {
    Model grown;
    const Value x = grown.input("x", {1, 2});
    const std::vector<float> values{1, 2, std::numeric_limits<float>::quiet_NaN(), 4};
    grown.output(grown.add("matmul", {x, grown.constant("w", {2, 2}, values)}, "y"));
    return grown;
  }();
  const StaticAffineOptions options{.statistics = statistics_of_all(model.graph)};
  QuantizeOptions run = test::by_operands();
  const auto refused = quantize_static(model.graph, options, run);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::impossible);
  CHECK(refused.error().place.tensor == "w");
  CHECK(refused.error().message.find("element 2 is nan, read as float32") != std::string::npos);
  run.non_finite = NonFinitePolicy::leave_float;
  const QuantizeResult left = test::quantized(model.graph, options, run);
  CHECK(test::reason(model.graph, left, "w").find("element 2 is nan") != std::string::npos);
}

TEST_CASE("static_affine: a bias without a scale is refused by name") {
  // The product of both scales is beyond float32.
  Model model;
  const Value x = model.input("x", {1, 2, 4, 4});
  const Value w = model.constant("w", {2, 2, 1, 1}, {1e30F, 1e30F, 1e30F, 1e30F});
  model.output(model.add("conv", {x, w, model.constant("b", {2}, {1, 1})}, "y"));
  const StaticAffineOptions options{.statistics =
                                        test::statistics_of({{"x", 0, 1e15F}, {"y", -1, 1}})};
  const auto refused = quantize_static(model.graph, options, test::by_operands());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::impossible);
  CHECK(refused.error().place.tensor == "b");
  CHECK(refused.error().message.find("the scale of its products with the data would be") !=
        std::string::npos);
  CHECK(refused.error().message.find("exclude the operation that reads it") != std::string::npos);
}

TEST_CASE("static_affine: options that nothing can compute are named") {
  const auto message = [](const StaticAffineOptions& options) {
    const auto made = StaticAffine::make(options);
    return made ? std::string() : made.error().message;
  };
  StaticAffineOptions options;
  options.activations.bits = 12;
  CHECK(message(options) == "static_affine has activations of 8 or 16 bits; 12 are not available");
  options = {};
  options.weights.bits = 16;
  CHECK(message(options) == "static_affine has weights of 8 or 4 bits; 16 are not available");
  options = {};
  options.bias_bits = 16;
  CHECK(message(options) == "static_affine has biases of 32 or 8 bits; 16 are not available");
  options = {};
  options.activations.method = EncodingMethod::adjusted_weights;
  CHECK(message(options) == "the encoding adjusted-weights is for weights");
  options = {};
  options.weights.symmetry = EncodingSymmetry::asymmetric;
  CHECK(message(options) ==
        "asymmetric weights have one scale and zero point for the tensor, not for each channel: "
        "no runtime has integer kernels for those");
  options = {};
  options.weight_granularity = Granularity::Kind::block;
  CHECK(message(options) ==
        "weights in blocks are for weight_only: their scales vary along the sum");
}

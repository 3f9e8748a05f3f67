// What the scheme decides, rule by rule.
#include <doctest/doctest.h>

#include <limits>
#include <string_view>

#include "build.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;
using quadrant::test::Model;

namespace {

Value conv_of(Model& model, Value x, std::string name = "conv") {
  return model.add("conv", {x, model.weight("w", {3, 3, 1, 1}), model.weight("b", {3})},
                   std::move(name));
}

}  // namespace

TEST_CASE("static_affine: a relu shares the codes of a product that nobody else reads, and goes") {
  Model model;
  const Value x = model.input("x", {1, 3, 4, 4});
  model.output(conv_of(model, model.add("onnx.Relu", {conv_of(model, x)}, "relu"), "last"));
  const QuantizeResult result = test::quantized_by_operands(model);
  const Value relu = result.graph.find_value("relu");
  REQUIRE_FALSE(relu.is_absent());
  CHECK(result.graph.kind(relu.node) == "conv");
}

TEST_CASE("static_affine: a relu stays where others read what it limits") {
  Model model;
  const Value x = model.input("x", {1, 3, 4, 4});
  const Value conv = conv_of(model, x);
  const Value relu = model.add("onnx.Relu", {conv}, "relu");
  model.output(conv_of(model, model.add("add", {relu, conv}, "sum"), "last"));
  const QuantizeResult result = test::quantized_by_operands(model);
  CHECK(test::planned(result, "relu") != "float");
  const Value found = result.graph.find_value("relu");
  REQUIRE_FALSE(found.is_absent());
  CHECK(result.graph.kind(found.node) == "onnx.Relu");
}

TEST_CASE("static_affine: values without statistics, or that were NaN, stay float and say why") {
  Model model;
  const Value x = model.input("x", {1, 3, 4, 4});
  model.output(conv_of(model, conv_of(model, x), "last"));
  auto statistics = model.statistics();
  statistics->values["conv"].histogram.add(
      std::vector<float>{std::numeric_limits<float>::quiet_NaN()});
  statistics->values.erase("last");
  const QuantizeResult result =
      test::quantized_by_operands(model, {.statistics = std::move(statistics)});
  CHECK(result.analysis.plan.values.empty());
}

TEST_CASE("static_affine: options that nothing can compute are refused") {
  const auto refused = [](const StaticAffineOptions& options) {
    const auto made = StaticAffine::make(options);
    return !made && made.error().code == ErrorCode::impossible;
  };
  StaticAffineOptions options;
  CHECK_FALSE(refused(options));
  for (const int bits : {4, 12, 32}) {
    options = {};
    options.activations.bits = bits;
    CHECK(refused(options));
  }
  options = {};
  options.weights.bits = 16;
  CHECK(refused(options));
  options = {};
  options.bias_bits = 16;
  CHECK(refused(options));
  options = {};
  options.weight_granularity = Granularity::Kind::block;
  CHECK(refused(options));
  options = {};
  options.activations.method = EncodingMethod::adjusted_weights;
  CHECK(refused(options));
  options = {};
  options.weights.symmetry = EncodingSymmetry::asymmetric;
  CHECK(refused(options));
  options.weight_granularity = Granularity::Kind::tensor;
  CHECK_FALSE(refused(options));
}

TEST_CASE("static_affine: forms as text and back") {
  using Role = AffineForm::Role;
  CHECK(AffineForm{}.print() == "activation i8");
  CHECK(AffineForm{Role::weight, ElementType::int8, Granularity::per_axis(0)}.print() ==
        "weight i8 axis=0");
  for (const Role role : {Role::activation, Role::weight, Role::bias, Role::sum}) {
    for (const ElementType storage : {ElementType::int4, ElementType::uint16, ElementType::int32}) {
      for (const Granularity& groups : {Granularity::per_tensor(), Granularity::per_axis(2)}) {
        const AffineForm form{role, storage, groups};
        CHECK(AffineForm::parse(form.print()) == form);
      }
    }
  }
  for (const std::string_view text : {"", "weight", "weight f32", "Weight i8", "weight i8 tensor",
                                      "weight i8 axis=", "activation  i8"}) {
    CAPTURE(text);
    CHECK_FALSE(AffineForm::parse(text).has_value());
  }
}

TEST_CASE("static_affine: a plan that is followed gives the same graph") {
  Model model;
  const Value x = model.input("x", {1, 3, 4, 4});
  model.output(conv_of(model, model.add("onnx.Relu", {conv_of(model, x)}, "relu"), "last"));
  const StaticAffineOptions options{.statistics = model.statistics()};
  const QuantizeResult first = test::quantized(model.graph, options, test::by_operands());
  REQUIRE_FALSE(first.analysis.plan.values.empty());
  QuantizeOptions follow = test::by_operands();
  follow.plan = &first.analysis.plan;
  const QuantizeResult second = test::quantized(model.graph, options, follow);
  CHECK(print_graph(second.graph) == print_graph(first.graph));
  CHECK(second.analysis.plan.values == first.analysis.plan.values);
}

TEST_CASE("static_affine: weights that are NaN are refused, or left, as the policy says") {
  Model model;
  const Value x = model.input("x", {1, 3, 4, 4});
  std::vector<float> values(9, 0.5F);
  model.output(conv_of(model, x, "good"));
  const auto statistics = model.statistics();
  values[4] = std::numeric_limits<float>::quiet_NaN();
  const Value good = model.graph.find_value("good");
  model.graph.set_constant(model.graph.operands(good.node)[1].node,
                           build::floats({3, 3, 1, 1}, values));
  QuantizeOptions run = test::by_operands();
  const auto refused = quantize_static(model.graph, {.statistics = statistics}, run);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::impossible);
  run.non_finite = NonFinitePolicy::leave_float;
  const QuantizeResult left = test::quantized(model.graph, {.statistics = statistics}, run);
  CHECK(test::planned(left, "w") == "float");
}

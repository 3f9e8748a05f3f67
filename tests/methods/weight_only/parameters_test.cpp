#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "methods/weight_only/build.hpp"
#include "methods/weight_only/evaluate.hpp"

using namespace quadrant;

namespace {

Graph linear(std::vector<std::int64_t> extents, float first = 1) {
  Graph graph;
  const Value x = build::input(graph, "x", {2, extents[0]});
  const Value w = build::weight(graph, "w", std::move(extents), [first](std::size_t i) {
    return i == 0 ? first : std::sin(static_cast<float>(i));
  });
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, w}));
  return graph;
}

}  // namespace

TEST_CASE("codes and scales are what the definition says") {
  Graph graph = linear({20, 30});
  const auto original = graph.constant(graph.find_value("w").node)->read();
  const auto result = build::quantize(graph);
  const NodeId node = result.graph.find_value("w_quantized").node;
  const auto type = result.graph.type({node}).uniform();
  const auto codes = result.graph.constant(node)->read();
  const auto scales = type->scales.read();
  REQUIRE(codes.has_value());
  REQUIRE(scales.has_value());
  for (std::size_t column = 0; column < 30; ++column) {
    float largest = 0;
    for (std::size_t row = 0; row < 20; ++row) {
      largest = std::max(largest, std::fabs(original->as<float>()[row * 30 + column]));
    }
    CHECK(scales->as<float>()[column] == largest / 127.0F);
    for (std::size_t row = 0; row < 20; ++row) {
      const float real = original->as<float>()[row * 30 + column];
      const int code = codes->as<std::int8_t>()[row * 30 + column];
      CHECK(code >= -127);
      // Nothing is further off than half a step, and a little for the division.
      CHECK(std::fabs(static_cast<double>(code) * static_cast<double>(largest) / 127.0 -
                      static_cast<double>(real)) <=
            static_cast<double>(largest) / 127.0 * 0.500001);
    }
  }
}

TEST_CASE("NaN and infinity are named and refused, or left in float") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    Graph graph = linear({20, 30}, bad);
    REQUIRE(infer_shapes(graph).has_value());
    const auto refused = quantize_weight_only(graph);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::impossible);
    CHECK(refused.error().place.tensor == "w");
    CHECK(refused.error().message.find("element 0 is") != std::string::npos);
    QuantizeOptions options;
    options.non_finite = NonFinitePolicy::leave_float;
    CHECK(build::planned(build::quantize(graph, options), "w") == "float");
  }
}

TEST_CASE("integer, scalar and empty constants are no weights") {
  Graph graph;
  const std::vector<std::int64_t> integers(4, 1);
  const Value n =
      graph.add_constant("n", Constant::from_values(ElementType::int64, Shape{2, 2},
                                                    std::span<const std::int64_t>(integers)));
  const Value s = build::weight(graph, "s", {});
  const Value e = build::weight(graph, "e", {0, 3});
  for (const Value value : {n, s, e}) {
    build::node(graph, ops::MatMul::kind, "m", {build::input(graph, "x", {2, 2}), value});
  }
  const auto analysis = analyze(graph, *weight_only_registry());
  REQUIRE(analysis.has_value());
  CHECK(analysis->plan.values.empty());
}

TEST_CASE("a weight whose scales take more than it saves stays float under the bytes gain") {
  Graph graph;
  const Value x = build::input(graph, "x", {2, 1});
  // One row: every column has its own scale.
  const Value w = build::weight(graph, "w", {1, 30});
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, w}));
  CHECK(build::planned(build::quantize(graph), "w") == "float");
  const UnitGain unit;
  QuantizeOptions options;
  options.gains = &unit;
  CHECK(build::planned(build::quantize(graph, options), "w") == "axis=1");
}

namespace {

// Every way of storing weights but for the clip that minimizes the error.
std::vector<WeightOnlyOptions> all_settings() {
  std::vector<WeightOnlyOptions> settings;
  for (const int bits : {8, 4}) {
    for (const Symmetry symmetry :
         {Symmetry::symmetric, Symmetry::signed_scale, Symmetry::asymmetric}) {
      for (const Granularity::Kind granularity :
           {Granularity::Kind::tensor, Granularity::Kind::axis, Granularity::Kind::block}) {
        for (const bool unsigned_codes : {false, true}) {
          for (const Clip clip : {Clip::absmax, Clip::minmax}) {
            for (const bool narrow : {false, true}) {
              if (narrow && symmetry != Symmetry::symmetric) continue;
              settings.push_back({.bits = bits,
                                  .symmetry = symmetry,
                                  .granularity = granularity,
                                  .block_size = 8,
                                  .clip = clip,
                                  .narrow_range = narrow,
                                  .unsigned_codes = unsigned_codes});
            }
          }
        }
      }
    }
  }
  return settings;
}

}  // namespace

TEST_CASE("in every setting the codes are within their range, and the weights within half a step") {
  for (const WeightOnlyOptions& options : all_settings()) {
    CAPTURE(WeightOnly(options).describe());
    Graph graph = linear({20, 6});
    const evaluate::Tensor original =
        evaluate::tensor_of(*graph.constant(graph.find_value("w").node));
    const auto result = build::quantize(graph, options, build::by_operands());
    const NodeId node = result.graph.find_value("w_quantized").node;
    REQUIRE(node.is_valid());
    const UniformType& type = *result.graph.type({node}).uniform();
    const ElementType wide = *options.unsigned_codes ? ElementType::uint8 : ElementType::int8;
    const ElementType narrow = *options.unsigned_codes ? ElementType::uint4 : ElementType::int4;
    CHECK(type.storage == (options.bits == 8 ? wide : narrow));
    const std::int64_t codes = std::int64_t{1} << static_cast<unsigned>(options.bits);
    const std::int64_t lowest = *options.unsigned_codes ? 0 : -codes / 2;
    CHECK(type.storage_min == lowest + (*options.narrow_range ? 1 : 0));
    CHECK(type.storage_max == lowest + codes - 1);

    const evaluate::Tensor stored = evaluate::tensor_of(*result.graph.constant(node));
    const evaluate::Tensor reals = evaluate::dequantized(stored, type);
    const std::vector<int> groups = groups::partition(stored.shape, {type.granularity});
    const evaluate::Tensor scales = evaluate::tensor_of(type.scales);
    double worst = 0;
    for (std::size_t i = 0; i < stored.values.size(); ++i) {
      CHECK(stored.values[i] >= static_cast<double>(type.storage_min));
      CHECK(stored.values[i] <= static_cast<double>(type.storage_max));
      const double scale = std::fabs(scales.values[static_cast<std::size_t>(groups[i])]);
      worst = std::max(worst, std::fabs(reals.values[i] - original.values[i]) / scale);
    }
    // With a scale for the longer side the other sign's largest is a step off at most.
    const bool may_clip =
        options.symmetry == Symmetry::signed_scale && options.clip == Clip::absmax;
    CHECK(worst <= (may_clip ? 1.0001 : 0.5001));
  }
}

TEST_CASE("NaN is refused in every setting") {
  for (const WeightOnlyOptions& options : all_settings()) {
    CAPTURE(WeightOnly(options).describe());
    Graph graph = linear({20, 6}, std::numeric_limits<float>::quiet_NaN());
    REQUIRE(infer_shapes(graph).has_value());
    const auto refused = quantize_weight_only(graph, options, build::by_operands());
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::impossible);
    CHECK(refused.error().place.tensor == "w");
  }
}

TEST_CASE("options that cannot be are refused") {
  const auto message = [](const WeightOnlyOptions& options) {
    const auto registry = weight_only_registry(options);
    REQUIRE_FALSE(registry.has_value());
    CHECK(registry.error().code == ErrorCode::impossible);
    CHECK_FALSE(WeightOnly::make(options).has_value());
    CHECK_FALSE(quantize_weight_only(Graph(), options).has_value());
    return registry.error().message;
  };
  const auto holds = [&](const WeightOnlyOptions& options, std::string_view text) {
    return message(options).find(text) != std::string::npos;
  };
  for (const int bits : {5, 0, -8, 16}) CHECK(holds({.bits = bits}, std::to_string(bits)));
  for (const std::int64_t size : {1, 0, -32}) {
    CHECK(holds({.granularity = Granularity::Kind::block, .block_size = size},
                "blocks of " + std::to_string(size)));
  }
  CHECK(WeightOnly::make({.block_size = 0}).has_value());  // no blocks are asked for
  CHECK(holds({.symmetry = Symmetry::asymmetric, .narrow_range = true}, "asymmetric"));
  CHECK(holds({.symmetry = Symmetry::signed_scale, .narrow_range = true}, "signed-scale"));
  CHECK(WeightOnly::make({.symmetry = Symmetry::asymmetric, .narrow_range = false}).has_value());
}

TEST_CASE("options are described, and what is left open is filled in") {
  struct Case {
    WeightOnlyOptions options;
    const char* description;
    ElementType storage;
    std::int64_t min;
    std::int64_t max;
    Clip clip;
  };
  using Form = WeightOnlyOptions::Form;
  const std::vector<Case> cases{
      {{},
       "bits=8 symmetric codes=i8<-127:127> granularity=channel clip=absmax scales=f32 "
       "form=front",
       ElementType::int8,
       -127,
       127,
       Clip::absmax},
      {{.bits = 4},
       "bits=4 symmetric codes=i4<-8:7> granularity=channel clip=mse scales=f32 "
       "form=front",
       ElementType::int4,
       -8,
       7,
       Clip::mse},
      {{.symmetry = Symmetry::asymmetric, .granularity = Granularity::Kind::tensor},
       "bits=8 asymmetric codes=u8<0:255> granularity=tensor clip=minmax scales=f32 form=front",
       ElementType::uint8,
       0,
       255,
       Clip::minmax},
      {{.bits = 4,
        .symmetry = Symmetry::signed_scale,
        .granularity = Granularity::Kind::block,
        .block_size = 16,
        .clip = Clip::mse,
        .unsigned_codes = true,
        .form = Form::behind},
       "bits=4 signed-scale codes=u4<0:15> granularity=block:16 clip=mse scales=f32 form=behind",
       ElementType::uint4,
       0,
       15,
       Clip::mse},
      {{.bits = 4, .narrow_range = true, .form = Form::fewest},
       "bits=4 symmetric codes=i4<-7:7> granularity=channel clip=mse scales=f32 form=fewest",
       ElementType::int4,
       -7,
       7,
       Clip::mse},
      {{.narrow_range = false},
       "bits=8 symmetric codes=i8<-128:127> granularity=channel "
       "clip=absmax scales=f32 form=front",
       ElementType::int8,
       -128,
       127,
       Clip::absmax},
  };
  for (const Case& each : cases) {
    const auto scheme = WeightOnly::make(each.options);
    REQUIRE(scheme.has_value());
    CHECK(scheme->describe() == each.description);
    const ScaleRule rule = scheme->rule();
    CHECK(rule.storage == each.storage);
    CHECK(rule.storage_min == each.min);
    CHECK(rule.storage_max == each.max);
    CHECK(rule.clip == each.clip);
    CHECK(rule.symmetry == each.options.symmetry);
  }
}

TEST_CASE("constraints print and parse") {
  struct Case {
    Granularity groups;
    const char* text = nullptr;
  };
  for (const Case& each : {Case{Granularity::per_tensor(), "tensor"},
                           {Granularity::per_axis(3), "axis=3"},
                           {Granularity::per_block(0, 32), "axis=0 block=32"}}) {
    CHECK(each.groups.print() == each.text);
    CHECK(Granularity::parse(each.text) == each.groups);
  }
  for (const char* text :
       {"axis=", "axis=-1", "axis=3 ", "3", "", "axis=99999999999999999999", "tensor ", "Tensor",
        "block=32", "axis=0 block=", "axis=0 block=0", "axis=0 block=-4", "axis=0  block=4",
        "axis=0block=4", "axis=0 block=4 ", "axis=0 block=99999999999999999999", " axis=0"}) {
    CAPTURE(text);
    CHECK_FALSE(Granularity::parse(text).has_value());
  }
  CHECK(Granularity::per_tensor() < Granularity::per_axis(0));
  CHECK(Granularity::per_axis(0) < Granularity::per_axis(1));
  CHECK(Granularity::per_axis(1) < Granularity::per_block(0, 2));
  CHECK(Granularity::per_block(0, 2) < Granularity::per_block(0, 3));
}

TEST_CASE("a plan is followed in every granularity") {
  for (const auto& [granularity, expected] : {std::pair{Granularity::Kind::axis, "axis=1"},
                                              {Granularity::Kind::tensor, "tensor"},
                                              {Granularity::Kind::block, "axis=0 block=4"}}) {
    Graph graph = linear({20, 6});
    const WeightOnlyOptions settings{.granularity = granularity, .block_size = 4};
    const Plan plan = build::quantize(graph, settings, build::by_operands()).analysis.plan;
    REQUIRE(plan.values.size() == 1);
    CHECK(plan.values[0].constraint == expected);
    QuantizeOptions options = build::by_operands();
    options.plan = &plan;
    CHECK(build::planned(build::quantize(graph, settings, options), "w") == expected);
  }
}

// Weights in the company of others: several readers, moves in between, other float types.
#include <algorithm>
#include <cmath>

#include "methods/weight_only/build.hpp"
#include "methods/weight_only/evaluate.hpp"
#include "model_text.hpp"
#include "quadrant/engine/explain/explain.hpp"

using namespace quadrant;
using test::count_of_kind;

namespace {

Value integers(Graph& graph, const std::vector<std::int64_t>& values) {
  return graph.add_constant(
      "integers",
      Constant::from_values(ElementType::int64, Shape{static_cast<std::int64_t>(values.size())},
                            std::span<const std::int64_t>(values)));
}

// Magnitudes differ along all axes, so that a scale in the wrong place shows.
Value sines(Graph& graph, std::string name, const std::vector<std::int64_t>& extents) {
  const auto count = static_cast<float>(*Shape(extents).element_count());
  return build::weight(graph, std::move(name), extents, [count](std::size_t i) {
    const auto position = static_cast<float>(i);
    return (1.5F + std::sin(position)) * (1 + static_cast<float>(i % 5)) *
           (1 + 3 * position / count);
  });
}

// Values of 8 bits are off by 1/254 of the largest; sums of them, which do not cancel, by no more,
// as far as the largest do not stand out.
void check_same(const Graph& graph, const QuantizeResult& result) {
  const auto inputs = evaluate::some_inputs(graph);
  const auto found = evaluate::outputs(result.graph, inputs);
  CHECK(evaluate::relative_error(found, evaluate::outputs(graph, inputs)) < 0.02);
}

const std::vector<WeightOnlyOptions> settings{
    {},
    {.granularity = Granularity::Kind::tensor},
    {.granularity = Granularity::Kind::block, .block_size = 4},
    {.symmetry = Symmetry::asymmetric},
    {.symmetry = Symmetry::asymmetric, .granularity = Granularity::Kind::block, .block_size = 4},
};

}  // namespace

TEST_CASE("readers that ask for different axes: the one of fewer scales, and both compute right") {
  Graph graph;
  const Value w = sines(graph, "w", {30, 24});
  const Value t = build::node(graph, ops::Transpose::kind, "t", {w});
  graph.add_output(
      "m", build::node(graph, ops::MatMul::kind, "m", {build::input(graph, "x", {5, 30}), w}));
  graph.add_output(
      "n", build::node(graph, ops::MatMul::kind, "n", {build::input(graph, "y", {5, 24}), t}));
  for (const WeightOnlyOptions& options : settings) {
    const auto result = build::quantize(graph, options);
    check_same(graph, result);
    if (options.granularity == Granularity::Kind::axis) {
      CHECK(build::planned(result, "w") == "axis=1");  // 24 scales, not 30
    }
  }
}

TEST_CASE("a tied table: looked up by rows, and multiplied with as columns of its transpose") {
  Graph graph;
  const Value table = sines(graph, "table", {12, 8});
  const Value t = build::node(graph, ops::Transpose::kind, "t", {table});
  graph.add_output(
      "rows", build::node(graph, ops::Gather::kind, "rows", {table, integers(graph, {3, 0, 11})},
                          {{"axis", std::int64_t{0}}}));
  graph.add_output(
      "head", build::node(graph, ops::MatMul::kind, "head", {build::input(graph, "x", {5, 8}), t}));
  const auto planned = [&](const WeightOnlyOptions& options) {
    const auto result = build::quantize(graph, options, build::by_operands());
    check_same(graph, result);
    // Both readers get what they ask for, so one weight is worth two operands.
    CHECK(result.analysis.plan.objective == Gain{2});
    return build::planned(result, "table");
  };
  CHECK(planned({}) == "axis=0");
  CHECK(planned({.granularity = Granularity::Kind::tensor}) == "tensor");
  CHECK(planned({.granularity = Granularity::Kind::block, .block_size = 4}) == "axis=1 block=4");
}

TEST_CASE("a weight that is a graph output is one in float, under its name") {
  Graph graph;
  const Value w = sines(graph, "w", {20, 30});
  graph.add_output(
      "y", build::node(graph, ops::MatMul::kind, "m", {build::input(graph, "x", {2, 20}), w}));
  graph.add_output("w_out", w);
  for (const WeightOnlyOptions& options : settings) {
    const auto result = build::quantize(graph, options);
    CHECK(build::planned(result, "w") != "float");
    check_same(graph, result);
    const Value read = result.graph.operands(result.graph.outputs()[1])[0];
    CHECK(result.graph.value_name(read) == "w");
    CHECK(result.graph.kind(read.node) == ops::Dequantize::kind);
  }
}

TEST_CASE("a weight on both sides of a product") {
  for (const auto& [granularity, expected] : {std::pair{Granularity::Kind::axis, "axis=0"},
                                              {Granularity::Kind::tensor, "tensor"},
                                              {Granularity::Kind::block, "axis=0 block=4"}}) {
    Graph graph;
    const Value w = sines(graph, "w", {16, 16});
    graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {w, w}));
    const auto result =
        build::quantize(graph, {.granularity = granularity, .block_size = 4}, build::by_operands());
    CHECK(build::planned(result, "w") == expected);  // of equal gains the smaller axis
    check_same(graph, result);
  }
}

TEST_CASE("behind a chain of moves the weight alone is stored, and the codes move") {
  Graph graph;
  const Value w = sines(graph, "w", {2, 12, 1, 8});
  const Value s = build::node(graph, ops::Squeeze::kind, "s", {w, integers(graph, {2})});
  const Value t = build::node(graph, ops::Transpose::kind, "t", {s},
                              {{"perm", std::vector<std::int64_t>{0, 2, 1}}});  // 2x8x12
  const Value r = build::reshape(graph, "r", t, {16, 12});
  const Value i = build::node(graph, ops::Identity::kind, "i", {r});
  const Value u = build::node(graph, ops::Unsqueeze::kind, "u", {i, integers(graph, {0})});
  graph.add_output(
      "y", build::node(graph, ops::MatMul::kind, "m", {build::input(graph, "x", {3, 5, 16}), u}));
  for (const WeightOnlyOptions& options : settings) {
    const auto result = build::quantize(graph, options, build::by_operands());
    const std::string planned = build::planned(result, "w");
    CHECK(planned != "float");
    CHECK(count_of_kind(result.graph, ops::Dequantize::kind) == 1);
    CHECK(result.graph.kind(result.graph.find_value("u").node) == ops::Dequantize::kind);
    check_same(graph, result);
    // Columns, of 12: the weight's axis 1. Blocks of 4 along 16 = 2 * 8: its axis 3.
    if (options.granularity == Granularity::Kind::axis) CHECK(planned == "axis=1");
    if (options.granularity == Granularity::Kind::block) CHECK(planned == "axis=3 block=4");
  }
}

TEST_CASE("the parts of a split, each of which somebody else reads") {
  Graph graph;
  const Value w = sines(graph, "w", {8, 24});
  const TensorType unknown{ElementType::float32, Shape(), nullptr};
  const NodeId split = graph.add({.kind = std::string(ops::Split::kind),
                                  .name = "split",
                                  .operands = {w, integers(graph, {12, 8, 4})},
                                  .results = {{"q", unknown}, {"k", unknown}, {"v", unknown}},
                                  .attributes = {{"axis", std::int64_t{1}}}});
  const Value x = build::input(graph, "x", {3, 8});
  for (std::uint32_t part = 0; part < 3; ++part) {
    graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, Value{split, part}}));
  }
  for (const WeightOnlyOptions& options : settings) {
    const auto result = build::quantize(graph, options, build::by_operands());
    CHECK(build::planned(result, "w") != "float");
    CHECK(build::planned(result, "q") == build::planned(result, "w"));
    CHECK(build::planned(result, "v") == build::planned(result, "w"));
    CHECK(count_of_kind(result.graph, ops::Dequantize::kind) == 3);
    check_same(graph, result);
  }
}

TEST_CASE("two weights that are joined, each with scales of its own") {
  Graph graph;
  const Value a = sines(graph, "a", {8, 5});
  const Value b = sines(graph, "b", {8, 7});
  const Value joined =
      build::node(graph, ops::Concat::kind, "joined", {a, b}, {{"axis", std::int64_t{1}}});
  graph.add_output(
      "y", build::node(graph, ops::MatMul::kind, "m", {build::input(graph, "x", {3, 8}), joined}));
  const auto result = build::quantize(graph, build::by_operands());
  CHECK(build::planned(result, "a") == "axis=1");
  CHECK(build::planned(result, "b") == "axis=1");
  const auto scales_of = [&](const char* name) {
    const Value value = result.graph.find_value(name);
    return evaluate::tensor_of(result.graph.type(value).uniform()->scales).values;
  };
  auto expected = scales_of("a");
  const auto of_b = scales_of("b");
  expected.insert(expected.end(), of_b.begin(), of_b.end());
  CHECK(scales_of("joined_quantized") == expected);
  check_same(graph, result);
}

TEST_CASE("a reshape of a weight that it alone reads is the weight where the groups need it") {
  Graph graph;
  const Value w = sines(graph, "w", {16, 4, 4, 10});
  const Value r = build::reshape(graph, "r", w, {256, 10});
  graph.add_output(
      "y", build::node(graph, ops::MatMul::kind, "m", {build::input(graph, "x", {1, 256}), r}));
  const auto blocks =
      build::quantize(graph, {.granularity = Granularity::Kind::block, .block_size = 32});
  CHECK(build::planned(blocks, "w") == "float");
  CHECK(build::planned(blocks, "r") == "axis=0 block=32");
  CHECK(blocks.graph.find_value("w").is_absent());  // the float weight is gone
  CHECK(count_of_kind(blocks.graph, ops::Reshape::kind) == 0);
  CHECK(count_of_kind(blocks.graph, ops::Constant::kind) == 1);
  const Value codes = blocks.graph.operands(blocks.graph.find_value("r").node)[0];
  CHECK(blocks.graph.type(codes).shape == Shape{256, 10});
  CHECK(blocks.graph.type(codes).uniform()->scales.shape() == Shape{8, 10});
  check_same(graph, blocks);
  // 2560 floats; 2560 codes, and 80 scales of 4 bytes and zero points of 1.
  CHECK(blocks.analysis.plan.objective == Gain{2560 * 4 - 2560 - 80 * 4});

  // Columns are the weight's last axis, so no root is needed.
  const auto channels = build::quantize(graph);
  CHECK(build::planned(channels, "w") == "axis=3");
  CHECK(build::planned(channels, "r") == "axis=1");
  check_same(graph, channels);

  // Where somebody else reads the weight too, it has no such groups.
  graph.add_output("w_out", w);
  const auto shared =
      build::quantize(graph, {.granularity = Granularity::Kind::block, .block_size = 32});
  CHECK(build::planned(shared, "r") == "float");
}

TEST_CASE("NaN is found in a reshape that is the weight as well") {
  Graph graph;
  const Value w = build::weight(graph, "w", {16, 4, 4, 10},
                                [](std::size_t i) { return i == 5 ? std::nanf("") : 1.0F; });
  const Value r = build::reshape(graph, "r", w, {256, 10});
  graph.add_output(
      "y", build::node(graph, ops::MatMul::kind, "m", {build::input(graph, "x", {1, 256}), r}));
  REQUIRE(infer_shapes(graph).has_value());
  const auto refused =
      quantize_weight_only(graph, {.granularity = Granularity::Kind::block, .block_size = 32});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::impossible);
  CHECK(refused.error().message.find("element 5 is") != std::string::npos);
}

TEST_CASE("weights of float16 and float64 keep their type, and a cast changes what codes express") {
  std::vector<double> doubles(48);
  std::vector<std::uint16_t> halves(48);
  for (std::size_t i = 0; i < doubles.size(); ++i) {
    doubles[i] = std::sin(static_cast<double>(i));
    // float16 of 1, 2, -1.5 and 0.25: exponents 15, 16, 15, 13 above a mantissa of 10 bits.
    halves[i] = std::vector<std::uint16_t>{0x3C00, 0x4000, 0xBE00, 0x3400}[i % 4];
  }
  const auto weight_of = [&](Graph& graph, ElementType element) {
    return graph.add_constant(
        "w",
        element == ElementType::float64
            ? Constant::from_values(element, Shape{8, 6}, std::span<const double>(doubles))
            : Constant::from_values(element, Shape{8, 6}, std::span<const std::uint16_t>(halves)));
  };
  for (const ElementType element : {ElementType::float16, ElementType::float64}) {
    Graph graph;
    const Value x = graph.add_input("x", {element, Shape{3, 8}, nullptr});
    const Value m = build::node(graph, ops::MatMul::kind, "m", {x, weight_of(graph, element)});
    graph.set_type(m, {element, Shape(), nullptr});
    graph.add_output("y", m);
    for (const WeightOnlyOptions& options : settings) {
      const auto result = build::quantize(graph, options, build::by_operands());
      CHECK(build::planned(result, "w") != "float");
      CHECK(result.graph.type(result.graph.find_value("w")).element == element);
      check_same(graph, result);
    }
  }
  for (const ElementType element : {ElementType::float16, ElementType::float64}) {
    Graph graph;
    // ONNX's number of float32 is 1.
    const Value cast = build::node(graph, ops::Cast::kind, "cast", {weight_of(graph, element)},
                                   {{"to", std::int64_t{1}}});
    graph.add_output(
        "y", build::node(graph, ops::MatMul::kind, "m", {build::input(graph, "x", {3, 8}), cast}));
    for (WeightOnlyOptions options : settings) {
      for (const auto form : {WeightOnlyOptions::Form::front, WeightOnlyOptions::Form::behind}) {
        options.form = form;
        const auto result = build::quantize(graph, options, build::by_operands());
        CHECK(build::planned(result, "w") == build::planned(result, "cast"));
        CHECK(build::planned(result, "w") != "float");
        CHECK(count_of_kind(result.graph, ops::Cast::kind) == 0);
        // The codes, or the floats that are made of them, are called as the cast's result was.
        CHECK_FALSE(result.graph.find_value("cast").is_absent());
        check_same(graph, result);
      }
    }
  }
}

TEST_CASE("a cast to integers is no weight") {
  Graph graph;
  const Value w = sines(graph, "w", {4, 4});
  const Value cast = build::node(graph, ops::Cast::kind, "cast", {w}, {{"to", std::int64_t{7}}});
  graph.set_type(cast, {ElementType::int64, Shape(), nullptr});
  const Value x = graph.add_input("x", {ElementType::int64, Shape{2, 4}, nullptr});
  const Value m = build::node(graph, ops::MatMul::kind, "m", {x, cast});
  graph.set_type(m, {ElementType::int64, Shape(), nullptr});
  graph.add_output("y", m);
  CHECK(build::planned(build::quantize(graph, build::by_operands()), "w") == "float");
}

TEST_CASE("an unknown operation in between keeps the weight float") {
  Graph graph;
  const Value w = build::weight(graph, "w", {40, 30});
  const Value u = build::node(graph, "onnx.Relu", "u", {w});
  const Value x = build::input(graph, "x", {2, 40});
  graph.add_output("out", build::node(graph, ops::MatMul::kind, "m", {x, u}));
  CHECK(build::planned(build::quantize(graph), "w") == "float");
}

TEST_CASE(
    "of several weights in a coupling the first by name is quantized: the others would have scales "
    "of their own") {
  Graph graph;
  const Value x = build::input(graph, "x", {4, 6});
  const Value late = build::weight(graph, "w2", {6, 6});
  const Value early = build::weight(graph, "w1", {6, 6});
  graph.add_output("y", build::node(graph, "matmul", "y",
                                    {build::node(graph, "matmul", "h", {x, late}), early}));
  const Registry registry = *weight_only_registry();
  QuantizeOptions options;
  options.couplings = {{late, early, Value{}}};
  const auto analysis = analyze(graph, registry, options);
  REQUIRE(analysis.has_value());
  REQUIRE(analysis->plan.values.size() == 1);
  CHECK(analysis->plan.values[0].value == "w1");
  CHECK(explain(graph, registry, *analysis, late.node)
            .reason.find("it is coupled with 'w1', another weight") != std::string::npos);
}

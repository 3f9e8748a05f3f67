#include <limits>

#include "quadrant/transforms/prepare.hpp"
#include "transforms/models.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

const Shape image_6x5{2, 4, 6, 5};

FoldReport fold(Graph& graph, const FoldOptions& options = {}) {
  auto report = fold_batch_norm(graph, options);
  REQUIRE(report);
  return *std::move(report);
}

// Folds everything, and outputs are as before.
FoldReport check_fold(Graph& graph, const std::vector<Tensor>& inputs) {
  const Reals before = outputs_of(graph, inputs);
  FoldReport report = fold(graph);
  CHECK(relative_error(before, outputs_of(graph, inputs)) < 1e-5);
  CHECK(report.left.empty());
  CHECK(!has_kind(graph, "onnx.BatchNormalization"));
  return report;
}

}  // namespace

TEST_CASE("by hand") {
  ModelBuilder model;
  const Value x = model.graph.add_input("x", build::f32({1, 1, 1, 1}));
  const Value y = model.add(
      "conv", {x, model.constant({2, 1, 1, 1}, {3, -5}), model.constant({2}, {1, 2})}, "y");
  const Value z = model.add("onnx.BatchNormalization",
                            {y, model.constant({2}, {2, -4}), model.constant({2}, {7, 8}),
                             model.constant({2}, {0.5, -1}), model.constant({2}, {0.25, 3.75})},
                            "z", {{"epsilon", 0.25}});
  model.graph.add_output("out", z);
  const FoldReport report = fold(model.graph);
  // sigma is sqrt(0.5) and 2.
  const double a = 2 / std::sqrt(0.5);
  const auto weights = operand_contents(model.graph, "z", 1);
  const auto biases = operand_contents(model.graph, "z", 2);
  CHECK(weights == to_floats({3 * a, 10}));
  CHECK(biases == to_floats({7 + 0.5 * a, 8 - 2 * 3}));
  CHECK(kind_of(model.graph, "z") == "conv");
  CHECK(model.graph.find_value("y").is_absent());
  REQUIRE(report.folded.size() == 1);
  CHECK(report.folded[0].result == "z");
  CHECK(report.folded[0].operations == std::vector<std::string>{"z"});
  CHECK(report.moments.at("z") == ChannelMoments{{7, 8}, {2, 4}});
  CHECK(model.graph.node_count() == 5);  // input, conv and its two constants, output
}

TEST_CASE("behind every kind of layer") {
  ModelBuilder model(1);
  const Value x = model.graph.add_input("x", build::f32(image_6x5));
  Value y =
      model.batch_norm(model.conv(x, {.inputs = 4, .outputs = 6, .kernel = 3, .groups = 2}), 6);
  y = model.batch_norm(model.conv(y, {.inputs = 6, .outputs = 6, .groups = 6, .bias = false}), 6);
  y = model.batch_norm(
      model.conv_transpose(y, {.inputs = 6, .outputs = 4, .kernel = 2, .groups = 2, .stride = 2}),
      4);
  y = model.batch_norm(
      model.conv_transpose(y, {.inputs = 4, .outputs = 3, .kernel = 1, .bias = false}), 3);
  y = model.add("flatten", {model.add("onnx.GlobalAveragePool", {y})});
  y = model.batch_norm(model.add("gemm", {y, model.random_constant({3, 5})}), 5);
  y = model.batch_norm(
      model.add("gemm", {y, model.random_constant({4, 5}), model.random_constant({1, 4})}, {},
                {{"transB", std::int64_t{1}}, {"alpha", 0.5}, {"beta", -3.0}}),
      4);
  y = model.batch_norm(
      model.add("gemm", {y, model.random_constant({4, 3}), model.random_constant({1})}, {},
                {{"beta", 0.0}}),
      3);
  model.graph.add_output("out", y);
  const FoldReport report = check_fold(model.graph, {random_tensor(image_6x5, 2)});
  CHECK(report.folded.size() == 7);
  CHECK(report.moments.size() == 7);
}

TEST_CASE("a matrix product gets an addition, or keeps its own") {
  for (const bool has_bias : {false, true}) {
    ModelBuilder model(2);
    const Value x = model.graph.add_input("x", build::f32({3, 4}));
    Value y = build::add(model.graph, "matmul", {x, model.random_constant({4, 5})},
                         build::f32({3, 5}), {}, "product");
    if (has_bias) {
      y = build::add(model.graph, "add", {model.random_constant({1, 5}), y}, build::f32({3, 5}));
    }
    y = model.batch_norm(y, 5, "normalized");
    model.graph.add_output("out", y);
    const FoldReport report = check_fold(model.graph, {random_tensor({3, 4}, 3)});
    CHECK(kind_of(model.graph, "normalized") == "add");
    CHECK(report.moments.contains("normalized"));
    CHECK(fold(model.graph).folded.empty());  // nothing is left to do
  }
}

TEST_CASE("the channels of a product of rank 3 are not those of a normalization") {
  ModelBuilder model(2);
  const Value x = model.graph.add_input("x", build::f32({3, 5, 4}));
  const Value y =
      build::add(model.graph, "matmul", {x, model.random_constant({4, 5})}, build::f32({3, 5, 5}));
  model.graph.add_output("out", model.batch_norm(y, 5, "n"));
  const Reals before = outputs_of(model.graph, {random_tensor({3, 5, 4}, 3)});
  const FoldReport report = fold(model.graph);
  CHECK(report.folded.empty());
  REQUIRE(report.left.size() == 1);
  CHECK(report.left[0] == LeftAlone{"n", "the layer's channels are the last axis"});
  CHECK(before == outputs_of(model.graph, {random_tensor({3, 5, 4}, 3)}));
}

TEST_CASE("a weight that others read is copied") {
  ModelBuilder model(4);
  const Value x = model.graph.add_input("x", build::f32(image_6x5));
  const Value w = model.random_constant({4, 4, 1, 1});
  const Value bias = model.random_constant({4});
  Value y = model.batch_norm(model.add("conv", {x, w, bias}), 4);
  y = model.batch_norm(model.add("conv", {y, w, bias}), 4);
  y = model.add("conv", {y, w, bias});
  model.graph.add_output("out", y);
  model.graph.add_output("weight", w);
  CHECK(check_fold(model.graph, {random_tensor(image_6x5, 5)}).folded.size() == 2);
}

TEST_CASE("normalizations that were taken apart") {
  // (y - mean) / sigma * gamma + beta, with the constants on either side.
  ModelBuilder model(6);
  const Value x = model.graph.add_input("x", build::f32(image_6x5));
  const Value y = model.conv(x, {.inputs = 4, .outputs = 3});
  const Value mean = model.random_constant({3, 1, 1});
  const Value sigma = model.constant({1, 3, 1, 1}, {0.5, 2, 4});
  const Value gamma = model.constant({3, 1, 1}, {1, -2, 3});
  const Value beta = model.constant({3, 1, 1}, {4, 5, 6});

  SUBCASE("in full") {
    Value z = model.add("onnx.Sub", {y, mean});
    z = model.add("onnx.Div", {z, sigma});
    z = model.add("multiply", {gamma, z});
    z = model.add("add", {beta, z}, "z");
    model.graph.add_output("out", z);
    const FoldReport report = check_fold(model.graph, {random_tensor(image_6x5, 7)});
    REQUIRE(report.folded.size() == 1);
    CHECK(report.folded[0].operations.size() == 4);
    CHECK(report.moments.at("z") == ChannelMoments{{4, 5, 6}, {1, 2, 3}});
  }
  SUBCASE("in full, scaled and moved afterwards") {
    Value z = model.add("add", {y, mean});
    z = model.add("multiply", {z, sigma});
    z = model.add("multiply", {gamma, z});
    z = model.add("add", {beta, z});
    z = model.add("multiply", {z, model.constant(Shape::scalar(), {-2})});
    z = model.add("onnx.Sub", {model.constant({1, 1, 1}, {10}), z}, "z");
    model.graph.add_output("out", z);
    const FoldReport report = check_fold(model.graph, {random_tensor(image_6x5, 7)});
    CHECK(report.moments.at("z") == ChannelMoments{{18, 20, 22}, {2, 4, 6}});
  }
  SUBCASE("one product and one sum: the moments are gone") {
    Value z = model.add("multiply", {y, sigma});
    z = model.add("add", {z, beta}, "z");
    model.graph.add_output("out", z);
    const FoldReport report = check_fold(model.graph, {random_tensor(image_6x5, 7)});
    REQUIRE(report.folded.size() == 1);
    CHECK(!report.folded[0].has_moments);
    CHECK(report.moments.empty());
  }
  SUBCASE("a first factor that is no 1 / sigma") {
    Value z = model.add("onnx.Sub", {y, mean});
    z = model.add("multiply", {z, gamma});  // -2 is one
    z = model.add("multiply", {z, sigma});
    z = model.add("add", {z, beta}, "z");
    model.graph.add_output("out", z);
    CHECK(check_fold(model.graph, {random_tensor(image_6x5, 7)}).moments.empty());
  }
  SUBCASE("not asked for") {
    model.graph.add_output("out", model.add("add", {y, beta}, "z"));
    CHECK(fold(model.graph, {.fold_channelwise = false}).folded.empty());
    CHECK(kind_of(model.graph, "z") == "add");
  }
}

TEST_CASE("constants that are not one a channel stay") {
  ModelBuilder model(8);
  const Value x = model.graph.add_input("x", build::f32(image_6x5));
  const Value y = model.conv(x, {.inputs = 4, .outputs = 5});
  SUBCASE("one a column") {
    model.graph.add_output("out", model.add("multiply", {y, model.random_constant({5})}));
  }
  SUBCASE("one an element") {
    model.graph.add_output("out", model.add("add", {y, model.random_constant({5, 6, 5})}));
  }
  SUBCASE("more axes than the layer's result") {
    model.graph.add_output("out", model.add("add", {y, model.random_constant({1, 1, 5, 1, 1})}));
  }
  SUBCASE("divided by the result") {
    model.graph.add_output("out", model.add("onnx.Div", {model.random_constant({5, 1, 1}), y}));
  }
  SUBCASE("divided by zero") {
    model.graph.add_output("out", model.add("onnx.Div", {y, model.constant(Shape::scalar(), {0})}));
  }
  const std::uint32_t count = model.graph.node_count();
  CHECK(fold(model.graph).folded.empty());
  CHECK(model.graph.node_count() == count);
}

TEST_CASE("what is left says why") {
  ModelBuilder model(9);
  const Value x = model.graph.add_input("x", build::f32(image_6x5));
  const auto reason = [&](const Value& y) {
    model.graph.add_output("out", y);
    const FoldReport report = fold(model.graph);
    CHECK(report.folded.empty());
    REQUIRE(report.left.size() == 1);
    CHECK(report.left[0].name == "n");
    return report.left[0].reason;
  };
  const Value y = model.conv(x, {.inputs = 4, .outputs = 4}, "y");
  const auto contains = [](const std::string& text, std::string_view part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  SUBCASE("alone") {
    contains(reason(model.batch_norm(model.add("onnx.Relu", {y}, "r"), 4, "n")), "'r' (onnx.Relu)");
  }
  SUBCASE("behind an input") { contains(reason(model.batch_norm(x, 4, "n")), "'x' (input)"); }
  SUBCASE("two readers") {
    model.graph.add_output("other", y);
    contains(reason(model.batch_norm(y, 4, "n")), "'y' has 2 readers");
  }
  SUBCASE("computed weights") {
    const Value w = model.add("onnx.Neg", {model.random_constant({4, 4, 1, 1})});
    contains(reason(model.batch_norm(model.add("conv", {x, w}, "v"), 4, "n")), "computed");
  }
  SUBCASE("computed parameters") {
    const Value scale = model.add("onnx.Neg", {model.random_constant({4})});
    const Value one = model.random_constant({4});
    contains(reason(model.add("onnx.BatchNormalization", {y, scale, one, one, one}, "n")),
             "scale is computed");
  }
  SUBCASE("a negative variance") {
    const Value one = model.random_constant({4});
    const Value variance = model.constant({4}, {1, 1, -1, 1});
    contains(reason(model.add("onnx.BatchNormalization", {y, one, one, one, variance}, "n")),
             "variance of channel 2");
  }
  SUBCASE("in training") {
    const Value one = model.constant({4}, {1, 1, 1, 1});
    contains(reason(model.add("onnx.BatchNormalization", {y, one, one, one, one}, "n",
                              {{"training_mode", std::int64_t{1}}})),
             "training");
  }
  SUBCASE("too large") {
    const Value one = model.constant({4}, {1, 1, 1, 1});
    const Value large = model.constant({4}, {3e38, 1, 1, 1});
    const Value tiny = model.constant({4}, {1e-30, 1, 1, 1});
    contains(reason(model.add("onnx.BatchNormalization", {y, large, one, one, tiny}, "n",
                              {{"epsilon", 0.0}})),
             "not be finite");
  }
}

TEST_CASE("weights that are not f32 or f64") {
  ModelBuilder model;
  const TensorType half = build::tensor(ElementType::float16, {1, 2, 3, 3});
  const Value x = model.graph.add_input("x", half);
  const Value w = model.graph.add_constant("w", build::zeros(ElementType::float16, {2, 2, 1, 1}));
  model.graph.add_output("out", model.batch_norm(model.add("conv", {x, w}), 2, "n"));
  const FoldReport report = fold(model.graph);
  REQUIRE(report.left.size() == 1);
  CHECK(report.left[0].reason.find("f16") != std::string::npos);
}

TEST_CASE("random chains") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    ModelBuilder model(seed, 3);
    Value y = model.graph.add_input("x", build::f32(image_6x5));
    std::int64_t channels = 4;
    for (int layer = 0; layer < 3; ++layer) {
      const std::int64_t outputs = 2 * (1 + model.random_index(3));
      const std::int64_t kernel = 1 + 2 * model.random_index(2);
      const ConvShape shape{.inputs = channels,
                            .outputs = outputs,
                            .kernel = kernel,
                            .groups = 1 + model.random_index(2),
                            .pad = kernel / 2,
                            .bias = model.random_index(2) == 0};
      y = model.random_index(3) == 0 ? model.conv_transpose(y, shape) : model.conv(y, shape);
      for (std::int64_t steps = model.random_index(4); steps > 0; --steps) {
        const std::int64_t step = model.random_index(5);
        if (step == 0) {
          y = model.batch_norm(y, outputs);
        } else {
          const Value c = model.random_constant({outputs, 1, 1}, 0.3, 1);
          const char* const kinds[] = {"", "add", "multiply", "onnx.Sub", "onnx.Div"};
          y = model.add(kinds[step], {y, c});
        }
      }
      y = model.add("onnx.Relu", {y});
      channels = outputs;
    }
    model.graph.add_output("out", y);
    check_fold(model.graph, {random_tensor(image_6x5, seed + 100)});
  }
}

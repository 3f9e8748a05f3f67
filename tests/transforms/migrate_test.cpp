#include <functional>

#include "quadrant/transforms/equalize.hpp"
#include "transforms/models.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

std::string reason_for(const MigrationSites& found, std::string_view name) {
  for (const LeftAlone& left : found.left) {
    if (left.name == name) return left.reason;
  }
  return {};
}

// Powers of two, so that no bit of a result may change, or numbers between them.
std::vector<Migration> random_factors(const MigrationSites& found, ModelBuilder& model,
                                      bool powers_of_two) {
  std::vector<Migration> migrations;
  for (const MigrationSite& site : found.sites) {
    Migration& made = migrations.emplace_back(Migration{site.value, {}});
    for (std::int64_t i = 0; i < site.channels; ++i) {
      const int exponent = static_cast<int>(model.random_index(9)) - 4;
      made.factors.push_back(std::ldexp(powers_of_two ? 1.0 : 1.3, exponent));
    }
  }
  return migrations;
}

// Outputs stay: to the bit with powers of two, else to rounding, and to 1e-11 in double.
MigrationSites check_unchanged(ModelBuilder& model, const std::vector<Tensor>& inputs) {
  const MigrationSites found = find_migrations(model.graph);
  const Reals before = outputs_of(model.graph, inputs);
  Graph exact = model.graph;
  REQUIRE(migrate(exact, random_factors(found, model, true)));
  CHECK(outputs_of(exact, inputs) == before);
  Graph wide = in_double(model.graph);
  std::vector<Tensor> wide_inputs;
  for (const Tensor& input : inputs) wide_inputs.push_back(in_double(input));
  const Reals wide_before = outputs_of(wide, wide_inputs);
  const std::vector<Migration> factors = random_factors(found, model, false);
  REQUIRE(migrate(wide, factors));
  CHECK(relative_error(wide_before, outputs_of(wide, wide_inputs)) < 1e-11);
  Graph weights = model.graph;
  REQUIRE(multiply_weights(weights, factors));
  REQUIRE(migrate(model.graph, factors));
  CHECK(relative_error(before, outputs_of(model.graph, inputs)) < 1e-5);
  for (const MigrationSite& site : found.sites) {
    CHECK_FALSE(site.folded_into.empty());
    for (const std::string& weight : site.weights) {
      CHECK_FALSE(model.graph.find_value(weight).is_absent());
    }
  }
  return found;
}

Value layer_norm(ModelBuilder& model, Value x, std::int64_t channels, std::string name = {}) {
  return model.add("onnx.LayerNormalization",
                   {x, model.random_constant({channels}, 1, 2), model.random_constant({channels})},
                   std::move(name));
}

Value matmul(ModelBuilder& model, Value x, std::int64_t inputs, std::int64_t outputs,
             std::string name = {}) {
  return model.add("matmul", {x, model.random_weight({inputs, outputs}, outputs)}, std::move(name));
}

Value shaped(ModelBuilder& model, Value x, const std::vector<std::int64_t>& extents) {
  const Value shape = model.graph.add_constant(
      "shape", Constant::from_values<std::int64_t>(
                   ElementType::int64, {static_cast<std::int64_t>(extents.size())}, extents));
  return build::add(model.graph, "reshape", {x, shape}, build::f32(Shape(extents)));
}

Value turned(ModelBuilder& model, Value x, const Shape& shape, std::vector<std::int64_t> perm) {
  return build::add(model.graph, "transpose", {x}, build::f32(shape), {{"perm", std::move(perm)}});
}

}  // namespace

TEST_CASE("gain and bias of a normalization are divided, weights multiplied") {
  ModelBuilder model;
  const Value x = model.graph.add_input("x", build::f32({2, 2}));
  const Value norm = model.add("onnx.LayerNormalization",
                               {x, model.constant({2}, {4, 6}), model.constant({2}, {8, 1})}, "n");
  const Value y = model.add("matmul", {norm, model.constant({2, 1}, {5, 7}, "w")}, "y");
  model.graph.add_output("out", y);
  const MigrationSites found = find_migrations(model.graph);
  REQUIRE(found.sites.size() == 1);
  CHECK(found.sites[0] == MigrationSite{"n", 2, {"w"}, "n"});
  REQUIRE(migrate(model.graph, std::vector{Migration{"n", {2, 0.5}}}));
  CHECK(operand_contents(model.graph, "n", 1) == std::vector<float>{2, 12});
  CHECK(operand_contents(model.graph, "n", 2) == std::vector<float>{4, 2});
  CHECK(operand_contents(model.graph, "y", 1) == std::vector<float>{10, 3.5});
}

TEST_CASE("an attention block: Q, K and V share factors, and those of heads go through it") {
  ModelBuilder model(1);
  const Value x = model.graph.add_input("x", build::f32({2, 3, 8}));
  const Value norm = layer_norm(model, x, 8, "norm");
  std::vector<Value> heads;
  for (const char* name : {"q", "k", "v"}) {
    const Value product = matmul(model, norm, 8, 8, name);
    model.graph.set_type(product, build::f32({2, 3, 8}));
    const Value biased = model.add("add", {product, model.random_constant({8})});
    model.graph.set_type(biased, build::f32({2, 3, 8}));
    const Value split = shaped(model, biased, {2, 3, 2, 4});
    heads.push_back(turned(model, split, {2, 2, 3, 4}, {0, 2, 1, 3}));
  }
  const Value keys = turned(model, heads[1], {2, 2, 4, 3}, {0, 1, 3, 2});
  const Value scores =
      build::add(model.graph, "matmul", {heads[0], keys}, build::f32({2, 2, 3, 3}));
  const Value shares = model.add("onnx.Softmax", {scores});
  model.graph.set_type(shares, build::f32({2, 2, 3, 3}));
  const Value mixed =
      build::add(model.graph, "matmul", {shares, heads[2]}, build::f32({2, 2, 3, 4}));
  const Value joined = shaped(model, turned(model, mixed, {2, 3, 2, 4}, {0, 2, 1, 3}), {2, 3, 8});
  model.graph.set_value_name(joined, "joined");
  model.graph.add_output("out", model.add("add", {x, matmul(model, joined, 8, 8, "o")}));
  const MigrationSites found = check_unchanged(model, {random_tensor({2, 3, 8}, 1)});
  REQUIRE(found.sites.size() == 2);
  CHECK(found.sites[0].value == "norm");
  CHECK(found.sites[0].weights.size() == 3);
  CHECK(found.sites[1].value == "joined");
  CHECK(found.sites[1].folded_into == "v");
}

TEST_CASE("a gated feed-forward block behind a normalization that was taken apart") {
  ModelBuilder model(2);
  const Shape wide{3, 6};
  const Value x = model.graph.add_input("x", build::f32({3, 4}));
  const Value scaled = model.add("multiply", {x, model.random_constant({4})});
  model.graph.set_type(scaled, build::f32({3, 4}));
  const Value norm = model.add("add", {scaled, model.random_constant({1, 4})}, "norm");
  const Value gate = matmul(model, norm, 4, 6, "gate");
  const Value up = matmul(model, norm, 4, 6, "up");
  model.graph.set_type(gate, build::f32(wide));
  model.graph.set_type(up, build::f32(wide));
  const Value on = model.add("onnx.Sigmoid", {gate});
  model.graph.set_type(on, build::f32(wide));
  const Value gated = model.add("multiply", {up, on}, "gated");
  model.graph.add_output("out", matmul(model, gated, 6, 4, "down"));
  const MigrationSites found = check_unchanged(model, {random_tensor({3, 4}, 1)});
  REQUIRE(found.sites.size() == 2);
  CHECK(found.sites[0].weights.size() == 2);
  CHECK(found.sites[1].folded_into == "up");
}

TEST_CASE("convolutions: groups, batch normalizations, poolings, a reshape to a dense layer") {
  ModelBuilder model(3);
  const Value x = model.graph.add_input("x", build::f32({1, 3, 6, 6}));
  Value y = model.conv(x, {.inputs = 3, .outputs = 4, .kernel = 3, .pad = 1}, "a");
  y = model.batch_norm(y, 4, "norm");
  model.graph.set_type(y, build::f32({1, 4, 6, 6}));
  y = model.add("onnx.Relu", {y});
  y = model.conv(y, {.inputs = 4, .outputs = 4, .kernel = 3, .groups = 2, .pad = 1}, "b");
  y = model.add("onnx.LeakyRelu", {y});
  model.graph.set_type(y, build::f32({1, 4, 6, 6}));
  y = model.add("onnx.MaxPool", {y}, {},
                {{"kernel_shape", std::vector<std::int64_t>{2, 2}},
                 {"strides", std::vector<std::int64_t>{2, 2}}});
  model.graph.set_type(y, build::f32({1, 4, 3, 3}));
  y = model.conv_transpose(y, {.inputs = 4, .outputs = 5, .kernel = 2, .stride = 2}, "c");
  y = model.add("onnx.Relu", {y});
  y = model.conv(y, {.inputs = 5, .outputs = 2, .kernel = 1}, "d");
  model.graph.add_output("out", y);
  const MigrationSites found = check_unchanged(model, {random_tensor({1, 3, 6, 6}, 1)});
  REQUIRE(found.sites.size() == 3);
  CHECK(found.sites[0].folded_into == "norm");
  CHECK(found.sites[1].folded_into == "b");
  CHECK(found.sites[2].folded_into == "c");
  CHECK(contains(reason_for(found, "x"), "an input of the model"));
}

TEST_CASE("random chains compute what they did") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    ModelBuilder model(seed, 2);
    const std::int64_t rows = 1 + model.random_index(4);
    std::int64_t width = 1 + model.random_index(6);
    const Shape of_input{rows, width};
    Value y = model.graph.add_input("x", build::f32(of_input));
    const auto typed = [&](Value value) {
      model.graph.set_type(value, build::f32({rows, width}));
      return value;
    };
    for (std::int64_t step = 0; step < 12; ++step) {
      switch (model.random_index(9)) {
        case 0:
          y = typed(layer_norm(model, y, width));
          break;
        case 1:
          y = typed(model.add("onnx.Relu", {y}));
          break;
        case 2:
          y = typed(model.add("add", {model.random_constant({width}), y}));
          break;
        case 3:
          y = typed(model.add("onnx.Sub", {y, model.random_constant({1})}));
          break;
        case 4:
          y = typed(model.add("multiply", {y, model.random_constant({1, width})}));
          break;
        case 5:
          y = typed(model.add("onnx.Div", {y, model.random_constant({width}, 0.1, 1)}));
          break;
        case 6:
          y = typed(model.add("multiply", {y, model.random_constant({1})}));
          break;
        default: {
          const std::int64_t next = 1 + model.random_index(6);
          const bool turned_weight = model.random_index(2) == 0;
          const Value w =
              model.random_weight(turned_weight ? Shape{next, width} : Shape{width, next}, width);
          const std::int64_t before = width;
          width = next;
          y = turned_weight
                  ? typed(model.add("gemm", {y, w, model.random_constant({next})}, {},
                                    {{"transB", std::int64_t{1}}, {"alpha", 0.5}, {"beta", 2.0}}))
                  : typed(matmul(model, y, before, next));
        }
      }
    }
    model.graph.add_output("out", y);
    INFO("seed ", seed);
    check_unchanged(model, {random_tensor(of_input, seed + 1)});
  }
}

TEST_CASE("what ends the way is said") {
  ModelBuilder model(4);
  const Value x = model.graph.add_input("x", build::f32({3, 4}));
  const Value norm = layer_norm(model, x, 4, "norm");
  model.graph.set_type(norm, build::f32({3, 4}));
  const Value first = matmul(model, norm, 4, 4, "first");
  model.graph.set_type(first, build::f32({3, 4}));
  const Value residual = model.add("add", {norm, first}, "residual");
  model.graph.set_type(residual, build::f32({3, 4}));
  const Value second = matmul(model, residual, 4, 4, "second");
  model.graph.set_type(second, build::f32({3, 4}));
  const Value curve = model.add("onnx.Tanh", {second}, "curve");
  const Value w = model.random_weight({4, 4}, 4);
  const Value third = model.add("matmul", {curve, w}, "third");
  const Value fourth = model.add("matmul", {third, w}, "fourth");
  model.graph.add_output("out", fourth);
  const MigrationSites found = find_migrations(model.graph);
  CHECK(found.sites.empty());
  CHECK(contains(reason_for(found, "norm"), "'residual' reads it, too"));
  CHECK(contains(reason_for(found, "residual"), "no constant"));
  CHECK(contains(reason_for(found, "curve"), "others read its weights"));
}

TEST_CASE("factors that cannot be are refused, and change nothing") {
  ModelBuilder model(5);
  const Value x = model.graph.add_input("x", build::f32({3, 4}));
  model.graph.add_output("out", matmul(model, layer_norm(model, x, 4, "norm"), 4, 2, "y"));
  const std::vector<float> before = operand_contents(model.graph, "y", 1);
  for (const Migration& wrong :
       {Migration{"x", {1, 1, 1, 1}}, Migration{"norm", {1, 1, 1}}, Migration{"norm", {1, 1, 1, 0}},
        Migration{"norm", {1, 1, 1, std::nan("")}}}) {
    const auto refused = migrate(model.graph, std::vector{wrong});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::usage);
  }
  const Migration good{"norm", {2, 2, 2, 2}};
  CHECK_FALSE(migrate(model.graph, std::vector{good, good}));
  CHECK(operand_contents(model.graph, "y", 1) == before);
}

#include "quadrant/transforms/equalize.hpp"

#include <limits>
#include <map>

#include "quadrant/transforms/prepare.hpp"
#include "transforms/models.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

const Shape image_7x6{2, 4, 7, 6};

EqualizationReport run_equalize(Graph& graph, const EqualizationOptions& options = {}) {
  MomentsTable moments;
  auto report = equalize(graph, moments, options);
  REQUIRE(report);
  return *std::move(report);
}

EqualizationReport check_unchanged(Graph& graph, const std::vector<Tensor>& inputs,
                                   const EqualizationOptions& options = {}) {
  const Reals before = outputs_of(graph, inputs);
  EqualizationReport report = run_equalize(graph, options);
  CHECK(relative_error(before, outputs_of(graph, inputs)) < 1e-5);
  return report;
}

std::string reason_for(const EqualizationReport& report, std::string_view name) {
  for (const LeftAlone& left : report.left) {
    if (left.name == name) return left.reason;
  }
  return {};
}

// max |w| along one axis of a matrix.
Reals row_ranges(const Reals& w, std::size_t rows, bool of_columns = false) {
  const std::size_t columns = w.size() / rows;
  Reals ranges(of_columns ? columns : rows);
  for (std::size_t i = 0; i < w.size(); ++i) {
    double& range = ranges[of_columns ? i % columns : i / columns];
    range = std::max(range, std::abs(w[i]));
  }
  return ranges;
}

Reals as_reals(const std::vector<float>& values) { return {values.begin(), values.end()}; }

// A chain of matrices [rows, columns] equalized in plain loops on whole weights, in the paper's
// way.
void equalize_by_hand(std::vector<Reals>& w, const std::vector<std::size_t>& rows, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t layer = 0; layer + 1 < w.size(); ++layer) {
      const Reals r1 = row_ranges(w[layer], rows[layer]);
      const Reals r2 = row_ranges(w[layer + 1], rows[layer + 1], true);
      for (std::size_t c = 0; c < r1.size(); ++c) {
        const double s = std::sqrt(r1[c] / r2[c]);
        const std::size_t columns = w[layer].size() / rows[layer];
        for (std::size_t j = 0; j < columns; ++j) w[layer][c * columns + j] /= s;
        const std::size_t next = w[layer + 1].size() / rows[layer + 1];
        for (std::size_t i = 0; i < rows[layer + 1]; ++i) w[layer + 1][i * next + c] *= s;
      }
    }
  }
}

}  // namespace

TEST_CASE("ranges of 4 and 1: s is 2") {
  ModelBuilder model;
  const Value x = model.graph.add_input("x", build::f32({1, 1, 1, 1}));
  Value y =
      model.add("conv", {x, model.constant({1, 1, 1, 1}, {-4}), model.constant({1}, {6})}, "first");
  y = model.add("onnx.Relu", {y});
  y = model.add("conv", {y, model.constant({1, 1, 1, 1}, {1}), model.constant({1}, {5})}, "second");
  model.graph.add_output("out", y);
  MomentsTable moments{{"first", {{8}, {4}}}, {"second", {{1}, {1}}}};
  const auto report = equalize(model.graph, moments);
  REQUIRE(report);
  REQUIRE(report->pairs.size() == 1);
  CHECK(report->pairs[0] == EqualizationReport::Pair{"first", "second", {2}});
  CHECK(report->converged);
  CHECK(report->rounds == 2);  // the second finds nothing to do
  CHECK(report->last_change == 0);
  CHECK(operand_contents(model.graph, "first", 1) == std::vector<float>{-2});
  CHECK(operand_contents(model.graph, "first", 2) == std::vector<float>{3});
  CHECK(operand_contents(model.graph, "second", 1) == std::vector<float>{2});
  CHECK(operand_contents(model.graph, "second", 2) == std::vector<float>{5});
  CHECK(moments == MomentsTable{{"first", {{4}, {2}}}, {"second", {{1}, {1}}}});
  REQUIRE(report->left.size() == 1);
  CHECK(report->left[0].name == "second");
}

TEST_CASE("a triple of ranges 8, 1 and 1: s are 4 and 2") {
  ModelBuilder model;
  const Value x = model.graph.add_input("x", build::f32({1, 1, 1, 1}));
  const Shape one{1, 1, 1, 1};
  Value y = model.add("conv", {x, model.constant(one, {8}), model.constant({1}, {4})}, "a");
  y = model.add("conv", {y, model.constant(one, {1}), model.constant({1}, {4})}, "b");
  y = model.add("conv", {y, model.constant(one, {1})}, "c");
  model.graph.add_output("out", y);
  const EqualizationReport report = run_equalize(model.graph);
  REQUIRE(report.pairs.size() == 2);
  CHECK(report.pairs[0].scales[0] == doctest::Approx(4));
  CHECK(report.pairs[1].scales[0] == doctest::Approx(2));
  for (const char* name : {"a", "b", "c"}) {
    CHECK(operand_contents(model.graph, name, 1)[0] == doctest::Approx(2));
  }
  CHECK(operand_contents(model.graph, "a", 2)[0] == doctest::Approx(1));
  CHECK(operand_contents(model.graph, "b", 2)[0] == doctest::Approx(2));
}

TEST_CASE("a chain of matrices: as plain loops on whole weights find it") {
  for (const bool transposed : {false, true}) {
    ModelBuilder model(3, 6);
    const std::vector<std::size_t> sizes{5, 7, 6, 4};
    std::vector<Reals> expected;
    Value y = model.graph.add_input("x", build::f32({3, 5}));
    for (std::size_t layer = 0; layer + 1 < sizes.size(); ++layer) {
      const auto inputs = static_cast<std::int64_t>(sizes[layer]);
      const auto outputs = static_cast<std::int64_t>(sizes[layer + 1]);
      const Value w = model.random_weight({outputs, inputs}, inputs);
      expected.push_back(as_reals(contents(model.graph, w)));
      const std::string name = "layer" + std::to_string(layer);
      if (transposed) {
        y = model.add("gemm", {y, w, model.random_constant({outputs})}, name,
                      {{"transB", std::int64_t{1}}});
      } else {
        Reals turned(expected.back().size());
        for (std::size_t i = 0; i < sizes[layer + 1]; ++i) {
          for (std::size_t j = 0; j < sizes[layer]; ++j) {
            turned[j * sizes[layer + 1] + i] = expected.back()[i * sizes[layer] + j];
          }
        }
        const Value matrix = model.constant({inputs, outputs}, turned);
        y = model.add("matmul", {y, matrix}, name);
        y = model.add("add", {y, model.random_constant({outputs})});
      }
      y = model.add("onnx.LeakyRelu", {y});
    }
    model.graph.add_output("out", y);
    const EqualizationReport report = check_unchanged(model.graph, {random_tensor({3, 5}, 1)},
                                                      {.tolerance = 1e-12, .max_rounds = 3000});
    CHECK(report.pairs.size() == 2);
    equalize_by_hand(expected, {7, 6, 4}, static_cast<int>(report.rounds));
    for (std::size_t layer = 0; layer < 3; ++layer) {
      const auto found = operand_contents(model.graph, "layer" + std::to_string(layer), 1);
      for (std::size_t i = 0; i < sizes[layer + 1]; ++i) {
        for (std::size_t j = 0; j < sizes[layer]; ++j) {
          const float value =
              transposed ? found[i * sizes[layer] + j] : found[j * sizes[layer + 1] + i];
          CHECK(value == doctest::Approx(expected[layer][i * sizes[layer] + j]).epsilon(1e-6));
        }
      }
    }
  }
}

TEST_CASE("at the fixpoint all ranges of a pair are equal") {
  ModelBuilder model(11, 8);
  Value y = model.graph.add_input("x", build::f32(image_7x6));
  y = model.conv(y, {.inputs = 4, .outputs = 6, .kernel = 3}, "a");
  y = model.add("onnx.Relu", {y});
  y = model.conv(y, {.inputs = 6, .outputs = 6, .kernel = 3, .groups = 6, .pad = 1}, "b");
  y = model.add("onnx.Relu", {y});
  y = model.conv(y, {.inputs = 6, .outputs = 3}, "c");
  model.graph.add_output("out", y);
  const EqualizationReport report =
      check_unchanged(model.graph, {random_tensor(image_7x6, 1)}, {.tolerance = 1e-9});
  CHECK(report.converged);
  const Reals a = row_ranges(as_reals(operand_contents(model.graph, "a", 1)), 6);
  const Reals b = row_ranges(as_reals(operand_contents(model.graph, "b", 1)), 6);
  const Reals c = row_ranges(as_reals(operand_contents(model.graph, "c", 1)), 3, true);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
    CHECK(b[i] == doctest::Approx(c[i]).epsilon(1e-5));
  }
}

TEST_CASE("what may lie between") {
  using Between = Value (*)(ModelBuilder&, Value);
  const std::map<std::string, Between> legal{
      {"nothing", [](ModelBuilder&, Value x) { return x; }},
      {"Relu", [](ModelBuilder& m, Value x) { return m.add("onnx.Relu", {x}); }},
      {"LeakyRelu",
       [](ModelBuilder& m, Value x) { return m.add("onnx.LeakyRelu", {x}, {}, {{"alpha", 0.3}}); }},
      {"PRelu", [](ModelBuilder& m,
                   Value x) { return m.add("onnx.PRelu", {x, m.random_constant({6, 1, 1})}); }},
      {"Clip without bounds", [](ModelBuilder& m, Value x) { return m.add("onnx.Clip", {x}); }},
      {"Clip without high",
       [](ModelBuilder& m, Value x) {
         return m.add("onnx.Clip", {x, m.constant(Shape::scalar(), {0})});
       }},
      {"ReLU6", [](ModelBuilder& m, Value x) { return m.clip(x, 0, 1.5); }},
      {"MaxPool",
       [](ModelBuilder& m, Value x) {
         return m.add("onnx.MaxPool", {x}, {}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}});
       }},
      {"AveragePool",
       [](ModelBuilder& m, Value x) {
         return m.add("onnx.AveragePool", {x}, {},
                      {{"kernel_shape", std::vector<std::int64_t>{2, 2}},
                       {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
       }},
      {"GlobalAveragePool",
       [](ModelBuilder& m, Value x) { return m.add("onnx.GlobalAveragePool", {x}); }},
      {"Identity and Dropout",
       [](ModelBuilder& m, Value x) { return m.add("onnx.Dropout", {m.add("identity", {x})}); }},
      {"Pad",
       [](ModelBuilder& m, Value x) {
         const Value pads = m.graph.add_constant("pads", build::integers({0, 0, 1, 0, 0, 0, 0, 2}));
         return m.add("onnx.Pad", {m.add("onnx.Relu", {x}), pads});
       }},
      {"constants",
       [](ModelBuilder& m, Value x) {
         x = m.add("add", {x, m.random_constant({6, 1, 1})});
         x = m.add("onnx.Sub", {m.random_constant({1, 6, 1, 1}), x});
         x = m.add("multiply", {x, m.random_constant({6, 1, 1})});
         x = m.add("onnx.Div", {x, m.random_constant({1}, 0.1, 1)});
         x = m.add("onnx.Max", {x, m.constant({1}, {-0.1})});
         return m.add("onnx.Min", {m.random_constant({6, 1, 1}, 0.1, 1), x});
       }},
  };
  for (const auto& [name, between] : legal) {
    CAPTURE(name);
    ModelBuilder model(20, 4);
    const Value x = model.graph.add_input("x", build::f32(image_7x6));
    Value y = model.conv(x, {.inputs = 4, .outputs = 6, .kernel = 3}, "a");
    y = model.conv(between(model, y), {.inputs = 6, .outputs = 5, .kernel = 1}, "b");
    model.graph.add_output("out", y);
    const EqualizationReport report = check_unchanged(model.graph, {random_tensor(image_7x6, 3)});
    REQUIRE(report.pairs.size() == 1);
    double largest = 0;
    for (const double s : report.pairs[0].scales) largest = std::max(largest, std::abs(s - 1));
    CHECK(largest > 0.1);
    // A second time there is nothing to do.
    const EqualizationReport again = check_unchanged(model.graph, {random_tensor(image_7x6, 3)});
    REQUIRE(again.pairs.size() == 1);
    for (const double s : again.pairs[0].scales) CHECK(s == doctest::Approx(1).epsilon(1e-3));
  }

  const std::map<std::string, Between> illegal{
      {"(onnx.Sigmoid)", [](ModelBuilder& m, Value x) { return m.add("onnx.Sigmoid", {x}); }},
      {"(onnx.HardSwish)", [](ModelBuilder& m, Value x) { return m.add("onnx.HardSwish", {x}); }},
      {"clips to [-1, 6]", [](ModelBuilder& m, Value x) { return m.clip(x, -1, 6); }},
      {"clips to [0, 0]", [](ModelBuilder& m, Value x) { return m.clip(x, 0, 0); }},
      {"max is computed",
       [](ModelBuilder& m, Value x) {
         const Value high = m.add("onnx.Neg", {m.constant(Shape::scalar(), {-6})});
         return m.add("onnx.Clip", {x, m.constant(Shape::scalar(), {0}), high});
       }},
      {"2 readers", [](ModelBuilder& m, Value x) { return m.add("multiply", {x, x}); }},
      {"constant a channel",
       [](ModelBuilder& m, Value x) { return m.add("add", {x, m.random_constant({4})}); }},
      {"not known to pad",
       [](ModelBuilder& m, Value x) {
         const Value pads = m.graph.add_constant("pads", build::integers({0, 0, 1, 1, 0, 0, 1, 1}));
         return m.add("onnx.Pad", {x, pads, m.constant(Shape::scalar(), {1})});
       }},
  };
  for (const auto& [words, between] : illegal) {
    CAPTURE(words);
    ModelBuilder model(20, 4);
    const Value x = model.graph.add_input("x", build::f32(image_7x6));
    Value y = model.conv(x, {.inputs = 4, .outputs = 6, .kernel = 3, .pad = 1}, "a");
    y = model.conv(between(model, y), {.inputs = 6, .outputs = 5, .kernel = 1}, "b");
    model.graph.add_output("out", y);
    const EqualizationReport report = run_equalize(model.graph);
    CHECK(report.pairs.empty());
    CHECK(contains(reason_for(report, "a"), words));
    CHECK(report.rounds == 0);
  }
}

TEST_CASE("what lies between may have no other reader") {
  ModelBuilder model(21);
  const Value x = model.graph.add_input("x", build::f32(image_7x6));
  const Value y = model.conv(x, {.inputs = 4, .outputs = 4}, "y");
  const Value z = model.add("onnx.Relu", {y}, "z");
  model.graph.add_output("out", model.conv(z, {.inputs = 4, .outputs = 4}));
  SUBCASE("an output") { model.graph.add_output("other", z); }
  SUBCASE("an output before the activation") { model.graph.add_output("other", y); }
  SUBCASE("a subgraph") {
    // Names that a subgraph refers to are operands of its node.
    model.graph.add_output(
        "other",
        model.add(
            "onnx.If",
            {model.graph.add_input("c", build::tensor(ElementType::boolean, Shape::scalar())), z}));
  }
  const EqualizationReport report = run_equalize(model.graph);
  CHECK(report.pairs.empty());
  CHECK(contains(reason_for(report, "y"), "has 2 readers"));
}

TEST_CASE("where the largest values lie does not scale") {
  ModelBuilder model(22);
  const Value x = model.graph.add_input("x", build::f32(image_7x6));
  const Value y = model.conv(x, {.inputs = 4, .outputs = 4}, "y");
  const NodeId pool =
      model.graph.add({.kind = "onnx.MaxPool",
                       .operands = {y},
                       .results = {{"largest", {}}, {"places", {}}},
                       .attributes = {{"kernel_shape", std::vector<std::int64_t>{2, 2}}}});
  model.graph.add_output("out", model.conv({pool, 1}, {.inputs = 4, .outputs = 4}));
  const EqualizationReport report = run_equalize(model.graph);
  CHECK(report.pairs.empty());
  CHECK(contains(reason_for(report, "y"), "nothing reads 'largest'"));
}

TEST_CASE("ReLU6") {
  const auto make = [](std::int64_t opset) {
    ModelBuilder model(30, 4);
    if (opset != default_opset) model.set_opset(opset);
    const Value x = model.graph.add_input("x", build::f32(image_7x6));
    Value y = model.conv(x, {.inputs = 4, .outputs = 6}, "a");
    y = opset < 11 ? model.add("onnx.Clip", {y}, "clip", {{"min", 0.0}, {"max", 6.0}})
                   : model.clip(y, 0, 6, "clip");
    y = model.conv(y, {.inputs = 6, .outputs = 5}, "b");
    model.graph.add_output("out", y);
    return std::move(model.graph);
  };
  const std::vector<Tensor> inputs{random_tensor(image_7x6, 1)};

  SUBCASE("by channel, exact") {
    for (const std::int64_t opset : {std::int64_t{8}, default_opset}) {
      Graph graph = make(opset);
      const EqualizationReport report = check_unchanged(graph, inputs);
      CHECK(report.clips_per_channel == std::vector<std::string>{"clip"});
      CHECK(report.clips_dropped.empty());
      CHECK(kind_of(graph, "clip") == "onnx.Min");
      CHECK(!has_kind(graph, "onnx.Clip"));
      const auto bounds = operand_contents(graph, "clip", 1);
      REQUIRE(report.pairs.size() == 1);
      for (std::size_t c = 0; c < 6; ++c) {
        CHECK(bounds[c] == doctest::Approx(6 / report.pairs[0].scales[c]));
      }
    }
  }
  SUBCASE("as Relu") {
    Graph graph = make(default_opset);
    const Reals before = outputs_of(graph, inputs);
    const EqualizationReport report = run_equalize(graph, {.clip = ClipTreatment::as_relu});
    CHECK(report.clips_dropped == std::vector<std::string>{"clip"});
    CHECK(kind_of(graph, "clip") == "onnx.Relu");
    CHECK(relative_error(before, outputs_of(graph, inputs)) > 1e-3);  // it did clip
  }
  SUBCASE("left") {
    Graph graph = make(default_opset);
    const EqualizationReport report = run_equalize(graph, {.clip = ClipTreatment::leave});
    CHECK(report.pairs.empty());
    CHECK(contains(reason_for(report, "a"), "'clip' clips"));
  }
  SUBCASE("Min of opset 7 does not broadcast") {
    Graph graph = make(7);
    CHECK(contains(reason_for(run_equalize(graph), "a"), "opset 8"));
    CHECK(kind_of(graph, "clip") == "onnx.Clip");
  }
}

TEST_CASE("Flatten and Reshape before a matrix product") {
  for (const std::string how : {"flatten", "0, -1", "known"}) {
    CAPTURE(how);
    ModelBuilder model(31, 4);
    const Value x = model.graph.add_input("x", build::f32(image_7x6));
    Value y = model.conv(x, {.inputs = 4, .outputs = 3}, "a");
    model.graph.set_type(y, build::f32({2, 3, 7, 6}));
    if (how == "flatten") {
      y = model.add("flatten", {model.clip(y, 0, 2)});
      y = model.add("onnx.Relu", {y});
    } else if (how == "0, -1") {
      y = model.add("reshape", {y, model.graph.add_constant("s", build::integers({0, -1}))});
      y = model.clip(y, 0, 2);  // behind, where a channel is a run of elements
    } else {
      y = model.add("reshape", {y, model.graph.add_constant("s", build::integers({-1, 126}))});
      model.graph.set_type(y, build::f32({2, 126}));
    }
    y = model.add("gemm", {y, model.random_weight({126, 5}, 5)}, "b");
    model.graph.add_output("out", y);
    const EqualizationReport report = check_unchanged(model.graph, {random_tensor(image_7x6, 1)});
    REQUIRE(report.pairs.size() == 1);
    CHECK(report.pairs[0].scales.size() == 3);
  }
}

TEST_CASE("layers that are left say why") {
  ModelBuilder model(32);
  const Value x = model.graph.add_input("x", build::f32({3, 4}));
  Value y = model.add("gemm", {x, model.random_constant({4, 3})}, "y");
  SUBCASE("another axis") {
    y = model.add("gemm", {y, model.random_constant({3, 3})}, "z", {{"transA", std::int64_t{1}}});
    model.graph.add_output("out", y);
    CHECK(contains(reason_for(run_equalize(model.graph), "y"), "'z' sums over another axis"));
  }
  SUBCASE("NaN") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    y = model.add("gemm", {y, model.constant({3, 1}, {1, nan, 2})}, "z");
    model.graph.add_output("out", y);
    CHECK(contains(reason_for(run_equalize(model.graph), "y"), "weights of 'z' are not finite"));
  }
  SUBCASE("an infinite bias") {
    y = model.add("gemm",
                  {x, model.random_constant({4, 3}),
                   model.constant({1}, {std::numeric_limits<double>::infinity()})},
                  "v");
    y = model.add("gemm", {y, model.random_constant({3, 3})}, "z");
    model.graph.add_output("out", y);
    CHECK(contains(reason_for(run_equalize(model.graph), "v"), "bias is not finite"));
  }
  SUBCASE("weights in front") {
    y = model.add("matmul", {model.random_constant({3, 3}), y}, "z");
    model.graph.add_output("out", y);
    CHECK(contains(reason_for(run_equalize(model.graph), "z"), "first operand"));
    CHECK(contains(reason_for(run_equalize(model.graph), "y"), "does not scale with that operand"));
  }
  SUBCASE("a channel count that does not fit") {
    y = model.add("gemm", {y, model.random_constant({4, 3})}, "z");
    model.graph.add_output("out", y);
    CHECK(contains(reason_for(run_equalize(model.graph), "y"), "4 input channels, not 3"));
  }
  SUBCASE("a bias of one number a row") {
    y = model.add("gemm", {y, model.random_constant({3, 2}), model.random_constant({3, 1})}, "z");
    model.graph.add_output("out", y);
    CHECK(contains(reason_for(run_equalize(model.graph), "z"), "its bias"));
  }
}

TEST_CASE("options that make no sense") {
  Graph graph;
  MomentsTable moments;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const EqualizationOptions& options :
       {EqualizationOptions{.tolerance = nan}, EqualizationOptions{.tolerance = -1},
        EqualizationOptions{.max_rounds = 0}, EqualizationOptions{.largest_scale = 0.5},
        EqualizationOptions{.largest_scale = nan}}) {
    const auto report = equalize(graph, moments, options);
    REQUIRE(!report);
    CHECK(report.error().code == ErrorCode::usage);
  }
  CHECK(equalize(graph, moments));
}

TEST_CASE("dead channels and numbers of any size") {
  ModelBuilder model;
  const Value x = model.graph.add_input("x", build::f32({1, 2}));
  // Channels: dead before, dead behind, far apart, farther apart, tiny, of a huge bias.
  Value y = model.add("gemm",
                      {x,
                       model.constant({2, 6}, {0, 3, 1e30, 1e-30, 1e-30, 1e-20,  //
                                               0, 1, 1e29, 1e-31, 2e-30, 0}),
                       model.constant({6}, {2, -3, 1e30, 0, 1e-30, 1e30})},
                      "a");
  y = model.add("onnx.Relu", {y});
  y = model.add("gemm",
                {y, model.constant({6, 2}, {1, 2, 0, 0, 1e-30, 1e-30,  //
                                            1e30, 1e30, 1e-30, 1e-31, 1e-8, 1e-10})},
                "b");
  model.graph.add_output("out", y);
  const EqualizationReport report = check_unchanged(model.graph, {build_input({1, 2}, {1, 2})});
  REQUIRE(report.pairs.size() == 1);
  const Reals& s = report.pairs[0].scales;
  CHECK(s[0] == 1);
  CHECK(s[1] == 1);
  CHECK(s[2] == 0x1p40);   // not 1e30
  CHECK(s[3] == 0x1p-40);  // not 1e-30
  CHECK(report.converged);
  for (const char* name : {"a", "b"}) {
    for (const float w : operand_contents(model.graph, name, 1)) CHECK(std::isfinite(w));
  }
  for (const float b : operand_contents(model.graph, "a", 2)) CHECK(std::isfinite(b));
}

TEST_CASE("weights that cannot be read: an error, and the graph as it was") {
  ModelBuilder model(36, 4);
  Value y = model.graph.add_input("x", build::f32({3, 4}));
  y = model.add("gemm", {y, model.random_weight({4, 4}, 4)}, "a");
  y = model.add("gemm", {y, model.random_weight({4, 4}, 4)}, "b");
  const Value broken =
      model.graph.add_constant("w", build::deferred(ElementType::float32, {4, 4}, true));
  y = model.add("gemm", {y, broken}, "c");
  model.graph.add_output("out", y);
  const auto before = operand_contents(model.graph, "a", 1);
  MomentsTable moments{{"a", {{1, 1, 1, 1}, {1, 1, 1, 1}}}};
  const auto report = equalize(model.graph, moments);
  REQUIRE(!report);
  CHECK(report.error().message == "broken");
  CHECK(operand_contents(model.graph, "a", 1) == before);
  CHECK(moments.at("a").mean == Reals{1, 1, 1, 1});
  // Folding changes nothing either where there is nothing to fold.
  CHECK(fold_batch_norm(model.graph));
  model.graph.add_output("other", model.batch_norm(model.add("gemm", {y, broken}), 4));
  const auto folded = fold_batch_norm(model.graph);
  REQUIRE(!folded);
  CHECK(folded.error().message == "broken");
  CHECK(verify(model.graph));
}

TEST_CASE("a long way between two layers") {
  ModelBuilder model(37, 4);
  Value y = model.graph.add_input("x", build::f32({1, 2}));
  y = model.add("gemm", {y, model.random_weight({2, 3}, 3)}, "a");
  for (int i = 0; i < 50'000; ++i) y = model.add(i % 2 == 0 ? "identity" : "onnx.Relu", {y});
  y = model.add("gemm", {y, model.random_weight({3, 2}, 2)}, "b");
  model.graph.add_output("out", y);
  CHECK(run_equalize(model.graph).pairs.size() == 1);
}

TEST_CASE("single channels") {
  ModelBuilder model(33, 4);
  const Value x = model.graph.add_input("x", build::f32({1, 1, 4, 4}));
  Value y = x;
  for (int i = 0; i < 4; ++i) y = model.add("onnx.Relu", {model.conv(y, {.kernel = 1})});
  model.graph.add_output("out", y);
  const EqualizationReport report = check_unchanged(model.graph, {random_tensor({1, 1, 4, 4}, 1)});
  CHECK(report.pairs.size() == 3);
}

TEST_CASE("one weight for all layers") {
  ModelBuilder model(34, 3);
  const Value x = model.graph.add_input("x", build::f32(image_7x6));
  const Value w = model.random_weight({4, 4, 1, 1}, 4);
  const Value b = model.random_constant({4});
  Value y = x;
  for (int i = 0; i < 3; ++i) {
    y = model.add("onnx.PRelu", {model.add("conv", {y, w, b}), model.constant({1}, {0.2})});
  }
  model.graph.add_output("out", y);
  const auto before = contents(model.graph, w);
  const EqualizationReport report = check_unchanged(model.graph, {random_tensor(image_7x6, 1)});
  CHECK(report.pairs.size() == 2);
  CHECK(contents(model.graph, model.graph.find_value("w")) != before);  // the last one's own by now
}

TEST_CASE("a bound on rounds") {
  ModelBuilder model(35, 6);
  Value y = model.graph.add_input("x", build::f32({3, 8}));
  for (int i = 0; i < 6; ++i) y = model.add("gemm", {y, model.random_weight({8, 8}, 8)});
  model.graph.add_output("out", y);
  const EqualizationReport report =
      check_unchanged(model.graph, {random_tensor({3, 8}, 1)}, {.tolerance = 0, .max_rounds = 2});
  CHECK(report.rounds == 2);
  CHECK(!report.converged);
  CHECK(report.last_change > 0);
}

namespace {

// Folds and equalizes; how many pairs there are.
std::size_t check_all(Graph& graph, const Tensor& input, double tolerance) {
  const Reals before = outputs_of(graph, {input});
  auto folded = fold_batch_norm(graph);
  REQUIRE(folded);
  const auto report = equalize(graph, folded->moments);
  REQUIRE(report);
  CHECK(relative_error(before, outputs_of(graph, {input})) < tolerance);
  return report->pairs.size();
}

}  // namespace

TEST_CASE("random chains") {
  std::size_t pairs = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    ModelBuilder model(seed, 2);
    Value y = model.graph.add_input("x", build::f32({2, 4, 12, 11}));
    std::int64_t channels = 4;
    for (int layer = 0; layer < 4; ++layer) {
      std::int64_t outputs = 2 * (1 + model.random_index(4));
      std::int64_t groups = 1 + model.random_index(2);
      if (model.random_index(3) == 0) groups = outputs = channels;  // depthwise
      if (model.random_index(6) == 0) {
        groups = channels;  // depthwise, two outputs for each input
        outputs = 2 * channels;
      }
      const std::int64_t kernel = 1 + model.random_index(3);
      const ConvShape shape{.inputs = channels,
                            .outputs = outputs,
                            .kernel = kernel,
                            .groups = groups,
                            .pad = kernel / 2,
                            .stride = kernel == 1 ? 1 : 1 + model.random_index(2),
                            .bias = model.random_index(4) != 0};
      y = model.random_index(4) == 0 && kernel > 1 ? model.conv_transpose(y, shape)
                                                   : model.conv(y, shape);
      if (model.random_index(3) == 0) y = model.batch_norm(y, outputs);
      switch (model.random_index(6)) {
        case 0:
          y = model.add("onnx.Relu", {y});
          break;
        case 1:
          y = model.add("onnx.LeakyRelu", {y}, {}, {{"alpha", 0.1}});
          break;
        case 2:
          y = model.add("onnx.PRelu", {y, model.random_constant({outputs, 1, 1})});
          break;
        case 3:
          y = model.clip(y, 0, 6);
          break;
        case 4:
          y = model.add("onnx.Sigmoid", {y});
          break;
        default:
          break;
      }
      channels = outputs;
    }
    y = model.add("flatten", {model.add("onnx.GlobalAveragePool", {y})});
    y = model.add("gemm", {y, model.random_weight({3, channels}, channels)}, {},
                  {{"transB", std::int64_t{1}}, {"alpha", 0.5}});
    model.graph.add_output("out", y);
    const Tensor input = random_tensor({2, 4, 12, 11}, seed);
    Graph wide = in_double(model.graph);
    pairs += check_all(wide, in_double(input), 1e-11);
    check_all(model.graph, input, 1e-5);
  }
  CHECK(pairs > 150);  // of 240 that there are at most
}

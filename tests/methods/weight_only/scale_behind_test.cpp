// The scale behind the sum computes what the dequantize in front computes: on the same codes and
// scales, so that nothing but rounding can differ.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "methods/weight_only/build.hpp"
#include "methods/weight_only/evaluate.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/support/ranks.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

using Extents = std::vector<std::int64_t>;
using Form = WeightOnlyOptions::Form;

struct Operand {
  enum class Role : std::uint8_t { absent, input, weight, bias } role = Role::absent;
  Extents extents;
};

Operand x(Extents extents) { return {Operand::Role::input, std::move(extents)}; }
Operand w(Extents extents) { return {Operand::Role::weight, std::move(extents)}; }
Operand bias(Extents extents) { return {Operand::Role::bias, std::move(extents)}; }

struct BehindCase {
  std::string_view kind;
  std::vector<Operand> operands;
  Attributes attributes;
};

Value add_operand(Graph& graph, const Operand& operand) {
  const auto values = [](std::size_t i) { return std::sin(1.0F + static_cast<float>(i)) + 0.2F; };
  switch (operand.role) {
    case Operand::Role::absent:
      return {};
    case Operand::Role::input:
      return build::input(graph, "x", operand.extents);
    case Operand::Role::weight:
      return build::weight(graph, "w", operand.extents, values);
    case Operand::Role::bias:
      return build::weight(graph, "bias", operand.extents, values);
  }
  return {};
}

Value add_node(Graph& graph, const BehindCase& each) {
  std::vector<Value> operands;
  for (const Operand& operand : each.operands) operands.push_back(add_operand(graph, operand));
  return build::node(graph, each.kind, "y", operands, each.attributes);
}

bool is_one(const Constant& constant) {
  return std::ranges::all_of(evaluate::tensor_of(constant).values,
                             [](double value) { return value == 1; });
}

// How many weights an operation reads as codes that are not scaled: nobody but products may.
int unscaled_weights(const Graph& graph) {
  int found = 0;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId id = graph.node_at(i);
    if (!id.is_valid() || graph.kind(id) != ops::Dequantize::kind) continue;
    if (!is_one(graph.ref(id).operand_type(0)->uniform()->scales)) continue;
    for (const Use& use : graph.uses(id)) {
      ++found;
      const std::string_view kind = graph.kind(use.user);
      CHECK(kind != ops::Output::kind);
      CHECK(kind != ops::Add::kind);
      CHECK(kind != ops::Multiply::kind);
      CHECK(kind != ops::Identity::kind);
    }
  }
  return found;
}

void check_tidy(const Graph& before, const Graph& after) {
  for (std::uint32_t i = 0; i < after.index_bound(); ++i) {
    const NodeId id = after.node_at(i);
    if (!id.is_valid()) continue;
    const bool is_end = after.kind(id) == ops::Output::kind || after.kind(id) == ops::Input::kind;
    CAPTURE(label(after, id));
    CHECK((is_end || !after.uses(id).empty()));
  }
  REQUIRE(after.outputs().size() == before.outputs().size());
  for (std::size_t i = 0; i < after.outputs().size(); ++i) {
    CHECK(after.value_name(after.operands(after.outputs()[i])[0]) ==
          before.value_name(before.operands(before.outputs()[i])[0]));
  }
}

// The graph with its scales behind.
QuantizeResult check_graph(Graph& graph, WeightOnlyOptions options, int behind) {
  options.form = Form::front;
  const QuantizeResult front = build::quantize(graph, options, build::by_operands());
  options.form = Form::behind;
  QuantizeResult result = build::quantize(graph, options, build::by_operands());
  CHECK(result.analysis.plan.values.size() == front.analysis.plan.values.size());
  CHECK(unscaled_weights(front.graph) == 0);
  CHECK(unscaled_weights(result.graph) == behind);
  check_tidy(graph, result.graph);
  const auto inputs = evaluate::some_inputs(graph);
  const auto expected = evaluate::outputs(front.graph, inputs);
  CHECK(evaluate::relative_error(evaluate::outputs(result.graph, inputs), expected) < 1e-5);
  // Both are the float graph, as far as the codes go.
  CHECK(evaluate::relative_error(expected, evaluate::outputs(graph, inputs)) < 0.4);
  return result;
}

const std::vector<WeightOnlyOptions> all_options{
    {},
    {.granularity = Granularity::Kind::tensor},
    {.symmetry = Symmetry::asymmetric},
    {.bits = 4, .symmetry = Symmetry::asymmetric, .granularity = Granularity::Kind::tensor},
    {.bits = 4, .symmetry = Symmetry::signed_scale},
    {.scale_type = ElementType::float16, .unsigned_codes = true},
};

void check_behind(const BehindCase& each) {
  CAPTURE(each.kind);
  int weights = 0;
  for (const Operand& operand : each.operands) {
    CAPTURE(to_string(Shape(operand.extents)));
    weights += operand.role == Operand::Role::weight ? 1 : 0;
  }
  std::string shapes;
  for (const Operand& operand : each.operands) {
    shapes += std::to_string(static_cast<int>(operand.role)) + ":" +
              to_string(Shape(operand.extents)) + " ";
  }
  CAPTURE(shapes);
  static std::size_t turn = 0;  // where tests are shortened, each case has one of the options
  for (std::size_t i = 0; i < (test::is_whole() ? all_options.size() : 1); ++i) {
    const WeightOnlyOptions& options = all_options[turn++ % all_options.size()];
    CAPTURE(WeightOnly(options).describe());
    Graph graph;
    graph.add_output("y", add_node(graph, each));
    check_graph(graph, options, weights);
  }
}

}  // namespace

TEST_CASE("behind: matmul and batch_matmul, the weight on either side or on both") {
  check_behind({ops::MatMul::kind, {x({2, 4}), w({4, 3})}, {}});
  check_behind({ops::MatMul::kind, {w({2, 4}), x({4, 3})}, {}});
  check_behind({ops::MatMul::kind, {w({2, 4}), w({4, 3})}, {}});
  check_behind({ops::MatMul::kind, {x({4}), w({4, 3})}, {}});
  check_behind({ops::MatMul::kind, {w({3, 4}), x({4})}, {}});
  check_behind({ops::MatMul::kind, {w({2, 3, 4}), x({4})}, {}});
  check_behind({ops::MatMul::kind, {x({5, 2, 4}), w({4, 3})}, {}});
  check_behind({ops::MatMul::kind, {x({2, 4}), w({5, 4, 3})}, {}});
  check_behind({ops::MatMul::kind, {w({1, 2, 4}), x({5, 4, 3})}, {}});
  check_behind({ops::BatchMatMul::kind, {x({5, 2, 4}), w({5, 4, 3})}, {}});
  check_behind({ops::BatchMatMul::kind, {w({5, 2, 4}), x({5, 4, 3})}, {}});
}

TEST_CASE("behind: addends of every shape, constant and computed, under alpha and beta") {
  const Attributes factors{{"alpha", 0.5}, {"beta", 3.0}};
  for (const Extents& addend :
       {Extents{}, Extents{1}, Extents{3}, Extents{1, 3}, Extents{5, 1}, Extents{5, 3}}) {
    for (const Operand& c : {bias(addend), x(addend)}) {
      for (const Attributes& attributes : {Attributes{}, factors}) {
        check_behind({ops::Gemm::kind, {x({5, 4}), w({4, 3}), c}, attributes});
        check_behind({ops::Gemm::kind, {w({5, 4}), x({4, 3}), c}, attributes});
        check_behind({ops::Addmm::kind, {c, x({5, 4}), w({4, 3})}, attributes});
      }
      check_behind({ops::Gemm::kind, {w({5, 4}), w({4, 3}), c}, factors});
      check_behind({ops::Addmm::kind, {c, w({5, 4}), w({4, 3})}, factors});
    }
  }
  for (const Extents& addend : {Extents{3}, Extents{5, 1}, Extents{2, 5, 3}, Extents{2, 1, 1}}) {
    for (const Operand& c : {bias(addend), x(addend)}) {
      check_behind({ops::Baddbmm::kind, {c, x({2, 5, 4}), w({2, 4, 3})}, factors});
      check_behind({ops::Baddbmm::kind, {c, w({2, 5, 4}), x({2, 4, 3})}, factors});
    }
  }
}

TEST_CASE("behind: gemm with all transposes") {
  for (const std::int64_t a : {0, 1}) {
    for (const std::int64_t b : {0, 1}) {
      const Attributes attributes{{"transA", a}, {"transB", b}, {"alpha", 2.0}};
      const Extents of_a = a != 0 ? Extents{4, 5} : Extents{5, 4};
      const Extents of_b = b != 0 ? Extents{3, 4} : Extents{4, 3};
      check_behind({ops::Gemm::kind, {x(of_a), w(of_b), bias({3})}, attributes});
      check_behind({ops::Gemm::kind, {w(of_a), x(of_b), Operand{}}, attributes});
    }
  }
}

TEST_CASE("behind: linear, also with the weight as its input") {
  for (const Operand& b : {Operand{}, bias({3}), x({3})}) {
    check_behind({ops::Linear::kind, {x({5, 4}), w({3, 4}), b}, {}});
    check_behind({ops::Linear::kind, {x({2, 5, 4}), w({3, 4}), b}, {}});
    check_behind({ops::Linear::kind, {w({5, 4}), x({3, 4}), b}, {}});
    check_behind({ops::Linear::kind, {w({5, 4}), w({3, 4}), b}, {}});
  }
}

TEST_CASE("behind: convolutions, grouped, strided, padded, and transposed") {
  const Attributes strided{{"strides", Extents{2, 1}}, {"pads", Extents{1, 0, 0, 1}}};
  Attributes grouped = strided;
  grouped.set("group", std::int64_t{2});
  for (const Operand& b : {Operand{}, bias({6}), x({6})}) {
    check_behind({ops::Conv::kind, {x({2, 4, 5, 4}), w({6, 4, 3, 2}), b}, strided});
    check_behind({ops::Conv::kind, {x({2, 4, 5, 4}), w({6, 2, 3, 2}), b}, grouped});
    check_behind({ops::Conv::kind, {x({2, 4, 5}), w({6, 4, 3}), b}, {}});
    check_behind({ops::ConvTranspose::kind, {x({2, 4, 3, 3}), w({4, 6, 3, 2}), b}, strided});
    check_behind({ops::ConvTranspose::kind, {x({2, 4, 3, 3}), w({4, 3, 3, 2}), b}, grouped});
  }
}

TEST_CASE("behind: einsum, wherever the channel is in the result") {
  const auto einsum = [](const char* equation, Operand a, Operand b) {
    CAPTURE(equation);
    check_behind(
        {ops::Einsum::kind, {std::move(a), std::move(b)}, {{"equation", std::string(equation)}}});
  };
  einsum("ij,jk->ik", x({2, 5}), w({5, 3}));
  einsum("ij,jk->ki", x({2, 5}), w({5, 3}));
  einsum("ij,jk->ki", w({2, 5}), x({5, 3}));
  einsum("bij,bjk->bik", w({2, 3, 4}), w({2, 4, 5}));
  einsum("bhid,bhjd->bhij", x({2, 2, 3, 4}), w({2, 2, 5, 4}));
  einsum("abc,cde->adbe", x({2, 3, 4}), w({4, 2, 5}));
  einsum("ij,jkl->ik", x({2, 4}), w({4, 3, 5}));
}

TEST_CASE("behind: a bias that is added to the product is carried past, and stays next to it") {
  struct Addend {
    Operand operand;
    bool is_carried = false;
  };
  for (const Addend& each : {Addend{bias({3}), true},
                             {bias({1}), true},
                             {bias({2, 1}), true},
                             {bias({5, 2, 3}), true},
                             {bias({7, 5, 2, 3}), false},  // the sum has another shape
                             {x({3}), false}}) {
    for (const bool is_first : {false, true}) {
      CAPTURE(to_string(Shape(each.operand.extents)));
      for (const WeightOnlyOptions& options : all_options) {
        Graph graph;
        const Value product = build::node(graph, ops::MatMul::kind, "product",
                                          {build::input(graph, "x", {5, 2, 4}),
                                           build::weight(graph, "w", {4, 3}, [](std::size_t i) {
                                             return std::cos(static_cast<float>(i));
                                           })});
        const Value addend = add_operand(graph, each.operand);
        graph.add_output("sum", build::node(graph, ops::Add::kind, "sum",
                                            is_first ? std::vector{addend, product}
                                                     : std::vector{product, addend}));
        const auto result = check_graph(graph, options, 1);
        const NodeRef last = result.graph.ref(result.graph.find_value("sum").node);
        CHECK(last.kind() == (each.is_carried ? ops::Multiply::kind : ops::Add::kind));
      }
    }
  }
}

TEST_CASE("behind: an addition is left alone where the product is read otherwise as well") {
  Graph graph;
  const Value product = add_node(graph, {ops::MatMul::kind, {x({2, 4}), w({4, 3})}, {}});
  graph.add_output("product", product);
  graph.add_output(
      "sum", build::node(graph, ops::Add::kind, "sum", {product, add_operand(graph, bias({3}))}));
  const auto result = check_graph(graph, {}, 1);
  CHECK(result.graph.kind(result.graph.find_value("sum").node) == ops::Add::kind);
}

TEST_CASE("behind: additions in a row, and of two products") {
  Graph graph;
  const Value a = add_node(graph, {ops::MatMul::kind, {x({2, 4}), w({4, 3})}, {}});
  const Value b = add_node(graph, {ops::MatMul::kind, {x({2, 4}), w({4, 3})}, {}});
  const Value biased =
      build::node(graph, ops::Add::kind, "biased", {a, add_operand(graph, bias({3}))});
  const Value again =
      build::node(graph, ops::Add::kind, "again", {add_operand(graph, bias({2, 1})), biased});
  graph.add_output("sum", build::node(graph, ops::Add::kind, "sum", {again, b}));
  check_graph(graph, {}, 2);
}

TEST_CASE("behind: a weight of several products, and one that is an output, is also had in float") {
  Graph graph;
  const Value weight = add_operand(graph, w({4, 4}));
  graph.add_output(
      "a", build::node(graph, ops::MatMul::kind, "a", {build::input(graph, "x", {2, 4}), weight}));
  graph.add_output(
      "b", build::node(graph, ops::Gemm::kind, "b",
                       {build::input(graph, "z", {3, 4}), weight, add_operand(graph, bias({4}))}));
  graph.add_output("weight_out", weight);
  check_graph(graph, {}, 2);
}

TEST_CASE("behind: one weight on both sides of a product is read as codes on one side alone") {
  Graph graph;
  const Value weight = add_operand(graph, w({4, 4}));
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "y", {weight, weight}));
  check_graph(graph, {}, 1);
  // With one scale for all, both sides can.
  check_graph(graph, {.granularity = Granularity::Kind::tensor}, 2);
}

TEST_CASE("behind: the bias of one product is the weight of another") {
  Graph graph;
  const Value shared = add_operand(graph, w({5, 3}));
  graph.add_output(
      "a", build::node(graph, ops::Gemm::kind, "a",
                       {build::input(graph, "x", {5, 4}), add_operand(graph, w({4, 3})), shared}));
  graph.add_output(
      "b", build::node(graph, ops::MatMul::kind, "b", {build::input(graph, "z", {2, 5}), shared}));
  check_graph(graph, {}, 2);
}

TEST_CASE("behind: what cannot go there stays in front, and explain says why") {
  const auto reason = [](Graph& graph, WeightOnlyOptions options, std::string_view node) {
    options.form = Form::behind;
    const auto result = build::quantize(graph, options, build::by_operands());
    CHECK(build::planned(result, "w") != "float");
    CHECK(unscaled_weights(result.graph) == 0);
    const NodeId id = graph.find_value(node).node;
    return explain(graph, result.analysis.registry, result.analysis, id).reason;
  };
  Graph blocks;
  blocks.add_output("y", add_node(blocks, {ops::MatMul::kind, {x({2, 8}), w({8, 3})}, {}}));
  CHECK(reason(blocks, {.granularity = Granularity::Kind::block, .block_size = 4}, "y")
            .find("differs along the axis that is summed") != std::string::npos);

  Graph half;
  const std::vector<std::uint16_t> ones(12, 0x3C00);
  const Value weight =
      half.add_constant("w", Constant::from_values(ElementType::float16, Shape{4, 3},
                                                   std::span<const std::uint16_t>(ones)));
  const Value input = half.add_input("x", {ElementType::float16, Shape{2, 4}, nullptr});
  const Value y = build::node(half, ops::MatMul::kind, "y", {input, weight});
  half.set_type(y, {ElementType::float16, Shape(), nullptr});
  half.add_output("y", y);
  CHECK(reason(half, {}, "y").find("65504") != std::string::npos);

  Graph recurrent;
  recurrent.add_output("y", add_node(recurrent, {ops::Rnn::kind,
                                                 {x({7, 2, 6}), w({1, 5, 6}), x({1, 5, 5})},
                                                 {{"hidden_size", std::int64_t{5}}}}));
  CHECK(reason(recurrent, {}, "y").find("no multiple of the weight's scale") != std::string::npos);
}

TEST_CASE("fewest: behind where the result has fewer elements than the weight") {
  for (const std::int64_t rows : {3, 4, 5}) {  // of 4 * 3 weights
    Graph graph;
    graph.add_output("y", add_node(graph, {ops::MatMul::kind, {x({rows, 4}), w({4, 3})}, {}}));
    const auto result = build::quantize(graph, {.form = Form::fewest}, build::by_operands());
    CHECK(unscaled_weights(result.graph) == (rows * 3 < 12 ? 1 : 0));
  }
  // Where the shapes do not tell, it stays in front.
  Graph graph;
  const Value input =
      graph.add_input("x", {ElementType::float32, Shape{Extent::open(), 4}, nullptr});
  graph.add_output(
      "y", build::node(graph, ops::MatMul::kind, "y", {input, add_operand(graph, w({4, 3}))}));
  const auto result = build::quantize(graph, {.form = Form::fewest}, build::by_operands());
  CHECK(build::planned(result, "w") == "axis=1");
  CHECK(unscaled_weights(result.graph) == 0);
}

TEST_CASE("behind: a transposed convolution of an impossible number of groups stays in front") {
  for (const std::int64_t group : {std::int64_t{0}, std::int64_t{-3}, std::int64_t{1} << 40U}) {
    Graph graph;
    const Value input = graph.add_input("x", {ElementType::float32, Shape(), nullptr});
    graph.add_output("y",
                     build::node(graph, ops::ConvTranspose::kind, "y",
                                 {input, add_operand(graph, w({4, 3, 2, 2}))}, {{"group", group}}));
    const auto result = quantize_weight_only(graph, {.form = Form::behind}, build::by_operands());
    // The shapes may be found to be impossible before anybody asks.
    if (result) CHECK(unscaled_weights(result->graph) == 0);
  }
}

TEST_CASE("behind: operands of an unknown rank") {
  const auto quantized = [](std::string_view kind, bool is_first, Extents extents) {
    Graph graph;
    const Value unknown = graph.add_input("x", {ElementType::float32, Shape(), nullptr});
    const Value weight = add_operand(graph, w(std::move(extents)));
    const Value addend = build::input(graph, "b", {6});
    std::vector<Value> operands =
        is_first ? std::vector{weight, unknown} : std::vector{unknown, weight};
    if (kind == ops::Conv::kind) operands.push_back(addend);
    graph.add_output("y", build::node(graph, kind, "y", operands));
    return unscaled_weights(
        build::quantize(graph, {.form = Form::behind}, build::by_operands()).graph);
  };
  CHECK(quantized(ops::MatMul::kind, false, {4, 3}) == 1);  // columns are last, come what may
  // Rows are the last axis if the other is a vector, and else the last but one: nobody knows.
  CHECK(quantized(ops::MatMul::kind, true, {4, 3}) == 0);
  CHECK(quantized(ops::Conv::kind, false, {6, 4, 3, 3}) == 1);
}

TEST_CASE("behind: what the graph cannot emit is not planned") {
  struct Without final : Capabilities {
    explicit Without(std::string_view operation) : lacking(operation) {}
    Expected<void> can_emit(std::string_view kind, std::span<const TensorType>,
                            const TensorType&) const override {
      if (kind == lacking) return fail(ErrorCode::impossible, "no such operation here");
      return {};
    }
    std::string_view lacking;
  };
  const Registry registry = *weight_only_registry({.form = Form::behind});
  const auto is_taken = [&](std::string_view lacking, const std::optional<Operand>& added) {
    Graph graph;
    BehindCase made{ops::Gemm::kind, {x({2, 4}), w({4, 3})}, {}};
    if (added) made.operands.push_back(*added);
    const Value sum = add_node(graph, made);
    graph.add_output("y", sum);
    REQUIRE(infer_shapes(graph));
    const Without can(lacking);
    graph.set_capabilities(&can);
    const auto analysis = analyze(graph, registry, build::by_operands());
    REQUIRE(analysis);
    CHECK(analysis->plan.values.size() == 1);
    return analysis->selection.read(sum.node, 1) != float_form;
  };
  for (const auto& added : {std::optional<Operand>(), std::optional(bias({3}))}) {
    CHECK(is_taken("nothing", added));
    CHECK(is_taken(ops::Add::kind, added));  // a constant is divided
    CHECK_FALSE(is_taken(ops::StorageCast::kind, added));
    CHECK_FALSE(is_taken(ops::Multiply::kind, added));
  }
  const Operand computed = x({3});
  CHECK(is_taken("nothing", computed));
  CHECK_FALSE(is_taken(ops::Add::kind, computed));
}

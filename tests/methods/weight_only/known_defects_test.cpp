// What goes wrong in the one public implementation of the four phases (buddy-mlir), one after the
// other: each case says what holds here instead.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ir/forwarding_view.hpp"
#include "methods/weight_only/build.hpp"
#include "model_text.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/ir/text.hpp"
#include "shortened.hpp"

using namespace quadrant;
using test::count_of_kind;

namespace {

using build::by_operands;

Value typed(Graph& graph, std::string_view kind, std::string name, std::vector<Value> operands,
            const std::vector<std::int64_t>& extents) {
  const Value made = build::node(graph, kind, std::move(name), std::move(operands));
  graph.set_type(made, {ElementType::float32, Shape(extents), nullptr});
  return made;
}

Value integers(Graph& graph, std::string name, const Shape& shape,
               const std::vector<std::int64_t>& values) {
  return graph.add_constant(std::move(name),
                            Constant::from_values(ElementType::int64, shape, std::span(values)));
}

template <class Visit>
void for_each_node(const Graph& graph, Visit visit) {
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    if (graph.node_at(i).is_valid()) visit(graph.ref(graph.node_at(i)));
  }
}

// Codes are read by operations whose result is codes as well, and by dequantizes: by nobody else.
void check_no_codes_escape(const Graph& graph) {
  for_each_node(graph, [&](NodeRef node) {
    const bool makes_codes = graph.result_count(node.id) > 0 && node.type().is_quantized();
    if (makes_codes || node.kind() == ops::Dequantize::kind) return;
    for (const Value operand : node.operands()) {
      CAPTURE(label(graph, node.id));
      if (!operand.is_absent()) CHECK_FALSE(graph.type(operand).is_quantized());
    }
  });
}

// Why result 0 of the value's node is what it is.
std::string reason(const Graph& graph, const QuantizeResult& result, Value value) {
  return explain(graph, result.analysis.registry, result.analysis, value.node).reason;
}

struct Channels {
  std::vector<float> scales;
  std::vector<std::int8_t> codes;
};

Channels channels(const Graph& graph, std::string_view codes) {
  const NodeId node = graph.find_value(codes).node;
  REQUIRE(node.is_valid());
  const auto scales = graph.type({node}).uniform()->scales.read();
  const auto contents = graph.constant(node)->read();
  REQUIRE(scales.has_value());
  REQUIRE(contents.has_value());
  const auto all_scales = scales->as<float>();
  const auto all_codes = contents->as<std::int8_t>();
  return {{all_scales.begin(), all_scales.end()}, {all_codes.begin(), all_codes.end()}};
}

}  // namespace

TEST_CASE("defect 1: a graph output of a quantized value reads floats, under the value's name") {
  Graph graph;
  const Value x = build::input(graph, "x", {2, 20});
  const Value w = build::weight(graph, "w", {20, 30});
  const Value t = build::node(graph, ops::Transpose::kind, "t", {w});
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, w}));
  graph.add_output("w_out", w);
  graph.add_output("t_out", t);
  const auto result = build::quantize(graph);
  CHECK(build::planned(result, "w") == "axis=1");
  check_no_codes_escape(result.graph);
  for (const NodeId output : result.graph.outputs()) {
    const Value read = result.graph.operands(output)[0];
    CHECK(result.graph.type(read).element == ElementType::float32);
  }
  CHECK(result.graph.value_name(result.graph.operands(result.graph.outputs()[1])[0]) == "w");
}

TEST_CASE("defect 2: every operand of a list is floats, each dequantized once") {
  Graph graph;
  const Value x = build::input(graph, "x", {2, 20});
  const Value w = build::weight(graph, "w", {20, 30});
  const Value v = build::weight(graph, "v", {20, 30});
  graph.add_output("m", build::node(graph, ops::MatMul::kind, "m", {x, w}));
  graph.add_output("n", build::node(graph, ops::MatMul::kind, "n", {x, v}));
  const Value list = typed(graph, "onnx.Concat", "list", {w, v, w}, {60, 30});
  graph.add_output("y", list);
  const auto result = build::quantize(graph);
  CHECK(build::planned(result, "w") == "axis=1");
  CHECK(build::planned(result, "v") == "axis=1");
  check_no_codes_escape(result.graph);
  const auto operands = result.graph.operands(list.node);
  CHECK(operands[0] == operands[2]);
  CHECK(count_of_kind(result.graph, ops::Dequantize::kind) == 2);
}

TEST_CASE(
    "defect 3: a reshape carries an axis exactly, or leaves the weight in float and says so") {
  struct Case {
    std::vector<std::int64_t> from;
    std::vector<std::vector<std::int64_t>> to;  // one reshape after the other
    std::string planned;                        // of the weight, where a product reads columns
  };
  const std::vector<Case> cases{
      {{16, 8}, {{16, 2, 4}}, "float"},       // 8 channels do not fit on an axis of 4
      {{16, 8}, {{128}, {1, 128}}, "float"},  // 16 * 8 channels in one axis are none of the two
      {{8, 16}, {{8, 4, 4}}, "float"},        // nor is a part of one
      {{16, 8}, {{4, 4, 8}}, "axis=1"},       // the last axis is as it was
      {{16, 8}, {{1, 16, 1, 8}}, "axis=1"},   // ones are free
      {{16, 4, 2}, {{64, 2}}, "axis=2"},
  };
  for (const Case& shapes : cases) {
    Graph graph;
    const Value w = build::weight(graph, "w", shapes.from);
    graph.add_output("w_out", w);  // somebody else reads it: the reshape is no weight itself
    Value last = w;
    for (const auto& extents : shapes.to) last = build::reshape(graph, "r", last, extents);
    const Value x = build::input(graph, "x", {3, shapes.to.back()[shapes.to.back().size() - 2]});
    graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, last}));
    const auto result = build::quantize(graph, by_operands());
    CAPTURE(to_string(Shape(shapes.to.back())));
    CHECK(build::planned(result, "w") == shapes.planned);
    check_no_codes_escape(result.graph);
    if (shapes.planned != "float") continue;
    CHECK(count_of_kind(result.graph, ops::Dequantize::kind) == 0);
    CHECK_FALSE(reason(graph, result, w).empty());
  }
  // Rows: (16, 8) -> (4, 4, 8) makes two axes of axis 0, and neither has its 16 channels.
  Graph graph;
  const Value w = build::weight(graph, "w", {16, 8});
  const Value r = build::reshape(graph, "r", w, {4, 4, 8});
  graph.add_output("w_out", w);
  const Value x = build::input(graph, "x", {8, 3});
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {r, x}));
  const auto result = build::quantize(graph, by_operands());
  CHECK(build::planned(result, "w") == "float");
  CHECK(reason(graph, result, r) ==
        "axis=1 was asked for: the elements that would share a scale are no channels or blocks of "
        "the operand");
}

TEST_CASE("defect 3: squeeze and unsqueeze carry an axis exactly, or leave the weight in float") {
  struct Case {
    std::string_view kind;   // as the ONNX reader calls it
    std::string_view known;  // as we might
    std::vector<std::int64_t> from;
    std::int64_t axis;
    std::vector<std::int64_t> to;
    std::string exact;  // where the columns of the result are in the weight
  };
  const std::vector<Case> cases{
      {"onnx.Unsqueeze", "unsqueeze", {16, 8}, 0, {1, 16, 8}, "axis=1"},  // in front of the axis
      {"onnx.Unsqueeze", "unsqueeze", {16, 8}, 1, {16, 1, 8}, "axis=1"},
      {"onnx.Squeeze", "squeeze", {1, 16, 8}, 0, {16, 8}, "axis=2"},
      {"onnx.Squeeze", "squeeze", {16, 1, 8}, 1, {16, 8}, "axis=2"},
  };
  for (const Case& each : cases) {
    for (const bool is_known : {false, true}) {
      Graph graph;
      const std::string kind = std::string(is_known ? each.known : each.kind);
      const Value w = build::weight(graph, "w", each.from);
      const Value axes = integers(graph, "axes", Shape{1}, {each.axis});
      const Value moved = typed(graph, kind, "s", {w, axes}, each.to);
      const Value x = build::input(graph, "x", {3, each.to[each.to.size() - 2]});
      graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, moved}));
      const auto result = build::quantize(graph, by_operands());
      check_no_codes_escape(result.graph);
      const std::string planned = build::planned(result, "w");
      CAPTURE(kind);
      CHECK((planned == "float" || planned == each.exact));
      CHECK_FALSE(reason(graph, result, w).empty());
    }
  }
}

TEST_CASE("defect 4: four-bit elements keep their logical shape, and are -8..7 each") {
  Graph product;
  const Value rows = build::input(product, "x", {2, 20});
  const Value weight = build::weight(product, "w", {20, 31});
  product.add_output("y", build::node(product, ops::MatMul::kind, "m", {rows, weight}));
  const auto result = build::quantize(product, {.bits = 4});
  const NodeId four = result.graph.find_value("w_quantized").node;
  CHECK(result.graph.type({four}).element == ElementType::int4);
  CHECK(result.graph.type({four}).shape == Shape{20, 31});
  const auto four_bits = read_integers(*result.graph.constant(four));
  REQUIRE(four_bits.has_value());
  CHECK(four_bits->size() == 620);
  CHECK(std::ranges::min(*four_bits) >= -8);
  CHECK(std::ranges::max(*four_bits) == 7);  // 7.5 steps are the largest magnitude

  // An odd last dimension: no element is lost, none is added, and a permute permutes the shape.
  std::vector<std::int8_t> codes(15);
  std::iota(codes.begin(), codes.end(), std::int8_t{-7});
  const Constant packed =
      Constant::from_values(ElementType::int4, Shape{3, 5}, std::span<const std::int8_t>(codes));
  CHECK(packed.element_count() == 15);
  Graph graph;
  const Value w = graph.add_constant("w", packed);
  const Value t = build::node(graph, ops::Transpose::kind, "t", {w});
  graph.set_type(t, {ElementType::int4, Shape(), nullptr});
  REQUIRE(infer_shapes(graph).has_value());
  CHECK(graph.type(w).shape == Shape{3, 5});
  CHECK(graph.type(t).shape == Shape{5, 3});
  const auto read = graph.constant(w.node)->read();
  REQUIRE(read.has_value());
  CHECK(std::ranges::equal(read->as<std::int8_t>(), codes));
}

TEST_CASE(
    "defect 5: a weight on both sides of a product, with tied gains and M == K, stays right") {
  Graph graph;
  const auto value = [](std::size_t i) { return std::sin(static_cast<float>(i)); };
  const Value w = build::weight(graph, "w", {16, 16}, value);
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {w, w}));
  const auto result = build::quantize(graph, by_operands());
  const Request& chosen = result.analysis.requests[result.analysis.selection[w].request];
  CHECK(result.analysis.selection[w].runner_up_gain == result.analysis.selection[w].gain);
  CHECK(chosen.constraint == result.analysis.selection.produced(w));

  // No side computes on codes whose scale varies along the axis that it sums over: both read the
  // same floats, which are the weight up to rounding.
  check_no_codes_escape(result.graph);
  const auto operands = result.graph.operands(result.graph.find_value("m").node);
  CHECK(operands[0] == operands[1]);
  REQUIRE(build::planned(result, "w") == "axis=0");
  const auto [scales, codes] = channels(result.graph, "w_quantized");
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const float scale = scales[i / 16];
    CHECK(std::fabs(static_cast<float>(codes[i]) * scale - value(i)) <= scale * 0.50001F);
  }
}

TEST_CASE("defect 6: a long chain of transparent operations does not overflow the stack") {
  const int length = test::shortened(100'000);
  Graph graph;
  const Value w = build::weight(graph, "w", {40, 3});
  Value last = w;
  for (int i = 0; i < length; ++i) {
    last = build::node(graph, i % 2 == 0 ? ops::Identity::kind : ops::Transpose::kind, "n", {last});
  }
  const Value x = build::input(graph, "x", {2, 40});
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, last}));
  const auto result = build::quantize(graph);
  CHECK(build::planned(result, "w") == "axis=1");  // after an even number of transposes
  CHECK(result.analysis.plan.values.size() == length + 1);
  CHECK(count_of_kind(result.graph, ops::Dequantize::kind) == 1);
}

TEST_CASE("defect 7: a user's tensors that are called like ours keep their names and contents") {
  Graph graph;
  const Value x = build::input(graph, "x", {2, 20});
  const Value w = build::weight(graph, "w", {20, 30});
  const std::array names{"w_quantized", "w_dequantize", "w_dequantized", "w_scale", "scaler_w"};
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, w}));
  for (const char* name : names) {
    const Value other = build::weight(graph, name, {20, 31});
    graph.add_output(name, build::node(graph, "onnx.Relu", std::string("of_") + name, {other}));
  }
  const auto result = build::quantize(graph);
  CHECK(build::planned(result, "w") == "axis=1");
  check_no_codes_escape(result.graph);
  for (const char* name : names) {
    const Value before = graph.find_value(name);
    const Value after = result.graph.find_value(name);
    CHECK(*result.graph.constant(after.node) == *graph.constant(before.node));
    const Value reader = result.graph.find_value(std::string("of_") + name);
    CHECK(result.graph.operands(reader.node)[0] == after);
  }
}

TEST_CASE("defect 8: registering twice is an error that names every operation and both places") {
  auto builder = RegistryBuilder::of(WeightOnly());
  WeightOnly::Registration(builder).run();
  const auto registry = std::move(builder).freeze();
  REQUIRE_FALSE(registry.has_value());
  CHECK(registry.error().code == ErrorCode::usage);
  const auto once = weight_only_registry();
  REQUIRE(once.has_value());
  for (const QuantizationMethod* method : once->methods()) {
    CHECK(registry.error().message.find("'" + std::string(method->op()) + "'") !=
          std::string::npos);
  }
  CHECK(registry.error().message.find("products.cpp:") != std::string::npos);
}

TEST_CASE("defect 9: integer parameters stay what they are") {
  Graph graph;
  const Value table = build::weight(graph, "table", {20, 30});
  const Value indices = integers(graph, "indices", Shape{2, 2}, {0, 5, 19, 5});
  const Value rows = typed(graph, "onnx.Gather", "rows", {table, indices}, {2, 2, 30});
  const Value w = integers(graph, "w", Shape{2, 2}, {1, 2, 3, 4});
  const Value x = graph.add_input("x", {ElementType::int64, Shape{2, 2}, nullptr});
  const Value m = build::node(graph, ops::MatMul::kind, "m", {x, w});
  graph.set_type(m, {ElementType::int64, Shape{2, 2}, nullptr});
  graph.add_output("y", rows);
  graph.add_output("z", m);
  const auto result = build::quantize(graph, by_operands());
  for (const Value value : {indices, w}) {
    CHECK(result.analysis.eligibility.state(value) == State::Unquantized);
    CHECK(reason(graph, result, value) == "it is not float");
    CHECK(*result.graph.constant(value.node) == *graph.constant(value.node));
  }
}

TEST_CASE("defect 10: an all-zero channel has scale 1 and codes 0, in float16 as well") {
  for (const ElementType element : {ElementType::float32, ElementType::float16}) {
    Graph graph;
    const Value x = graph.add_input("x", {element, Shape{2, 20}, nullptr});
    // Columns: zeros, and one that holds 2 in all its rows. 0x4000 is the float16 2.
    std::vector<float> floats;
    std::vector<std::uint16_t> halves;
    for (int row = 0; row < 20; ++row) {
      floats.insert(floats.end(), {0, 2});
      halves.insert(halves.end(), {0, 0x4000});
    }
    const Constant contents =
        element == ElementType::float32
            ? Constant::from_values(element, Shape{20, 2}, std::span<const float>(floats))
            : Constant::from_values(element, Shape{20, 2}, std::span<const std::uint16_t>(halves));
    const Value w = graph.add_constant("w", contents);
    const Value m = build::node(graph, ops::MatMul::kind, "m", {x, w});
    graph.set_type(m, {element, Shape(), nullptr});
    graph.add_output("y", m);
    const auto result = build::quantize(graph, by_operands());
    REQUIRE(build::planned(result, "w") == "axis=1");
    const auto [scales, codes] = channels(result.graph, "w_quantized");
    CHECK(scales == std::vector<float>{1, 2.0F / 127});
    for (std::size_t i = 0; i < codes.size(); ++i) CHECK(codes[i] == (i % 2 == 0 ? 0 : 127));
  }
}

TEST_CASE("defect 10: a quantized axis of size 1 is found again behind every operation") {
  Graph graph;
  const Value w = build::weight(graph, "w", {20, 1});
  const Value r = build::reshape(graph, "r", w, {1, 20, 1});
  const Value t = build::node(graph, ops::Transpose::kind, "t", {r});
  const Value s = build::reshape(graph, "s", t, {20, 1});
  const Value x = build::input(graph, "x", {2, 20});
  graph.add_output("y", build::node(graph, ops::MatMul::kind, "m", {x, s}));
  const auto result = build::quantize(graph, by_operands());
  CHECK(build::planned(result, "s") == "axis=1");
  // One scale in all, wherever its axis is.
  for (const char* name : {"w", "r", "t"}) {
    const TensorType& type = result.graph.type(result.graph.find_value(name));
    REQUIRE(type.is_quantized());
    CHECK(type.uniform()->scales.element_count() == 1);
  }
}

TEST_CASE("defect 11: the order in which a graph is built does not change the answer") {
  // A tied embedding and head, both sides of a product, and ties: each in random orders.
  struct Part {
    std::string name;
    std::string_view kind;
    std::vector<std::string> operands;
  };
  const std::vector<Part> parts{
      {"rows", "onnx.Gather", {"table", "indices"}},
      {"table_t", ops::Transpose::kind, {"table"}},
      {"logits", ops::MatMul::kind, {"x", "table_t"}},
      {"left", ops::MatMul::kind, {"square", "y"}},
      {"right", ops::MatMul::kind, {"y", "square"}},
      {"square_t", ops::Transpose::kind, {"square"}},
      {"more", ops::MatMul::kind, {"y", "square_t"}},
  };
  std::mt19937 random(20261123);
  const auto build_in_random_order = [&] {
    Graph graph;
    std::vector<int> roots{0, 1, 2, 3, 4};
    std::ranges::shuffle(roots, random);
    for (const int root : roots) {
      if (root == 0) build::weight(graph, "table", {40, 16});
      if (root == 1) build::weight(graph, "square", {16, 16});
      if (root == 2) integers(graph, "indices", Shape{2}, {1, 39});
      if (root == 3) build::input(graph, "x", {3, 16});
      if (root == 4) build::input(graph, "y", {16, 16});
    }
    std::vector<Part> left = parts;
    while (!left.empty()) {
      const auto pick = left.begin() + static_cast<std::ptrdiff_t>(random() % left.size());
      std::vector<Value> operands;
      for (const std::string& name : pick->operands) operands.push_back(graph.find_value(name));
      if (std::ranges::any_of(operands, &Value::is_absent)) continue;  // not built yet
      build::node(graph, pick->kind, pick->name, std::move(operands));
      left.erase(pick);
    }
    return graph;
  };
  for (const QuantizeOptions& options : {QuantizeOptions{}, by_operands()}) {
    Graph first = build_in_random_order();
    const Plan plan = build::quantize(first, options).analysis.plan;
    CHECK(plan.values.size() == 4);
    for (int round = 0; round < 20; ++round) {
      Graph graph = build_in_random_order();
      CHECK(build::quantize(graph, options).analysis.plan == plan);
    }
  }
}

namespace {

// Bytes saved, and four bytes for each element that has to be dequantized.
class DequantizeCosts final : public GainModel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "test"; }
  [[nodiscard]] std::string_view unit() const noexcept override { return "bytes"; }
  [[nodiscard]] Gain of_operand(const OperandReading&) const override { return Gain{}; }
  [[nodiscard]] Gain of_storage(const Storing& storing) const override {
    return bytes_.of_storage(storing);
  }
  [[nodiscard]] Gain of_conversion(const FormChange& change) const override {
    return Gain{-4 * change.graph->type(change.value).shape.element_count().value_or(0)};
  }

 private:
  BytesGain bytes_;
};

// Table, looked up and, transposed, multiplied with.
struct Tied {
  Graph graph;
  Value table = build::weight(graph, "table", {40, 16});
  Value rows = typed(graph, "onnx.Gather", "rows",
                     {table, integers(graph, "indices", Shape{2}, {1, 39})}, {2, 16});
  Value transposed = build::node(graph, ops::Transpose::kind, "t", {table});
  Value head = build::node(graph, ops::MatMul::kind, "head",
                           {build::input(graph, "x", {3, 16}), transposed});
};

}  // namespace

TEST_CASE("defect 11: what a tied embedding costs in float is in the plan, and can be priced") {
  Tied tied;
  tied.graph.add_output("rows_out", tied.rows);
  tied.graph.add_output("y", tied.head);
  const auto result = build::quantize(tied.graph);
  CHECK(build::planned(result, "table") == "axis=0");
  check_no_codes_escape(result.graph);
  const auto& conversions = result.analysis.plan.conversions;
  const auto lookup = std::ranges::find(conversions, "table", &PlannedConversion::value);
  REQUIRE(lookup != conversions.end());
  CHECK(lookup->users == std::vector<std::string>{"rows"});

  // A gain model that charges for it leaves the table in float, where the lookup needs no more.
  const DequantizeCosts costs;
  QuantizeOptions options;
  options.gains = &costs;
  const auto priced = build::quantize(tied.graph, options);
  CHECK(build::planned(priced, "table") == "float");
  CHECK(priced.analysis.plan.objective == Gain{});
  CHECK(reason(tied.graph, priced, tied.table).find("would be worth") != std::string::npos);
}

TEST_CASE("defect 11: a weight whose branches all fall out stays float") {
  Graph graph;
  const Value w = build::weight(graph, "w", {16, 8});
  const Value split = build::reshape(graph, "split", w, {16, 2, 4});  // refuses its columns
  const Value unknown = build::node(graph, "onnx.Relu", "relu", {w});
  const Value t = build::node(graph, ops::Transpose::kind, "t", {w});
  const Value x = build::input(graph, "x", {3, 2});
  graph.add_output("a", build::node(graph, ops::MatMul::kind, "m", {x, split}));
  graph.add_output("b", unknown);
  const Value vetoed =
      build::node(graph, ops::MatMul::kind, "n", {build::input(graph, "y", {3, 8}), t});
  graph.add_output("c", vetoed);
  QuantizeOptions options = by_operands();
  options.vetoes.emplace(vetoed.node, "excluded");
  const auto result = build::quantize(graph, options);
  CHECK(result.analysis.plan.values.empty());
  CHECK(result.graph.node_count() == graph.node_count());
  CHECK(reason(graph, result, w).find("no operation requests it") != std::string::npos);
}

namespace {

// A bit of everything: what is quantized, what is refused, what nobody knows.
struct Mixed {
  Graph graph;
  Value x = build::input(graph, "x", {2, 20});
  Value w = build::weight(graph, "w", {20, 30});
  Value one_axis = build::weight(graph, "one_axis", {30});
  Value scalar = build::weight(graph, "scalar", {});
  Value product = build::node(graph, ops::MatMul::kind, "product", {x, w});
  Value vector = build::node(graph, ops::MatMul::kind, "vector", {product, one_axis});
  Value unknown = build::node(graph, "onnx.Add", "sum", {vector, scalar});
  Value split = build::reshape(graph, "split", w, {20, 5, 6});
  Value columns =
      build::node(graph, ops::MatMul::kind, "columns", {build::input(graph, "z", {2, 5}), split});
  NodeId output = graph.add_output("y", unknown);
  NodeId other = graph.add_output("columns_out", columns);
};

}  // namespace

TEST_CASE("defect 12: every value has a reason") {
  Mixed mixed;
  const auto result = build::quantize(mixed.graph);
  const auto all = explain_all(mixed.graph, result.analysis.registry, result.analysis);
  CHECK(all.size() == mixed.graph.node_count());
  for (const Explanation& explanation : all) CHECK_FALSE(explanation.reason.empty());
}

TEST_CASE("defect 12: analyze changes nothing, nor does a run that is impossible") {
  Mixed mixed;
  REQUIRE(infer_shapes(mixed.graph).has_value());
  const PrintOptions everything{.largest_constant = 10'000};
  const std::string before = print_graph(mixed.graph, everything);
  const Registry registry = *weight_only_registry();
  auto analysis = analyze(mixed.graph, registry);
  REQUIRE(analysis.has_value());
  CHECK(print_graph(mixed.graph, everything) == before);
  REQUIRE_FALSE(analysis->plan.values.empty());

  QuantizeOptions options;
  options.plan = &analysis->plan;
  analysis->plan.values[0].constraint = "axis=7";
  GraphEditor in_place(mixed.graph);
  const auto refused = quantize(in_place, registry, options);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::impossible);
  CHECK(refused.error().message.find("axis=7") != std::string::npos);
  CHECK(refused.error().place.tensor == analysis->plan.values[0].value);
  CHECK(print_graph(mixed.graph, everything) == before);

  // Contents that forbid it are found before anything is rewritten.
  const Value bad = build::weight(mixed.graph, "bad", {30, 2},
                                  [](std::size_t i) { return i == 7 ? std::nanf("") : 1.0F; });
  build::node(mixed.graph, ops::MatMul::kind, "of_bad", {mixed.product, bad});
  REQUIRE(infer_shapes(mixed.graph).has_value());
  const std::string with_bad = print_graph(mixed.graph, everything);
  CHECK_FALSE(quantize(in_place, registry, by_operands()).has_value());
  CHECK(print_graph(mixed.graph, everything) == with_bad);
}

namespace {

// A graph that counts how often it is asked: the engine's work, without a clock.
class CountingView final : public test::ForwardingView {
 public:
  using ForwardingView::ForwardingView;
  [[nodiscard]] std::uint64_t asked() const noexcept { return asked_; }

  [[nodiscard]] std::span<const Use> uses(NodeId node) const noexcept override {
    const std::span<const Use> found = ForwardingView::uses(node);
    asked_ += found.size();  // who asks for them walks over them
    return found;
  }

 private:
  [[nodiscard]] const Graph& ask() const noexcept override {
    ++asked_;
    return ForwardingView::ask();
  }
  mutable std::uint64_t asked_ = 0;
};

Graph chain(int size) {
  Graph graph;
  Value last = build::weight(graph, "w", {20, 30});
  for (int i = 0; i < size; ++i) last = build::node(graph, ops::Transpose::kind, "t", {last});
  build::node(graph, ops::MatMul::kind, "m", {build::input(graph, "x", {2, 20}), last});
  return graph;
}

Graph star(int size) {
  Graph graph;
  const Value w = build::weight(graph, "w", {20, 20});
  const Value x = build::input(graph, "x", {20, 20});
  for (int i = 0; i < size; ++i) {
    const std::vector<Value> operands = i % 2 == 0 ? std::vector{x, w} : std::vector{w, x};
    build::node(graph, ops::MatMul::kind, "m", operands);
  }
  return graph;
}

Graph layers(int size) {
  Graph graph;
  Value last = build::input(graph, "x", {2, 20});
  for (int i = 0; i < size; ++i) {
    const Value w = build::weight(graph, "w", {20, 20});
    const Value t = build::node(graph, ops::Transpose::kind, "t", {w});
    last = build::node(graph, ops::MatMul::kind, "m", {last, t});
  }
  return graph;
}

std::uint64_t work(Graph graph) {
  REQUIRE(infer_shapes(graph).has_value());
  const CountingView view(graph);
  const Registry registry = *weight_only_registry();
  const auto analysis = analyze(view, registry, by_operands());
  REQUIRE(analysis.has_value());
  CHECK_FALSE(analysis->plan.values.empty());
  CHECK(explain_all(view, registry, *analysis).size() == graph.node_count());
  return view.asked();
}

}  // namespace

TEST_CASE("defect 13: ten times the nodes are ten times the work, planning and explaining") {
  for (Graph (*build)(int) : {chain, star, layers}) {
    const std::uint64_t small = work(build(200));
    const std::uint64_t large = work(build(2000));
    CHECK(small > 200);
    CHECK(large < small * 11);
  }
}

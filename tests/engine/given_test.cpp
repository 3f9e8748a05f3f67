// Values whose quantization is given: those that came quantized with the model (`recognize`,
// AnyQuantized), and those that may hold a few constraints and no other (`possible`).
#include <doctest/doctest.h>

#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "engine/toy_scheme.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/ops.hpp"

using namespace quadrant;

namespace given {

/// Codes of scale 2^exponent.
struct Level {
  int exponent = 0;
  [[nodiscard]] std::size_t hash() const { return static_cast<std::size_t>(exponent); }
  [[nodiscard]] std::string print() const { return "level " + std::to_string(exponent); }
  [[nodiscard]] static std::optional<Level> parse(std::string_view /*text*/) { return {}; }
  friend auto operator<=>(const Level&, const Level&) = default;
};

std::shared_ptr<const UniformType> codes_of(Level level) {
  const float scale = std::ldexp(1.0F, level.exponent);
  auto type = std::make_shared<UniformType>();
  type->scales = Constant::from_values(ElementType::float32, Shape(std::vector<std::int64_t>{}),
                                       std::span<const float>(&scale, 1));
  return type;
}

struct Scheme final : quadrant::Scheme {
  explicit Scheme(bool can_convert_codes = false) : converts(can_convert_codes) {}
  QUADRANT_SCHEME(Scheme, Level, "given")
  [[nodiscard]] std::string describe() const override { return ""; }

  // Hooks, which need no options here.
  // NOLINTBEGIN(readability-convert-member-functions-to-static)
  [[nodiscard]] std::optional<Level> recognize(const TensorType& type) const {
    const auto scales = type.uniform()->scales.read();
    int exponent = 0;
    // frexp gives a fraction from a half on: 2^e is 0.5 * 2^(e + 1).
    const bool is_power = std::frexp(scales->as<float>()[0], &exponent) == 0.5F;
    return is_power ? std::optional(Level{exponent - 1}) : std::nullopt;
  }
  [[nodiscard]] Expected<Value> convert(Value quantized, const Level& to,
                                        RewriteContext& context) const {
    return context.emit("requantize", {quantized}, "requantized",
                        {ElementType::int8, context.view().type(quantized).shape, codes_of(to)});
  }
  // NOLINTEND(readability-convert-member-functions-to-static)
  [[nodiscard]] std::optional<Gain> price(const ConversionOf<Level>& conversion,
                                          const GainModel& /*gains*/) const {
    if (conversion.kind() == ConversionKind::convert && !converts) return std::nullopt;
    return Gain{};
  }

  bool converts;
};

struct Ops {
  struct Read {  // reads its operand at the level that attribute "level" names
    static constexpr std::string_view kind = "read";
  };
  struct Levels {  // may be at any level of attribute "levels", and at no other
    static constexpr std::string_view kind = "levels";
  };
  struct Any {  // as one of its operands
    static constexpr std::string_view kind = "any";
  };
  struct Requantized {  // its result came as codes; reads codes of the level that "level" names
    static constexpr std::string_view kind = "requantized";
  };
  struct First {  // reads its operand at the first level that is possible
    static constexpr std::string_view kind = "read_first";
  };
};

Level level_of(NodeRef node) {
  return {static_cast<int>(node.attribute_or<std::int64_t>("level", 0))};
}

QUADRANT_CONSUMER(ReadMethod, Scheme, Ops::Read, requires_parents(AnyQuantized),
                  requires_parents(AnyQuantizable)) {
  void request(NodeRef node, Asks& asks) const override { asks.take(0, level_of(node)); }
};

QUADRANT_QUANTIZER(LevelsMethod, Scheme, Ops::Levels) {
  void possible(NodeRef node, Possibilities& possibilities) const override {
    for (const std::int64_t level : node.attribute_or("levels", std::vector<std::int64_t>{})) {
      possibilities.add({static_cast<int>(level)});
    }
  }
  void callback(const Level&, NodeRef, Asks& asks) const override { asks.accept(); }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return context.set_quantized(node.result(), codes_of(context.selected<Level>(node.result())));
  }
};

QUADRANT_QUANTIZER(AnyMethod, Scheme, Ops::Any, requires_parents(variadic(AnyQuantizable))) {
  void possible(NodeRef node, Possibilities& possibilities) const override {
    for (const Value operand : node.operands()) {
      for (std::size_t i = 0; i < possibilities.count(operand).value_or(0); ++i) {
        possibilities.add(possibilities.get(operand, i));
      }
    }
  }
  void callback(const Level& wanted, NodeRef node, Asks& asks) const override {
    for (std::uint32_t i = 0; i < node.operands().size(); ++i) asks.alternative({{i, wanted}});
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return context.set_quantized(node.result(), codes_of(context.selected<Level>(node.result())));
  }
};

QUADRANT_CONSUMER(RequantizedMethod, Scheme, Ops::Requantized, requires_parents(AnyQuantizable)) {
  void request(NodeRef node, Asks& asks) const override { asks.take(0, level_of(node)); }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return context.read<Level>(node, 0) != nullptr ? context.replace(node.result(), node.operand(0))
                                                   : Expected<void>{};
  }
};

QUADRANT_CONSUMER(ReadFirstMethod, Scheme, Ops::First, requires_parents(AnyQuantizable)) {
  void request(NodeRef node, Asks& asks) const override {
    const Value operand = node.operand(0);
    if (asks.possible_count(operand).value_or(0) == 0) {
      asks.refuse("its operand may hold anything");
    } else {
      asks.take(0, asks.possible(operand, 0));
    }
  }
};

QUADRANT_DEQUANTIZER(Scheme)(Value quantized, RewriteContext& context) const {
  return context.emit(ops::Dequantize::kind, {quantized}, "dequantized",
                      context.view().type(quantized).expressed());
}

QUADRANT_METHODS(Scheme) {
  add<ReadMethod>();
  add<LevelsMethod>();
  add<AnyMethod>();
  add<ReadFirstMethod>();
  add<RequantizedMethod>();
}

}  // namespace given

namespace {

using given::codes_of;
using given::Level;
using given::level_of;

Registry registry(bool converts = false) {
  return *RegistryBuilder::of(given::Scheme(converts)).freeze();
}

Value levels(Graph& graph, std::string name, std::vector<std::int64_t> possible) {
  return toy::add(graph, "levels", std::move(name), {}, {{"levels", std::move(possible)}});
}

Value read(Graph& graph, std::string name, Value operand, std::int64_t level) {
  return toy::add(graph, "read", std::move(name), {operand}, {{"level", level}});
}

QuantizeResult quantized(const Graph& graph, bool converts = false) {
  const UnitGain gains;
  QuantizeOptions options;
  options.gains = &gains;
  auto result = quantize(graph, registry(converts), options);
  REQUIRE_MESSAGE(result.has_value(), to_string(result ? Error{} : result.error()));
  return *std::move(result);
}

Explanation explained(const Graph& graph, const QuantizeResult& result, Value value) {
  return explain(graph, result.analysis.registry, result.analysis, value.node);
}

std::string form(const QuantizeResult& result, ConstraintId id) {
  return result.analysis.requests.constraints().print(id);
}

// A model that comes with codes of level 3, and one reader of them.
struct Given {
  Graph graph;
  Value codes = graph.add_input("q", {ElementType::int8, Shape{2, 3}, codes_of({3})});
  Value reader;

  explicit Given(std::int64_t asked) : reader(read(graph, "r", codes, asked)) {
    graph.add_output("y", reader);
  }
};

}  // namespace

TEST_CASE("AnyQuantized: what came quantized is read as it came, and nothing is inserted") {
  const Given model(3);
  const QuantizeResult result = quantized(model.graph);
  const Selection& selection = result.analysis.selection;
  CHECK(result.analysis.eligibility.state(model.codes) == State::Quantized);
  CHECK(result.analysis.eligibility.state(model.reader) == State::Consumer);
  CHECK(form(result, result.analysis.eligibility.given(model.codes)) == "level 3");
  CHECK(form(result, selection.produced(model.codes)) == "level 3");
  CHECK(form(result, selection.read(model.reader.node, 0)) == "level 3");
  CHECK_FALSE(selection.is_selected(model.codes));
  CHECK(selection.conversions().empty());
  CHECK(selection.objective() == Gain{1});
  CHECK(result.analysis.plan.values.empty());
  CHECK(result.graph.node_count() == model.graph.node_count());
  CHECK(result.graph.operands(model.reader.node)[0] == model.codes);
}

TEST_CASE("weights that came quantized meet in a coupling, and stay what they are") {
  Graph graph;
  QuantizeOptions options;
  options.couplings.emplace_back();
  for (const char* const name : {"a", "b"}) {
    const std::vector<std::int8_t> codes(6, 1);
    const Constant contents =
        Constant::from_values(ElementType::int8, Shape{2, 3}, std::span<const std::int8_t>(codes));
    const Value weight = graph.add_constant(name, contents);
    graph.set_constant(weight.node, contents, codes_of({3}));
    graph.add_output(std::string("y") + name, read(graph, std::string("r") + name, weight, 3));
    options.couplings[0].push_back(weight);
  }
  const UnitGain gains;
  options.gains = &gains;
  const auto analysis = analyze(graph, registry(false), options);
  REQUIRE(analysis.has_value());
  CHECK(analysis->vetoes.empty());
  CHECK(analysis->selection.objective() == Gain{2});
}

TEST_CASE("another form than the given one is converted, where the scheme converts") {
  const Given model(5);
  const QuantizeResult result = quantized(model.graph, true);
  REQUIRE(result.analysis.plan.conversions.size() == 1);
  CHECK(result.analysis.plan.conversions[0] == PlannedConversion{"q", "level 3", "level 5", {"r"}});
  const Value made = result.graph.operands(model.reader.node)[0];
  CHECK(result.graph.kind(made.node) == "requantize");
  CHECK(*result.graph.type(made).uniform()->scales.read()->as<float>().data() == 32.0F);
}

TEST_CASE("another form than the given one is refused with a reason, where it does not") {
  const Given model(5);
  const QuantizeResult result = quantized(model.graph, false);
  CHECK(result.analysis.selection.conversions().empty());
  CHECK(result.analysis.selection.read(model.reader.node, 0) == float_form);
  CHECK(result.analysis.selection.objective() == Gain{});
  CHECK(result.graph.node_count() == model.graph.node_count());
  const Explanation reader = explained(model.graph, result, model.reader);
  REQUIRE(reader.benefits.size() == 1);
  CHECK_FALSE(reader.benefits[0].realized);
  CHECK(reader.benefits[0].why_not == "the model came with it quantized as level 3");
}

TEST_CASE("AnyQuantized does not match a value in float, nor codes that the scheme cannot read") {
  Graph graph;
  const Value x = graph.add_input("x", {ElementType::float32, Shape{2, 3}, nullptr});
  const Value of_input = read(graph, "r", x, 0);
  const float odd = 0.3F;
  auto type = std::make_shared<UniformType>();
  type->scales = Constant::from_values(ElementType::float32, Shape(std::vector<std::int64_t>{}),
                                       std::span<const float>(&odd, 1));
  const Value strange = graph.add_input("s", {ElementType::int8, Shape{2, 3}, type});
  const Value of_strange = read(graph, "t", strange, 0);
  const QuantizeResult result = quantized(graph, true);
  CHECK(result.analysis.eligibility.state(of_input) == State::Unquantized);
  CHECK(result.analysis.eligibility.given(strange) == float_form);
  CHECK(result.analysis.selection.read(of_strange.node, 0) == float_form);
  CHECK(explained(graph, result, of_strange).benefits[0].why_not ==
        "the model came with it quantized");
}

TEST_CASE("finite possibilities travel forward, and requests name one of them") {
  Graph graph;
  const Value a = levels(graph, "a", {4, 2});
  const Value b = levels(graph, "b", {2, 7});
  const Value any = toy::add(graph, "any", "any", {a, b});
  const Value first = toy::add(graph, "read_first", "f", {any});
  const QuantizeResult result = quantized(graph);
  const auto* possible = result.analysis.eligibility.possible(any.node, 0);
  REQUIRE(possible != nullptr);
  std::vector<std::string> names;
  for (const ConstraintId id : *possible) names.push_back(form(result, id));
  CHECK(names == std::vector<std::string>{"level 4", "level 2", "level 7"});  // each once
  CHECK(form(result, result.analysis.selection.read(first.node, 0)) == "level 4");
  // What b cannot be is asked of it, and refused.
  CHECK(result.analysis.selection.is_selected(a));
  CHECK_FALSE(result.analysis.selection.is_selected(b));
}

TEST_CASE("what is not among the possibilities is refused with the reason") {
  Graph graph;
  const Value a = levels(graph, "a", {4, 2});
  const Value reader = read(graph, "r", a, 3);
  const QuantizeResult result = quantized(graph);
  CHECK(result.analysis.plan.values.empty());
  const Explanation explanation = explained(graph, result, a);
  CHECK(explanation.reason ==
        "level 3 was asked for: the quantizations that are given here do not include it");
  REQUIRE(explanation.requests.size() == 1);
  CHECK_FALSE(explanation.requests[0].accepted);
  CHECK(explained(graph, result, reader).benefits[0].why_not == explanation.reason);
}

TEST_CASE("nothing possible is not anything possible: a node that adds none can be asked for all") {
  Graph graph;
  const Value free = levels(graph, "free", {});
  const Value reader = read(graph, "r", free, 11);
  const Value first = toy::add(graph, "read_first", "f", {free});
  const QuantizeResult result = quantized(graph);
  CHECK(result.analysis.eligibility.possible(free.node, 0) == nullptr);
  CHECK(form(result, result.analysis.selection.read(reader.node, 0)) == "level 11");
  CHECK(explained(graph, result, first).reason == "its operand may hold anything");
}

TEST_CASE("too many possibilities at one value make it ineligible, with the reason") {
  for (const bool too_many : {false, true}) {
    Graph graph;
    std::vector<Value> roots;
    for (std::size_t i = 0; i < most_possibilities + (too_many ? 1 : 0); ++i) {
      roots.push_back(levels(graph, "w" + std::to_string(i), {static_cast<std::int64_t>(i)}));
    }
    const Value any = toy::add(graph, "any", "any", roots);
    const Value after = toy::add(graph, "any", "after", {any});
    read(graph, "r", after, 5);
    const QuantizeResult result = quantized(graph);
    CHECK(result.analysis.selection.is_selected(after) == !too_many);
    if (!too_many) continue;
    CHECK(result.analysis.eligibility.cause(any.node) == EligibilityCause::possibilities);
    CHECK(explained(graph, result, any).reason == "too many different quantizations meet here");
    CHECK(explained(graph, result, after).blockers == std::vector<std::string>{"any"});
  }
}

TEST_CASE("a Consumer whose result came quantized asks for its operands all the same") {
  for (const std::int64_t level : {4, 5}) {
    CAPTURE(level);
    Graph graph;
    const Value a = levels(graph, "a", {4});
    const Value made{graph.add({.kind = "requantized",
                                .name = "q",
                                .operands = {a},
                                .results = {{"q", {ElementType::int8, Shape{2, 3}, codes_of({4})}}},
                                .attributes = {{"level", level}}})};
    graph.add_output("y", made);
    const QuantizeResult result = quantized(graph);
    const bool is_there = level == 4;
    CHECK(result.analysis.eligibility.state(made) == State::Quantized);
    CHECK(result.analysis.selection.is_selected(a) == is_there);
    CHECK(form(result, result.analysis.selection.read(made.node, 0)) ==
          (is_there ? "level 4" : "float"));
    CHECK(result.graph.kind(result.graph.operands(result.graph.outputs()[0])[0].node) ==
          (is_there ? "levels" : "requantized"));
  }
}

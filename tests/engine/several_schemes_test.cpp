// Two schemes in one run: weights stored as integers, and activations computed in them.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "engine/activations.hpp"
#include "engine/check_rewriting.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;
using activations::add;
using activations::ChosenWorth;
using activations::conv;
using activations::input;
using check_rewriting::count;
using check_rewriting::quantize_checked;

namespace weight_scheme {

/// A scale for each index along an axis.
struct Axis {
  std::int64_t number = 0;
  [[nodiscard]] std::size_t hash() const { return static_cast<std::size_t>(number); }
  [[nodiscard]] std::string print() const { return "axis " + std::to_string(number); }
  [[nodiscard]] static std::optional<Axis> parse(std::string_view /*text*/) { return {}; }
  friend auto operator<=>(const Axis&, const Axis&) = default;
};

/// Weights become smaller; everything else reads floats. Its option: the bytes that this saves.
struct Scheme final : quadrant::Scheme {
  explicit Scheme(std::int64_t bytes) : saved(bytes) {}
  QUADRANT_SCHEME(Scheme, Axis, "weights")
  [[nodiscard]] std::string describe() const override { return "saved=" + std::to_string(saved); }
  [[nodiscard]] static ElementType storage_type(const Axis& /*axis*/) { return ElementType::int8; }
  std::int64_t saved;
};

inline QUADRANT_DEQUANTIZER(Scheme)(Value quantized, RewriteContext& context) const {
  return context.emit(ops::Dequantize::kind, {quantized}, "dequantize",
                      context.view().type(quantized).expressed());
}

std::shared_ptr<const UniformType> codes_along(std::int64_t axis, const Shape& shape) {
  return build::uniform(std::vector(static_cast<std::size_t>(shape[axis].value()), 0.5F),
                        Granularity::per_axis(axis));
}

QUADRANT_QUANTIZER(WeightMethod, Scheme, ops::Constant) {
  void callback(const Axis& wanted, NodeRef node, Asks& asks) const override {
    if (wanted.number < node.type().shape.rank()) asks.accept();
  }
  [[nodiscard]] std::optional<StorageChange> storage(const Axis&, NodeRef) const override {
    constexpr std::int64_t before = 1000;
    return StorageChange{before, static_cast<std::uint64_t>(before - scheme().saved)};
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const Shape& shape = node.type().shape;
    const auto& selected = context.selected<Axis>(node.result());
    return context.graph().set_constant(node.id, build::zeros(ElementType::int8, shape),
                                        codes_along(selected.number, shape));
  }
};

// The first two axes are swapped.
QUADRANT_QUANTIZER(SwapMethod, Scheme, activations::Ops::Relu, requires_parents(AnyQuantizable)) {
  void callback(const Axis& wanted, NodeRef /*node*/, Asks& asks) const override {
    asks.alternative({{0, Axis{wanted.number ^ 1}}});
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const auto& selected = context.selected<Axis>(node.result());
    return context.set_quantized(node.result(), codes_along(selected.number, node.type().shape));
  }
};

QUADRANT_CONSUMER(ConvMethod, Scheme, ops::Conv,
                  requires_parents(AnyState, AnyQuantizable, or_absent(AnyState))) {
  void request(NodeRef /*node*/, Asks& asks) const override { asks.benefit(1, {0}); }
};

QUADRANT_CONSUMER(ScoreMethod, Scheme, activations::Ops::Score,
                  requires_parents(AnyState, AnyQuantizable)) {
  void request(NodeRef /*node*/, Asks& asks) const override { asks.benefit(1, {0}); }
  // The first operand is read in a form of the other scheme, which is none to this one.
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    CHECK(context.view().type(node.operand(0)).is_quantized());
    CHECK(context.read<Axis>(node, 0) == nullptr);
    return {};
  }
};

struct MatMul {
  static constexpr std::string_view kind = "matmul_like";
};

QUADRANT_CONSUMER(MatMulMethod, Scheme, MatMul, requires_parents(AnyState, AnyQuantizable)) {
  void request(NodeRef /*node*/, Asks& asks) const override { asks.benefit(1, {0}); }
};

inline QUADRANT_METHODS(Scheme) {
  add<WeightMethod>();
  add<SwapMethod>();
  add<ConvMethod>();
  add<ScoreMethod>();
  add<MatMulMethod>();
}

Registry registry(std::int64_t saved) { return *RegistryBuilder::of(Scheme(saved)).freeze(); }

}  // namespace weight_scheme

namespace {

Registry both(std::int64_t saved, bool reversed = false) {
  std::array registries{weight_scheme::registry(saved), activations::registry()};
  if (reversed) std::ranges::reverse(registries);
  return *Registry::join(registries);
}

QuantizeResult run(const Graph& graph, const Registry& registry,
                   const ChosenWorth::Amounts& amounts = {}, const Plan* plan = nullptr) {
  const ChosenWorth worth(amounts);
  QuantizeOptions options;
  options.gains = &worth;
  options.plan = plan;
  return quantize_checked(graph, registry, options);
}

// x -> c -> y, and z = m(x, c.w).
Graph convolution_and_product() {
  Graph graph;
  const Value x = input(graph, "x");
  graph.add_output("y", conv(graph, "c", x));
  const Value weight = graph.find_value("c.w");
  graph.add_output("z", add(graph, weight_scheme::MatMul::kind, "m", {x, weight}));
  return graph;
}

std::string scheme_of(const Plan& plan, std::string_view value) {
  const auto found = std::ranges::find(plan.values, value, &PlannedValue::value);
  return found == plan.values.end() ? "none" : found->scheme;
}

}  // namespace

TEST_CASE("each value takes one scheme, or none") {
  const Graph graph = convolution_and_product();
  SUBCASE("computing on codes is worth more than storing them") {
    const Plan plan = run(graph, both(-30)).analysis.plan;
    CHECK(scheme_of(plan, "c") == "activations");
    CHECK(scheme_of(plan, "c.w") == "activations");
    CHECK(scheme_of(plan, "m") == "none");
    CHECK(scheme_of(plan, "x") == "none");
    // The product reads the weight in floats.
    CHECK(plan.conversions ==
          std::vector<PlannedConversion>{{"c", "activations u8 per tensor", "float", {"y"}},
                                         {"c.w", "activations s8 axis 0", "float", {"m"}},
                                         {"x", "float", "activations u8 per tensor", {"c"}}});
    // Three operands; c and its weight leave, x enters.
    CHECK(plan.objective == Gain{3 * 10 - 2 - 2 - 3});
  }
  SUBCASE("storing is all that pays, and both consumers gain from it") {
    const Plan plan = run(graph, both(500), {.operand = 1, .enter = 100}).analysis.plan;
    CHECK(scheme_of(plan, "c") == "none");
    CHECK(scheme_of(plan, "c.w") == "weights");
    CHECK(scheme_of(plan, "c.b") == "none");  // nobody asks for a bias along an axis
    CHECK(plan.conversions ==
          std::vector<PlannedConversion>{{"c.w", "weights axis 0", "float", {"c", "m"}}});
    CHECK(plan.objective == Gain{500 + 1 + 1 - 2});
  }
}

TEST_CASE("from one scheme to the other the way is by floats, and is paid") {
  // The weight is stored by one scheme and computed on by the other.
  const Graph graph = convolution_and_product();
  const QuantizeResult result = run(graph, both(500));
  const Plan& plan = result.analysis.plan;
  CHECK(scheme_of(plan, "c") == "activations");
  CHECK(scheme_of(plan, "c.w") == "weights");
  CHECK(plan.conversions ==
        std::vector<PlannedConversion>{{"c", "activations u8 per tensor", "float", {"y"}},
                                       {"c.w", "float", "activations s8 axis 0", {"c"}},
                                       {"c.w", "weights axis 0", "float", {"m"}},
                                       {"x", "float", "activations u8 per tensor", {"c"}}});
  // Stored once, asked for by one float consumer, three operands; c and the weight leave, x and the
  // weight enter.
  CHECK(plan.objective == Gain{500 + 10 + 3 * 10 - 2 - 2 - 3 - 3});
  // What enters takes the parameters of the scheme whose codes it becomes.
  const Value data = result.graph.operands(result.graph.find_value("c_quantized").node)[1];
  CHECK(result.graph.kind(data.node) == "quantize");
  CHECK(result.graph.kind(result.graph.operands(data.node)[0].node) == "dequantize");
  CHECK(activations::read_scales(*result.graph.type(data).uniform()) ==
        std::vector{1.0F / 127, 1.0F / 254});
}

TEST_CASE("a node may take codes of one scheme and gain from what another one stored") {
  Graph graph;
  const Value w = graph.add_constant("w", build::zeros(ElementType::float32, {2, 2}));
  graph.add_output("y", add(graph, "score", "s", {input(graph, "x"), w}));
  const ChosenWorth worth;
  QuantizeOptions options;
  options.gains = &worth;
  const auto first_of_score = [](NodeRef node, std::uint32_t operand) {
    return node.kind() == "score" && operand == 0;
  };
  const QuantizeResult result = quantize_checked(graph, both(500), options, first_of_score);
  CHECK(result.analysis.plan.conversions ==
        std::vector<PlannedConversion>{{"w", "weights axis 0", "float", {"s"}},
                                       {"x", "float", "activations u8 per tensor", {"s"}}});
  CHECK(result.analysis.plan.objective == Gain{500 + 10 + 10 - 2 - 3});
}

TEST_CASE("what one scheme says of parameters does not bind the other") {
  // Under `activations` a relu shares its operand's parameters; under `weights` it swaps axes, and
  // has another form on either side.
  Graph graph;
  const Value w =
      graph.add_constant("w", build::zeros(ElementType::float32, activations::map_shape));
  const Value swapped = add(graph, "relu", "r", {w});
  graph.add_output("z", add(graph, weight_scheme::MatMul::kind, "m", {input(graph, "x"), swapped}));
  const Plan plan = run(graph, both(500)).analysis.plan;
  CHECK(scheme_of(plan, "r") == "weights");
  CHECK(scheme_of(plan, "w") == "weights");
  CHECK(plan.values[0].constraint == "axis 0");
  CHECK(plan.values[1].constraint == "axis 1");
  CHECK(plan.shared.empty());
}

TEST_CASE("the order in which schemes are joined does not matter") {
  for (const std::int64_t saved : {-30, 500}) {
    const Graph graph = convolution_and_product();
    const QuantizeResult one = run(graph, both(saved));
    const QuantizeResult other = run(graph, both(saved, true));
    CHECK(one.analysis.plan == other.analysis.plan);
    CHECK(print_graph(one.graph) == print_graph(other.graph));
    CHECK(one.analysis.registry.names() == "activations+weights");
  }
}

TEST_CASE("one scheme twice, under two names, with other options each") {
  const Registry run_by = *Registry::join(std::array{weight_scheme::registry(500).renamed("more"),
                                                     activations::registry(),
                                                     weight_scheme::registry(600).renamed("most")});
  CHECK(run_by.names() == "activations+more+most");
  CHECK(run_by.scheme(1).name() == "weights");
  const Graph graph = convolution_and_product();
  // What saves more wins, and a plan that says so is followed.
  const ChosenWorth::Amounts amounts{.operand = 1, .enter = 100};
  const Plan plan = run(graph, run_by, amounts).analysis.plan;
  CHECK(plan.schemes[1] == PlannedScheme{"more", "saved=500"});
  CHECK(scheme_of(plan, "c.w") == "most");
  CHECK(plan.objective == Gain{600 + 1 + 1 - 2});
  CHECK(run(graph, run_by, amounts, &plan).analysis.plan == plan);
}

TEST_CASE("two schemes of one name are refused") {
  const std::array twice{weight_scheme::registry(1), activations::registry(),
                         weight_scheme::registry(2)};
  const auto joined = Registry::join(twice);
  REQUIRE_FALSE(joined.has_value());
  CHECK(joined.error().code == ErrorCode::usage);
  CHECK(joined.error().message.find("'weights'") != std::string::npos);
  CHECK_FALSE(Registry::join({}).has_value());
}

TEST_CASE("a plan of two schemes is followed by the same two alone") {
  const Graph graph = convolution_and_product();
  const QuantizeResult made = run(graph, both(500));
  const Plan& plan = made.analysis.plan;
  CHECK(plan.schemes ==
        std::vector<PlannedScheme>{{"activations", "ranges=0"}, {"weights", "saved=500"}});
  const QuantizeResult followed = run(graph, both(500, true), {}, &plan);
  CHECK(followed.analysis.plan == plan);
  CHECK(print_graph(followed.graph) == print_graph(made.graph));

  QuantizeOptions options;
  options.plan = &plan;
  for (const Registry& wrong : {weight_scheme::registry(500), activations::registry(), both(5)}) {
    const auto refused = analyze(graph, wrong, options);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::impossible);
  }
}

TEST_CASE("a scheme that has nothing to give costs nothing") {
  for (const std::int64_t saved : {0, 1}) {
    const Graph graph = convolution_and_product();
    const Gain alone = run(graph, activations::registry()).analysis.plan.objective;
    CHECK(run(graph, both(saved)).analysis.plan.objective >= alone);
  }
}

TEST_CASE("a veto of one scheme leaves the value to the others, and explain names both") {
  const Registry run_by = *Registry::join(std::array{weight_scheme::registry(500).renamed("more"),
                                                     weight_scheme::registry(600).renamed("most")});
  const Graph graph = convolution_and_product();
  const NodeId weight = graph.find_value("c.w").node;
  QuantizeOptions options;
  const auto explained = [&] {
    const auto analysis = analyze(graph, run_by, options);
    REQUIRE(analysis.has_value());
    return std::pair(scheme_of(analysis->plan, "c.w"), explain(graph, run_by, *analysis, weight));
  };
  CHECK(explained().first == "most");
  CHECK(explained().second.vetoes.empty());

  options.scheme_vetoes["most"].emplace(weight, "too much");
  const auto [left_to, one] = explained();
  CHECK(left_to == "more");
  CHECK(one.reason.starts_with("more axis 0, gain "));
  REQUIRE(one.vetoes.size() == 1);
  CHECK(one.vetoes[0].schemes == std::vector<std::string>{"most"});
  CHECK(to_string(one).find("  not by most: too much\n") != std::string::npos);

  options.scheme_vetoes["more"].emplace(weight, "too little");
  CHECK(explained().first == "none");
  CHECK(explained().second.reason == "more: too little; most: too much");
  CHECK(explained().second.vetoes.empty());

  options.vetoes.emplace(weight, "not at all");
  CHECK(explained().second.reason == "not at all");
}

TEST_CASE("what schemes have in common is said once") {
  const Registry run_by = *Registry::join(std::array{weight_scheme::registry(500).renamed("more"),
                                                     weight_scheme::registry(600).renamed("most")});
  const Graph graph = convolution_and_product();
  const auto analysis = analyze(graph, run_by);
  REQUIRE(analysis.has_value());
  const auto reason_of = [&](std::string_view value) {
    return explain(graph, run_by, *analysis, graph.find_value(value).node).reason;
  };
  CHECK(reason_of("x") == "schemes 'more' and 'most' have no method for 'input'");
  // One operand, which either scheme could have had.
  CHECK(reason_of("m").starts_with("takes 1 of 1 operands"));
}

TEST_CASE("vetoes of a scheme that does not run are refused") {
  QuantizeOptions options;
  options.scheme_vetoes["wieghts"];
  const auto refused = analyze(convolution_and_product(), weight_scheme::registry(1), options);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::usage);
  CHECK(refused.error().message.find("'wieghts'") != std::string::npos);
}

namespace {

// Saves one byte more, by the name that it is told, in the scheme `told`.
class Told final : public GainModel {
 public:
  explicit Told(std::string_view told) : told_(told) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "told"; }
  [[nodiscard]] std::string_view unit() const noexcept override { return "points"; }
  [[nodiscard]] Gain of_operand(const OperandReading& reading) const override {
    CHECK_FALSE(reading.form.is_float());
    return {};
  }
  [[nodiscard]] Gain of_storage(const Storing& storing) const override {
    CHECK(storing.node.type().shape.rank() > 0);
    CHECK(static_cast<const weight_scheme::Axis*>(storing.form.constraint)->number == 0);
    CHECK(storing.form.storage == ElementType::int8);
    return Gain{storing.form.scheme == told_ ? 2 : 1};
  }

 private:
  std::string_view told_;
};

}  // namespace

TEST_CASE("a gain model is told which of the run's schemes would hold a value, and how") {
  const Registry run_by = *Registry::join(std::array{weight_scheme::registry(500).renamed("more"),
                                                     weight_scheme::registry(600).renamed("most")});
  const Graph graph = convolution_and_product();
  for (const std::string_view told : {"more", "most"}) {
    const Told gains(told);
    QuantizeOptions options;
    options.gains = &gains;
    const auto analysis = analyze(graph, run_by, options);
    REQUIRE(analysis.has_value());
    CHECK(scheme_of(analysis->plan, "c.w") == told);
    CHECK(analysis->plan.objective == Gain{2});
  }
}

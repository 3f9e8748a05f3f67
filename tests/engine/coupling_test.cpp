// What is said of values that couplings keep in float.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/random_graphs.hpp"
#include "engine/toy_scheme.hpp"
#include "ir/of_one_type.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"
#include "shortened.hpp"

using namespace quadrant;
using test::OfOneType;

namespace {

constexpr std::array policies{SelectionPolicy::greedy, SelectionPolicy::optimal};

// Three weights that are used in one colour each, and in no other.
struct Weights {
  Graph graph;
  Value a = add("a", 0, 2);
  Value b = add("b", 1, 2);
  Value v = toy::add(graph, "root", "v", {});

  Value add(const std::string& name, std::int64_t colour, int uses) {
    const Value made = toy::add(graph, "root", name, {});
    for (int i = 0; i < uses; ++i) use(made, colour);
    return made;
  }
  void use(Value value, std::int64_t colour) {
    toy::add(graph, "use", fmt::format("u{}", ++uses_), {value}, {{"colour", colour}});
  }
  [[nodiscard]] Analysis analyzed(const Couplings& couplings, SelectionPolicy policy) const {
    return analyzed(graph, policy, couplings).value();
  }
  [[nodiscard]] Expected<Analysis> analyzed(const GraphView& view, SelectionPolicy policy,
                                            const Couplings& couplings = {},
                                            const Plan* plan = nullptr) const {
    QuantizeOptions options;
    options.gains = &gains_;
    options.couplings = couplings;
    options.policy = policy;
    options.plan = plan;
    return analyze(view, registry, options);
  }

  Registry registry = toy::registry();

 private:
  UnitGain gains_;
  int uses_ = 0;
};

}  // namespace

TEST_CASE("a value of two couplings that take different forms names both, and who takes them") {
  Weights weights;
  weights.use(weights.v, 0);
  weights.use(weights.v, 1);
  const std::vector<Value> with_a{weights.a, weights.v};
  const std::vector<Value> with_b{weights.v, weights.b};
  for (const SelectionPolicy policy : policies) {
    const Analysis analysis = weights.analyzed({with_b, with_a}, policy);
    REQUIRE(analysis.selection.is_selected(weights.a));
    REQUIRE(analysis.selection.is_selected(weights.b));
    CHECK(analysis.selection[weights.v].cause == SelectionCause::contradicted);
    const Explanation why = explain(weights.graph, weights.registry, analysis, weights.v.node);
    CHECK(why.state == State::Unquantized);
    CHECK(why.reason ==
          "its couplings take forms that differ, and it can be made in one alone: colour 0 with "
          "'a', colour 1 with 'b'");
    REQUIRE(why.couplings.size() == 2);
    CHECK(why.couplings[0].with == "a");
    CHECK(why.couplings[0].constraint == "colour 0");
    CHECK(why.couplings[1].with == "b");
    CHECK(why.couplings[1].constraint == "colour 1");
    CHECK(to_string(why).find(why.reason) != std::string::npos);
    // Either coupling alone would let it.
    for (const auto& coupling : {with_a, with_b}) {
      const Analysis without = weights.analyzed({coupling}, policy);
      CHECK(without.selection.is_selected(weights.v));
      CHECK(without.selection.coupling_demands().empty());
    }
  }
}

TEST_CASE("a value that cannot take the form of its one coupling names it") {
  Weights weights;
  weights.use(weights.v, 1);
  for (const SelectionPolicy policy : policies) {
    const Analysis analysis = weights.analyzed({{weights.a, weights.v}}, policy);
    CHECK(analysis.selection[weights.v].cause == SelectionCause::coupled);
    const Explanation why = explain(weights.graph, weights.registry, analysis, weights.v.node);
    CHECK(why.reason ==
          "the values that it is coupled with were quantized otherwise: colour 0 with 'a'");
    REQUIRE(why.couplings.size() == 1);
    CHECK(why.couplings[0].with == "a");
  }
}

TEST_CASE("values of one type are all quantized, or none; who keeps the others in float is named") {
  for (const SelectionPolicy policy : policies) {
    Weights weights;
    weights.use(weights.v, 0);
    const OfOneType both(weights.graph, {{weights.a, weights.v}});
    const Analysis whole = weights.analyzed(both, policy).value();
    CHECK(whole.selection.is_selected(weights.a));
    CHECK(whole.selection.is_selected(weights.v));

    // In one colour alone, which is the other's.
    const OfOneType torn(weights.graph, {{weights.a, weights.v, weights.b}});
    const Analysis nothing = weights.analyzed(torn, policy).value();
    CHECK(nothing.plan.values.empty());

    // A plan of which a part is lost is refused.
    Plan part = whole.plan;
    std::erase_if(part.values, [](const PlannedValue& value) { return value.value == "v"; });
    const auto refused = weights.analyzed(both, policy, {}, &part);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::impossible);
    CHECK(refused.error().place.tensor == "v");
  }
}

TEST_CASE("a value that nobody reads follows those of its type") {
  for (const SelectionPolicy policy : policies) {
    Weights weights;  // nobody uses v
    const Value next = toy::add(weights.graph, "pass", "next", {weights.v});
    const OfOneType view(weights.graph, {{weights.a, next}});
    const Analysis analysis = weights.analyzed(view, policy).value();
    CHECK(analysis.selection.is_selected(weights.a));
    CHECK(analysis.selection.is_selected(next));
    CHECK(analysis.selection.is_selected(weights.v));  // which it is made of
    // Alone, without a type to share, it would not be.
    CHECK_FALSE(weights.analyzed(Couplings{}, policy).selection.is_selected(next));
    const Analysis followed = weights.analyzed(view, policy, {}, &analysis.plan).value();
    CHECK(followed.plan == analysis.plan);
  }
}

TEST_CASE("a value that cannot be quantized keeps those of its type in float") {
  for (const SelectionPolicy policy : policies) {
    Weights weights;
    const Value real = toy::add(weights.graph, "unknown", "real", {});
    const OfOneType view(weights.graph, {{real, weights.a}});
    const Analysis analysis = weights.analyzed(view, policy).value();
    CHECK(analysis.selection[weights.a].cause == SelectionCause::coupled);
    CHECK(analysis.selection.is_selected(weights.b));
    const Explanation why = explain(view, weights.registry, analysis, weights.a.node);
    CHECK(why.reason == "it has one type with 'real', which stays float");
    REQUIRE(why.couplings.size() == 1);
    CHECK(why.couplings[0].with == "real");
    CHECK(why.couplings[0].constraint == "float");
  }
}

TEST_CASE("of a group, what stays float for itself is named, not what is made of it") {
  for (const SelectionPolicy policy : policies) {
    Weights weights;  // a loop: its start a, its state, what it yields, and its result
    const Value state = toy::add(weights.graph, "pass", "state", {weights.a});
    const Value yielded = toy::add(weights.graph, "unknown", "yielded", {state});
    const Value result = toy::add(weights.graph, "pass", "after", {yielded});
    for (const Value value : {state, yielded, result}) weights.use(value, 0);
    const OfOneType view(weights.graph, {{weights.a, state, yielded, result}});
    const Analysis analysis = weights.analyzed(view, policy).value();
    CHECK(analysis.plan.values.size() == 1);  // b
    for (const Value value : {weights.a, state}) {
      CHECK(explain(view, weights.registry, analysis, value.node).reason ==
            "it has one type with 'yielded', which stays float");
    }
  }
}

TEST_CASE("a long chain of groups that tear one another takes none with it that is whole") {
  for (const SelectionPolicy policy : policies) {
    Weights weights;
    weights.use(weights.v, 0);
    // Each group has what is made of the weight of the one before, and a weight of its own.
    Couplings groups{{weights.a, weights.v}};
    Value before = toy::add(weights.graph, "root", "first", {});
    groups.push_back({toy::add(weights.graph, "unknown", "real", {}), before});
    for (int i = 0; i < 20; ++i) {
      const Value made = toy::add(weights.graph, "pass", fmt::format("made{}", i), {before});
      before = weights.add(fmt::format("own{}", i), 0, 1);
      weights.use(made, 0);
      groups.push_back({made, before});
    }
    const OfOneType view(weights.graph, groups);
    const Analysis analysis = weights.analyzed(view, policy).value();
    CHECK(analysis.selection.is_selected(weights.a));
    CHECK(analysis.selection.is_selected(weights.v));
    CHECK(analysis.plan.values.size() == 3);  // and b
  }
}

TEST_CASE("groups that share a value are one, and a value may be named twice") {
  for (const SelectionPolicy policy : policies) {
    Weights weights;
    weights.use(weights.v, 0);
    const Value last = weights.add("last", 0, 1);
    const OfOneType view(weights.graph, {{weights.a, weights.v, weights.a}, {last, weights.v}});
    const Analysis whole = weights.analyzed(view, policy).value();
    for (const Value value : {weights.a, weights.v, last}) {
      CHECK(whole.selection.is_selected(value));
    }
    // b, which is not possible in their colour, keeps all of them in float, though it shares a
    // group with one of them alone.
    const OfOneType torn(weights.graph,
                         {{weights.a, weights.v}, {last, weights.v}, {last, weights.b}});
    CHECK(weights.analyzed(torn, policy).value().plan.values.empty());
    // Nothing to obey: one value, none, one that is absent.
    const OfOneType nothing(weights.graph, {{weights.b}, {}, {Value{}, weights.b}});
    CHECK(weights.analyzed(nothing, policy).value().selection.is_selected(weights.b));
  }
}

TEST_CASE("values of one type take a form that all of them can be made in") {
  for (const SelectionPolicy policy : policies) {
    Weights weights;  // a gains most in colour 0, v can be made in 1 alone
    weights.use(weights.a, 1);
    weights.use(weights.v, 1);
    const OfOneType view(weights.graph, {{weights.a, weights.v}});
    const Analysis analysis = weights.analyzed(view, policy).value();
    CHECK(analysis.selection.is_selected(weights.a));
    CHECK(analysis.selection.produced(weights.a) == analysis.selection.produced(weights.v));
  }
}

TEST_CASE("what hangs on a value of one type goes with it") {
  for (const SelectionPolicy policy : policies) {
    Weights weights;
    // m is made from a, in its colour, and read so; a has one type with what cannot be quantized.
    const Value m = toy::add(weights.graph, "pass", "m", {weights.a});
    weights.use(m, 0);
    const Value real = toy::add(weights.graph, "unknown", "real", {});
    const OfOneType view(weights.graph, {{real, weights.a}});
    const Analysis analysis = weights.analyzed(view, policy).value();
    CHECK_FALSE(analysis.selection.is_selected(weights.a));
    for (const NodeId node : analysis.order) {
      for (std::uint32_t i = 0; i < weights.graph.operands(node).size(); ++i) {
        const Value operand = weights.graph.operands(node)[i];
        const ConstraintId form = analysis.selection.read(node, i);
        const bool is_converted = std::ranges::any_of(
            analysis.selection.conversions(),
            [&](const Conversion& made) { return made.value == operand && made.to == form; });
        CHECK((form == analysis.selection.produced(operand) || is_converted));
      }
    }
  }
}

TEST_CASE("couplings that agree, and those of which nothing else is quantized, are not blamed") {
  Weights weights;
  weights.use(weights.v, 1);
  const Value idle = toy::add(weights.graph, "root", "idle", {});
  for (const SelectionPolicy policy : policies) {
    for (const Couplings& couplings : {Couplings{{weights.v, weights.b}, {weights.b, weights.v}},
                                       Couplings{{weights.v, idle}}, Couplings{{weights.v}}}) {
      const Analysis analysis = weights.analyzed(couplings, policy);
      CHECK(analysis.selection.is_selected(weights.v));
      for (const Explanation& why : explain_all(weights.graph, weights.registry, analysis)) {
        CHECK_MESSAGE(why.couplings.empty(), why.value);
      }
    }
  }
}

namespace {

// Three couplings of three values each, drawn from all that there are.
dice::Blueprint coupled_graph(std::mt19937& random, int schemes) {
  dice::Blueprint blueprint = dice::random_graph(random, {.schemes = schemes, .couplings = false});
  std::vector<dice::Source> values;
  for (std::size_t i = 0; i < blueprint.nodes.size(); ++i) {
    for (std::uint32_t k = 0; k < blueprint.nodes[i].results.size(); ++k) values.push_back({i, k});
  }
  for (int i = 0; i < 3; ++i) {
    std::vector<dice::Source>& members = blueprint.couplings.emplace_back();
    for (int k = 0; k < 3; ++k) members.push_back(values[random() % values.size()]);
  }
  return blueprint;
}

// What the couplings of a node's results are made in, its own values aside, by looking at all.
std::set<ConstraintId> forms_around(const dice::Built& built, const Selection& selection,
                                    NodeId node) {
  std::set<ConstraintId> forms;
  for (const std::vector<Value>& members : built.couplings) {
    if (std::ranges::find(members, node, &Value::node) == members.end()) continue;
    for (const Value member : members) {
      if (member.node != node) forms.insert(selection.produced(member));
    }
  }
  forms.erase(float_form);
  return forms;
}

bool are_coupled(const dice::Built& built, const CouplingDemand& demand) {
  return std::ranges::any_of(built.couplings, [&](const std::vector<Value>& members) {
    return std::ranges::find(members, demand.value.node, &Value::node) != members.end() &&
           std::ranges::find(members, demand.member) != members.end();
  });
}

// Of the values that couplings keep in float, by name.
std::string reasons(const dice::Built& built, const Registry& registry, const Analysis& analysis) {
  std::set<std::string> lines;
  for (const Explanation& why : explain_all(built.graph, registry, analysis)) {
    if (!why.couplings.empty()) lines.insert(fmt::format("{}: {}", why.value, why.reason));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

struct Blame {
  int contradicted = 0;
  int coupled = 0;

  // Of one decision, by what its couplings came to.
  void check(const dice::Built& built, const Analysis& analysis) {
    const Selection& selection = analysis.selection;
    const bool is_optimal = analysis.plan.policy == SelectionPolicy::optimal;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<ConstraintId>> demanded;
    for (const CouplingDemand& demand : selection.coupling_demands()) {
      CHECK_FALSE(selection.is_selected(demand.value));
      CHECK(demand.member.node != demand.value.node);
      CHECK(are_coupled(built, demand));
      const ConstraintId made = selection.produced(demand.member);
      // Greedy's couplings may take a form that in the end nobody is made in.
      CHECK((made == demand.form || (!is_optimal && made == float_form)));
      demanded[{demand.value.node.index, demand.value.result}].insert(demand.form);
    }
    for (const NodeId node : analysis.order) {
      for (std::uint32_t i = 0; i < built.graph.result_count(node); ++i) {
        const std::set<ConstraintId>& forms = demanded[{node.index, i}];
        const std::set<ConstraintId> around = forms_around(built, selection, node);
        const SelectionCause cause = selection[{node, i}].cause;
        CHECK((cause == SelectionCause::contradicted) == (forms.size() > 1));
        if (forms.size() == 1) CHECK(cause == SelectionCause::coupled);
        if (is_optimal) CHECK((forms.empty() || forms == around));
        // Where they contradict each other, nothing else is said of what was weighed.
        if (around.size() > 1) CHECK(cause != SelectionCause::outweighed);
        contradicted += forms.size() > 1 ? 1 : 0;
        coupled += forms.size() == 1 ? 1 : 0;
      }
    }
  }
};

}  // namespace

TEST_CASE("on random graphs couplings that are blamed are there, and did what they are said to") {
  const dice::Gains gains;
  for (const SelectionPolicy policy : policies) {
    Blame blame;
    std::mt19937 random(20261122);
    for (int round = 0; round < (test::is_whole() ? 2000 : 100); ++round) {
      const int schemes = 1 + round % 2;
      const Registry registry = dice::registry(schemes);
      const dice::Blueprint blueprint = coupled_graph(random, schemes);
      std::string first;
      for (int build = 0; build < 2; ++build) {
        const dice::Built built = blueprint.build(random);
        QuantizeOptions options;
        options.gains = &gains;
        options.policy = policy;
        options.couplings = built.couplings;
        const Analysis analysis = analyze(built.graph, registry, options).value();
        blame.check(built, analysis);
        if (build == 0) first = reasons(built, registry, analysis);
        CHECK(first == reasons(built, registry, analysis));
      }
    }
    CHECK(blame.contradicted > test::shortened(20));
    CHECK(blame.coupled > test::shortened(20));
  }
}

namespace {

struct Colourless {
  [[nodiscard]] std::size_t hash() const { return 8; }
  [[nodiscard]] std::string print() const { return "b"; }
  static std::optional<Colourless> parse(std::string_view) { return Colourless{}; }
  friend auto operator<=>(const Colourless&, const Colourless&) = default;
};

class Casting final : public Scheme {
 public:
  QUADRANT_SCHEME(Casting, Colourless, "casting")
  [[nodiscard]] std::string describe() const override { return ""; }
};

// Codes of a weight's elements, whatever becomes of the weight itself.
QUADRANT_QUANTIZER(CodesOfCast, Casting, ops::Cast) {
  void callback(const Colourless&, NodeRef, Asks& asks) const override { asks.accept(); }
  [[nodiscard]] std::optional<StorageChange> storage(const Colourless&, NodeRef) const override {
    return StorageChange{16, 4};
  }
};
QUADRANT_CONSUMER(ReadsCast, Casting, ops::MatMul, requires_parents(AnyState, AnyQuantizable)) {
  void request(NodeRef, Asks& asks) const override { asks.benefit(1, Colourless{}); }
};

}  // namespace
QUADRANT_DEQUANTIZER(Casting)(Value codes, RewriteContext& context) const {
  return context.dequantize(codes);
}
QUADRANT_METHODS(Casting) {
  add<CodesOfCast>();
  add<ReadsCast>();
}

TEST_CASE("what makes codes of a weight itself is vetoed where two such are coupled") {
  const auto graph = parse_graph(R"(graph {}
%x: tensor<?x2xf32> = input()
%w1: tensor<2x2xf16> = constant() [1, 2, 3, 4]
%w2: tensor<2x2xf16> = constant() [1, 2, 3, 5]
%c1: tensor<2x2xf32> = cast(%w1) {to = "f32"}
%c2: tensor<2x2xf32> = cast(%w2) {to = "f32"}
%y: tensor<?x2xf32> = matmul(%x, %c1)
%z: tensor<?x2xf32> = matmul(%x, %c2)
output(%y)
output(%z)
)");
  REQUIRE(graph);
  const Registry registry = RegistryBuilder::of(Casting()).freeze().value();
  for (const SelectionPolicy policy : policies) {
    QuantizeOptions options;
    options.policy = policy;
    options.couplings = {{graph->find_value("c1"), graph->find_value("c2")}};
    const auto analysis = analyze(*graph, registry, options);
    REQUIRE(analysis);
    REQUIRE(analysis->plan.values.size() == 1);  // one keeps its scales
    CHECK(analysis->plan.values[0].value == "c1");
    CHECK(analysis->vetoes.at(graph->find_value("c2").node).find("'w1'") != std::string::npos);
  }
}

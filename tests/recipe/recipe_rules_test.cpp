#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "ir/build.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "recipe/text.hpp"

namespace quadrant {
namespace {

using test::mentions;

// Two layers, a lookup in the table that the head reads transposed, and a layer of half floats.
constexpr std::string_view graph_text = R"(
%x: tensor<2x8xf32> = input()
%i: tensor<2xi64> = input()
%w: tensor<8x8xf32> = constant() <...>
%v: tensor<8x8xf32> = constant() <...>
%table: tensor<16x8xf32> = constant() <...>
%h: tensor<8x8xf16> = constant() <...>
%a: tensor<2x8xf32> = matmul(%x, %w) {name = "first"}
%b: tensor<2x8xf32> = matmul(%a, %v) {name = "second"}
%e: tensor<2x8xf32> = gather(%table, %i) {axis = 0, name = "lookup"}
%t: tensor<8x16xf32> = transpose(%table) {name = "turned", perm = [1, 0]}
%c: tensor<2x16xf32> = matmul(%b, %t) {name = "head"}
%k: tensor<8x8xf32> = cast(%h) {name = "wider", to = 1}
%d: tensor<2x8xf32> = matmul(%e, %k) {name = "last"}
output(%c)
output(%d)
)";

Graph example_graph() {
  auto graph = parse_graph(graph_text);
  REQUIRE_MESSAGE(graph.has_value(), (graph ? "" : to_string(graph.error())));
  return *std::move(graph);
}

constexpr std::string_view two_schemes = R"("schemes": {
  "int4": {"scheme": "weight_only", "options": {"bits": 4}}, "int8": {"scheme": "weight_only"}})";

Recipe recipe_of(const std::string& rules, std::string_view schemes = two_schemes) {
  auto recipe =
      parse_recipe(R"({"format": "quadrant.recipe", "version": 1, )" + std::string(schemes) +
                   R"(, "gain": "unit", "rules": [)" + rules + "]}");
  REQUIRE_MESSAGE(recipe.has_value(), (recipe ? "" : recipe.error().message));
  return *std::move(recipe);
}

struct Decided {
  RuleDecisions rules;
  std::map<std::string, std::string> scheme_of;  // of constants; those in float are not there
  Registry registry;
  Analysis analysis;
};

Decided decide(const Graph& graph, const Recipe& recipe) {
  auto rules = apply_rules(graph, recipe, "r.json");
  REQUIRE_MESSAGE(rules.has_value(), (rules ? "" : rules.error().message));
  auto registry = make_registry(rules->schemes);
  REQUIRE(registry.has_value());
  const UnitGain gains;
  QuantizeOptions options;
  options.gains = &gains;
  options.scheme_vetoes = rules->vetoes;
  auto analysis = analyze(graph, *registry, options);
  REQUIRE(analysis.has_value());
  Decided decided{*std::move(rules), {}, *registry, *std::move(analysis)};
  for (const PlannedValue& planned : decided.analysis.plan.values) {
    if (graph.constant(graph.find_value(planned.value).node) == nullptr) continue;
    decided.scheme_of[planned.value] = planned.scheme;
  }
  return decided;
}

using Schemes = std::map<std::string, std::string>;

Schemes decide(const std::string& rules) {
  return decide(example_graph(), recipe_of(rules)).scheme_of;
}

std::string refused_rules(const std::string& rules) {
  const auto applied = apply_rules(example_graph(), recipe_of(rules), "r.json");
  CAPTURE(rules);
  REQUIRE_FALSE(applied.has_value());
  CHECK(applied.error().code == ErrorCode::usage);
  CHECK(applied.error().place.file == "r.json");
  return applied.error().message;
}

const std::string all4 = R"({"scheme": "int4"})";

TEST_CASE("the last rule that matches decides") {
  CHECK(decide(all4) == Schemes{{"w", "int4"}, {"v", "int4"}, {"table", "int4"}, {"h", "int4"}});
  CHECK(decide(all4 + R"(, {"match": {"name": "^v$"}, "scheme": "int8"})")["v"] == "int8");
  CHECK(decide(R"({"match": {"name": "^v$"}, "scheme": "int8"}, )" + all4)["v"] == "int4");
  CHECK(decide(all4 + R"(, {"scheme": "float"})").empty());
  const Schemes one =
      decide(R"({"scheme": "float"}, {"match": {"name": "^w$"}, "scheme": "int8"})");
  CHECK(one == Schemes{{"w", "int8"}});
}

TEST_CASE("a weight goes by its own name, or by that of an operation that reads it") {
  for (const char* const name : {"^second$", "^v$", "^b$"}) {
    CAPTURE(name);
    const Schemes found =
        decide(all4 + R"(, {"match": {"name": ")" + name + R"("}, "scheme": "int8"})");
    CHECK(found == Schemes{{"w", "int4"}, {"v", "int8"}, {"table", "int4"}, {"h", "int4"}});
  }
  // Through what only moves or casts a weight.
  CHECK(decide(all4 + R"(, {"match": {"name": "^head$"}, "scheme": "int8"})")["table"] == "int8");
  CHECK(decide(all4 + R"(, {"match": {"name": "^last$"}, "scheme": "int8"})")["h"] == "int8");
  CHECK(decide(all4 + R"(, {"match": {"name": "^turned$"}, "scheme": "float"})").count("table") ==
        0);
}

TEST_CASE("kinds are those of readers, and must go with the name") {
  const Schemes gathered = decide(all4 + R"(, {"match": {"kind": "gather"}, "scheme": "int8"})");
  CHECK(gathered == Schemes{{"w", "int4"}, {"v", "int4"}, {"table", "int8"}, {"h", "int4"}});
  // The gather that reads the table is not called head, though the product that does is.
  CHECK(mentions(
      refused_rules(R"({"match": {"kind": "gather", "name": "^head$"}, "scheme": "int8"})"),
      R"(rule 1: {"name":"^head$","kind":"gather"} matches nothing)"));
  CHECK(decide(all4 + R"(, {"match": {"kind": ["gather"], "name": "table"}, "scheme": "int8"})")
            .at("table") == "int8");
}

TEST_CASE("types and sizes are the weight's own") {
  const Schemes half = decide(all4 + R"(, {"match": {"type": "f16"}, "scheme": "int8"})");
  CHECK(half == Schemes{{"w", "int4"}, {"v", "int4"}, {"table", "int4"}, {"h", "int8"}});
  const auto size = [](const std::string& members) {
    return decide(all4 + R"(, {"match": {"size": {)" + members + R"(}}, "scheme": "float"})");
  };
  CHECK(size(R"("min_elements": 128)").count("table") == 0);
  CHECK(size(R"("min_elements": 128)").size() == 3);
  CHECK(size(R"("max_elements": 64)") == Schemes{{"table", "int4"}});
  CHECK(size(R"("max_bytes": 128)") == Schemes{{"w", "int4"}, {"v", "int4"}, {"table", "int4"}});
  CHECK(size(R"("min_bytes": 256, "max_bytes": 256)") == Schemes{{"table", "int4"}, {"h", "int4"}});
}

TEST_CASE("a subgraph is what lies between values") {
  const auto inside = [](const std::string& subgraph) {
    const Schemes found = decide(R"({"scheme": "float"}, {"match": {"subgraph": )" + subgraph +
                                 R"(}, "scheme": "int8"})");
    std::string names;
    for (const auto& [name, scheme] : found) names += name + ' ';
    return names;
  };
  CHECK(inside(R"({"from": "a", "to": "b"})") == "v ");
  CHECK(inside(R"({"from": "x", "to": "b"})") == "v w ");
  CHECK(inside(R"({"from": "a"})") == "table v ");
  CHECK(inside(R"({"to": "a"})") == "w ");
  CHECK(inside(R"({"to": ["a", "d"]})") == "h table w ");
  CHECK(inside(R"({"from": ["i", "b"], "to": ["c", "d"]})") == "h table ");
  CHECK(mentions(
      refused_rules(R"({"match": {"subgraph": {"from": "b", "to": "a"}}, "scheme": "int8"})"),
      "matches nothing"));
  CHECK(mentions(refused_rules(R"({"match": {"subgraph": {"from": "second"}}, "scheme": "int8"})"),
                 "rule 1: match.subgraph.from: the model has no value 'second'"));
}

TEST_CASE("what no rule matches may have any of the schemes, but none that a rule alone has") {
  const Recipe recipe =
      recipe_of(R"({"match": {"name": "^w$"}, "scheme": "int8", "options": {"clip": "mse"}})");
  const Decided decided = decide(example_graph(), recipe);
  REQUIRE(decided.rules.schemes.size() == 3);
  CHECK(decided.rules.schemes[2].name == "int8.1");
  CHECK(decided.scheme_of.at("w") == "int8.1");
  CHECK(decided.scheme_of.size() == 4);
  CHECK(decided.scheme_of.at("v") != "int8.1");

  const Recipe rules_alone =
      recipe_of(R"({"match": {"name": "^w$"}, "scheme": "weight-only", "options": {"bits": 4}})",
                R"("schemes": {})");
  CHECK(decide(example_graph(), rules_alone).scheme_of == Schemes{{"w", "weight_only.1"}});
}

TEST_CASE("equal options make one scheme") {
  const Decided decided =
      decide(example_graph(),
             recipe_of(R"({"match": {"name": "^w$"}, "scheme": "int8", "options": {"bits": 4}},
                   {"match": {"name": "^v$"}, "scheme": "int8", "options": {"clip": "mse"}},
                   {"match": {"name": "^h$"}, "scheme": "int8", "options": {"clip": "mse"}})"));
  CHECK(decided.rules.schemes.size() == 3);
  CHECK(decided.scheme_of.at("w") == "int4");
  CHECK(decided.scheme_of.at("h") == "int8.2");
}

TEST_CASE("reasons name the rule and the file") {
  const Graph graph = example_graph();
  const Decided decided =
      decide(graph, recipe_of(all4 + R"(, {"match": {"name": "^w$"}, "scheme": "float"},
                                   {"match": {"name": "^v$"}, "scheme": ["int8"]})"));
  const auto explained = [&](std::string_view value) {
    return explain(graph, decided.registry, decided.analysis, graph.find_value(value).node);
  };
  CHECK(explained("w").reason == "rule 2 of r.json leaves it in float");
  REQUIRE(explained("v").vetoes.size() == 1);
  CHECK(explained("v").vetoes[0].reason == "rule 3 of r.json gives it to int8");
  CHECK(explained("v").vetoes[0].schemes == std::vector<std::string>{"int4"});
}

TEST_CASE("effects count what rules match and decide") {
  const Decided decided = decide(
      example_graph(), recipe_of(all4 + R"(, {"match": {"name": "^(v|w)$"}, "scheme": "int8"},
                                       {"match": {"name": "^v$"}, "scheme": "float"},
                                       {"match": {"name": "nothing"}, "scheme": "float",
                                        "may_match_nothing": true})"));
  const std::vector<RuleEffect>& effects = decided.rules.effects;
  REQUIRE(effects.size() == 4);
  CHECK(effects[0].matched == 11);  // four constants, seven operations
  CHECK(effects[0].decided == 9);
  CHECK(effects[0].weights.size() == 2);
  CHECK(effects[1].matched == 2);
  CHECK(effects[1].decided == 1);
  CHECK(effects[2].decided == 1);
  CHECK(effects[3].matched == 0);
}

TEST_CASE("rules that match nothing are refused with near names") {
  CHECK(mentions(refused_rules(all4 + R"(, {"match": {"name": "^secnod$"}, "scheme": "int8"})"),
                 R"(rule 2: {"name":"^secnod$"} matches nothing; did you mean 'second'?)"));
  CHECK(mentions(refused_rules(R"({"match": {"kind": "matmlu"}, "scheme": "int8"})"),
                 "rule 1: match.kind: neither the model nor a scheme has operations of kind "
                 "'matmlu'; did you mean 'matmul'"));
  // A kind of another model.
  CHECK(mentions(refused_rules(R"({"match": {"kind": "lstm"}, "scheme": "int8"})"),
                 "matches nothing"));
  CHECK(decide(R"({"match": {"kind": ["lstm", "matmul"]}, "scheme": "int8"})").size() == 4);
  CHECK(mentions(refused_rules(R"({"match": {"size": {"min_elements": 1000}}, "scheme": "int8"})"),
                 "matches nothing"));
}

// The rules once more, by recursion over all paths instead of marks, on random graphs of weights
// that are moved, and operations.
class Oracle {
 public:
  Oracle(const Graph& graph, const Recipe& recipe) : graph_(graph), recipe_(recipe) {}

  // The last rule that matches; empty where none does.
  [[nodiscard]] std::optional<std::size_t> rule_of(NodeId node) const {
    for (std::size_t i = recipe_.rules.size(); i-- > 0;) {
      if (matches(recipe_.rules[i].match, node)) return i;
    }
    return {};
  }

 private:
  [[nodiscard]] bool is_weight(NodeId node) const {
    if (graph_.kind(node) == "constant") return true;
    const auto operands = graph_.operands(node);
    return !operands.empty() &&
           std::ranges::all_of(operands, [&](Value v) { return is_weight(v.node); });
  }

  void collect_readers(NodeId node, std::set<NodeId>& readers) const {
    for (const Use& use : graph_.uses(node)) {
      if (graph_.kind(use.user) == "output") continue;
      readers.insert(use.user);
      if (is_weight(use.user)) collect_readers(use.user, readers);
    }
  }

  [[nodiscard]] bool has_name(const RuleMatch& match, NodeId node) const {
    if (!match.name) return true;
    const std::regex expression(*match.name);
    return std::regex_search(std::string(graph_.name(node)), expression) ||
           std::regex_search(std::string(graph_.value_name({node, 0})), expression);
  }
  [[nodiscard]] bool has_kind(const RuleMatch& match, NodeId node) const {
    return match.kinds.empty() ||
           std::ranges::find(match.kinds, graph_.kind(node)) != match.kinds.end();
  }

  [[nodiscard]] bool matches(const RuleMatch& match, NodeId node) const {
    if (!is_weight(node)) {
      return has_name(match, node) && has_kind(match, node) && !match.has_size();
    }
    if (match.min_elements && *graph_.type({node, 0}).shape.element_count() <
                                  static_cast<std::int64_t>(*match.min_elements)) {
      return false;
    }
    std::set<NodeId> readers{node};
    collect_readers(node, readers);
    return std::ranges::any_of(readers, [&](NodeId reader) {
      return has_kind(match, reader) && (has_name(match, node) || has_name(match, reader));
    });
  }

  const Graph& graph_;
  const Recipe& recipe_;
};

Value add(Graph& graph, const char* kind, const std::string& name, std::vector<Value> operands) {
  const TensorType type = graph.type(operands[0]);
  return {graph.add({.kind = kind,
                     .name = name,
                     .operands = std::move(operands),
                     .results = {{"of_" + name, type}}})};
}

TEST_CASE("rules on random graphs agree with a search over all readers") {
  std::mt19937 random(11);
  std::size_t vetoes = 0;
  for (int round = 0; round < 300; ++round) {
    Graph graph;
    std::vector<Value> values{graph.add_input("x", {ElementType::float32, Shape{4, 4}, nullptr})};
    for (int i = 0; i < 12; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      const Value some = values[random() % values.size()];
      const Value other = values[random() % values.size()];
      const auto rows = static_cast<std::int64_t>(1 + random() % 4);
      switch (random() % 4) {
        case 0:
          values.push_back(graph.add_constant(name, build::zeros(ElementType::float32, {rows, 4})));
          break;
        case 1:
          values.push_back(add(graph, "identity", "move_" + name, {some}));
          break;
        default:
          values.push_back(add(graph, "matmul", "use_" + name, {some, other}));
      }
    }
    graph.add_output("y", values.back());
    Recipe recipe = recipe_of("");
    for (int i = 0; i < 4; ++i) {
      RecipeRule rule;
      rule.may_match_nothing = true;
      if (random() % 2 == 0)
        rule.match.name = std::string("[a-") + static_cast<char>('b' + random() % 11) + "]$";
      if (random() % 3 == 0) rule.match.kinds = {random() % 2 == 0 ? "matmul" : "identity"};
      if (random() % 3 == 0) rule.match.min_elements = 4 * (random() % 4);
      if (random() % 3 != 0) rule.schemes = {random() % 2 == 0 ? "int4" : "int8"};
      recipe.rules.push_back(rule);
    }
    const auto rules = apply_rules(graph, recipe, "r");
    REQUIRE(rules.has_value());
    const Oracle oracle(graph, recipe);
    for (const Value value : values) {
      if (graph.constant(value.node) == nullptr) continue;
      const auto last = oracle.rule_of(value.node);
      for (const std::string scheme : {"int4", "int8"}) {
        const auto& names = recipe.rules[last.value_or(0)].schemes;
        const bool is_allowed = !last || std::ranges::find(names, scheme) != names.end();
        const auto vetoed = rules->vetoes.find(scheme);
        const bool is_vetoed = vetoed != rules->vetoes.end() && vetoed->second.contains(value.node);
        CHECK(is_allowed != is_vetoed);
        vetoes += is_vetoed ? 1 : 0;
      }
    }
  }
  CHECK(vetoes > 300);
}

}  // namespace
}  // namespace quadrant

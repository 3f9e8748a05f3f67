#include "quadrant/engine/explain/explain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "engine/toy_scheme.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

struct Explained {
  Registry registry = toy::registry();
  UnitGain gains;

  [[nodiscard]] std::vector<Explanation> all(const Graph& graph, Vetoes vetoes = {}) const {
    QuantizeOptions options;
    options.gains = &gains;
    options.vetoes = std::move(vetoes);
    const auto analysis = analyze(graph, registry, options);
    REQUIRE(analysis.has_value());
    return explain_all(graph, registry, *analysis);
  }
};

const Explanation& of(const std::vector<Explanation>& all, std::string_view value) {
  const auto found = std::ranges::find(all, value, &Explanation::value);
  REQUIRE(found != all.end());
  return *found;
}

bool mentions(const Explanation& explanation, std::string_view text) {
  return to_string(explanation).find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("every node has a reason") {
  Graph graph;
  const Value input = graph.add_input("x", {ElementType::float32, Shape{2, 3}, nullptr});
  const Value root = toy::add(graph, "root", "w", {});
  const Value poor = toy::add(graph, "root", "poor", {}, {{"colours", std::int64_t{0}}});
  toy::add(graph, "root", "alone", {});
  toy::add(graph, "foreign", "f", {toy::add(graph, "root", "odd", {})});
  const Value pass = toy::add(graph, "pass", "p", {input});
  toy::add(graph, "use", "u", {root, poor});
  toy::add(graph, "use", "v", {root});
  graph.add_output("y", pass);
  const auto all = Explained().all(graph);
  CHECK(all.size() == 10);
  for (const Explanation& explanation : all) CHECK_FALSE(explanation.reason.empty());

  CHECK(of(all, "w").state == State::ToQuantize);
  CHECK(mentions(of(all, "w"), "asked for colour 0 by u (operand 0), v (operand 0): gain 2"));
  CHECK(mentions(of(all, "poor"), "no such colour"));
  CHECK(of(all, "alone").reason == "no operation reads it");
  CHECK(mentions(of(all, "odd"), "read by foreign (operand 0)"));
  CHECK(mentions(of(all, "p"),
                 "PassMethod needs operand 0 to be AnyQuantizable, which is Unquantized ('x')"));
  CHECK(mentions(of(all, "x"), "no method for 'input'"));
  CHECK(of(all, "u").benefits.size() == 2);
  CHECK(of(all, "u").benefits[0].realized);
  CHECK_FALSE(of(all, "u").benefits[1].realized);
  CHECK(mentions(of(all, "u"), "1 of 2"));
}

TEST_CASE("removing the named blocker changes the decision") {
  const auto build = [](const char* blocker) {
    Graph graph;
    const Value root = toy::add(graph, "root", "w", {});
    const Value middle = toy::add(graph, blocker, "m", {root});
    const Value pass = toy::add(graph, "pass", "p", {middle});
    toy::add(graph, "use", "u", {pass});
    return graph;
  };
  const Explained explained;
  const auto blocked = explained.all(build("foreign"));
  CHECK(of(blocked, "p").state == State::Unquantized);
  CHECK(mentions(of(blocked, "p"), "operand 0 to be AnyQuantizable, which is Unquantized ('m')"));
  CHECK(mentions(of(blocked, "m"), "no method for 'foreign'"));
  const auto freed = explained.all(build("pass"));
  CHECK(of(freed, "p").state == State::ToQuantize);
}

TEST_CASE("a veto is the reason that was given") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  toy::add(graph, "use", "u", {root});
  const auto all = Explained().all(graph, {{root.node, "excluded by the user"}});
  CHECK(of(all, "w").reason == "excluded by the user");
  CHECK(mentions(of(all, "u"), "excluded by the user") == false);  // u has no eligible operand left
  CHECK(mentions(of(all, "u"), "which is Unquantized ('w')"));
}

TEST_CASE("what nobody asks for names the reader that does not, and why") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  const Value used = toy::add(graph, "use", "u", {root});
  toy::add(graph, "use", "also", {root});
  toy::add(graph, "foreign", "f", {root});
  const auto all =
      Explained().all(graph, {{used.node, "excluded by the user"},
                              {graph.find_value("also").node, "excluded by the user"}});
  CHECK(of(all, "w").reason ==
        "no operation requests it in quantized form; it is read by foreign (operand 0), use "
        "(operand 0); "
        "'also' does not: excluded by the user");
}

TEST_CASE("what takes codes and makes numbers is not said to hold none") {
  // u is float: the operation behind it asks for it in vain.
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  const Value used = toy::add(graph, "use", "u", {root});
  toy::add(graph, "use", "v", {used, root}, {{"colour", std::int64_t{0}}});
  const auto all = Explained().all(graph);
  const Explanation& v = of(all, "v");
  REQUIRE(v.benefits.size() == 2);
  CHECK(v.benefits[0].operand == "u");
  CHECK(v.benefits[0].why_not == "the result of 'use' stays float here");
  CHECK(v.benefits[1].realized);
}

TEST_CASE("a value that is read in another form than it is made in says so") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  toy::add(graph, "use", "u", {root});
  graph.add_output("y", root);
  const auto all = Explained().all(graph);
  REQUIRE(of(all, "w").conversions.size() == 1);
  CHECK(of(all, "w").conversions[0].from == "colour 0");
  CHECK(of(all, "w").conversions[0].to == "float");
  CHECK(mentions(of(all, "w"),
                 "read as float by u (operand 0), y (operand 0): made of colour 0, gain 0"));
  CHECK(of(all, "u").conversions.empty());
}

TEST_CASE("who took what a value needed is in the way, not who was given back for lack of it") {
  // j needs w and v in the same colour; w is wanted elsewhere in another one, by more.
  Graph graph;
  const Value w = toy::add(graph, "root", "w", {});
  const Value v = toy::add(graph, "root", "v", {});
  const Value join = toy::add(graph, "join", "j", {w, v});
  toy::add(graph, "use", "u", {join});
  toy::add(graph, "use", "a", {w}, {{"colour", std::int64_t{3}}});
  toy::add(graph, "use", "b", {w}, {{"colour", std::int64_t{3}}});
  const auto all = Explained().all(graph);
  CHECK(of(all, "j").blockers == std::vector<std::string>{"w"});
  CHECK(mentions(of(all, "j"), "in the way: w"));
  CHECK(of(all, "v").blockers.empty());
}

TEST_CASE("an operand that would accept is not in the way of one that refuses") {
  Graph graph;
  const Value good = toy::add(graph, "root", "good", {});
  const Value poor = toy::add(graph, "root", "poor", {}, {{"colours", std::int64_t{0}}});
  const Value join = toy::add(graph, "join", "j", {good, poor});
  toy::add(graph, "use", "u", {join});
  CHECK(of(Explained().all(graph), "j").blockers == std::vector<std::string>{"poor"});
}

// --- counterfactuals -----------------------------------------------------------------------------

namespace {

// Toy operations over roots of few colours, inputs and operations that nobody knows. A veto or two
// beside them would be blockers as well, but cannot be replaced.
Graph random_graph(std::mt19937& random) {
  Graph graph;
  std::vector<Value> values;
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random()) % bound; };
  for (int i = 0; i < 3; ++i) {
    const auto colours = static_cast<std::int64_t>(below(4));
    values.push_back(toy::add(graph, "root", "w" + std::to_string(i), {}, {{"colours", colours}}));
  }
  values.push_back(graph.add_input("x", {ElementType::float32, Shape{2, 3}, nullptr}));
  const std::size_t count = 4 + below(10);
  for (std::size_t i = 0; i < count; ++i) {
    static const std::array kinds{"pass", "shift", "join", "either", "foreign", "use", "use"};
    const std::string kind = kinds[below(kinds.size())];
    std::vector<Value> operands{values[below(values.size())]};
    if (kind == "join" || kind == "either") operands.push_back(values[below(values.size())]);
    values.push_back(toy::add(graph, kind, "n" + std::to_string(i), std::move(operands),
                              {{"colour", static_cast<std::int64_t>(below(2))}}));
  }
  return graph;
}

// The graph with roots that can be anything, each read by `reader` alone, in the place of its
// operands `names`; they are called `free`.
Graph with_roots_instead(const Graph& graph, NodeId reader, const std::vector<std::string>& names) {
  Graph changed = graph;
  for (const std::string& name : names) {
    const Value root = toy::add(changed, "root", "free", {}, {{"colours", std::int64_t{1000}}});
    for (std::uint32_t i = 0; i < changed.operands(reader).size(); ++i) {
      const bool is_named = changed.value_name(changed.operands(reader)[i]) == name;
      if (is_named) changed.set_operand(reader, i, root);
    }
  }
  return changed;
}

bool names_a_free_root(const Explanation& explanation) {
  return std::ranges::any_of(explanation.blockers,
                             [](const std::string& name) { return name.starts_with("free"); });
}

}  // namespace

TEST_CASE("a named blocker that is replaced by a root which can be anything is none any more") {
  std::mt19937 random(20261121);
  const Explained explained;
  int one_replaced = 0;
  int all_replaced = 0;
  for (int round = 0; round < test::shortened(300); ++round) {
    const Graph graph = random_graph(random);
    for (const Explanation& before : explained.all(graph)) {
      if (before.blockers.empty()) continue;
      REQUIRE(before.state == State::Unquantized);
      const NodeId node = graph.find_value(before.value).node;
      for (const std::string& blocker : before.blockers) {
        const auto now = explained.all(with_roots_instead(graph, node, {blocker}));
        const Explanation& after = of(now, before.value);
        CHECK(std::ranges::find(after.blockers, blocker) == after.blockers.end());
        // Where two forms are asked for, a root takes one, and may be in the way of the other.
        if (after.requests.size() > 1) continue;
        CHECK_FALSE(names_a_free_root(after));
        ++one_replaced;
      }
      // One after the other: what passes the pattern may be refused for another operand.
      Graph freed = graph;
      Explanation after = before;
      for (std::size_t i = 0; i < graph.operands(node).size(); ++i) {
        freed = with_roots_instead(freed, node, after.blockers);
        after = of(explained.all(freed), before.value);
      }
      if (after.requests.size() > 1) continue;
      CAPTURE(to_string(before));
      CAPTURE(to_string(after));
      CHECK(after.blockers.empty());
      ++all_replaced;
    }
  }
  CHECK(one_replaced > test::shortened(300));
  CHECK(all_replaced > test::shortened(300));
}

TEST_CASE("without those who asked for what won, the runner-up wins") {
  std::mt19937 random(20261122);
  const Explained explained;
  int checked = 0;
  for (int round = 0; round < 200; ++round) {
    Graph graph;
    Value asked = toy::add(graph, "root", "w", {});
    const std::size_t readers = 2 + random() % 5;
    for (std::size_t i = 0; i < readers; ++i) {
      const bool is_direct = random() % 2 == 0;
      const std::string number = std::to_string(i);
      const Value read = is_direct ? asked : toy::add(graph, "pass", "p" + number, {asked});
      toy::add(graph, "use", "u" + number, {read},
               {{"colour", static_cast<std::int64_t>(random() % 3)}});
    }
    const auto before = explained.all(graph);
    const auto& requests = of(before, "w").requests;  // best first
    const auto winner = std::ranges::find(requests, true, &ExplainedRequest::selected);
    REQUIRE(winner == requests.begin());
    if (requests.size() < 2) continue;
    const ExplainedRequest& runner_up = requests[1];
    CHECK(mentions(of(before, "w"), "next best " + runner_up.constraint + " with " +
                                        std::to_string(runner_up.gain.amount())));
    Vetoes vetoes;
    for (const std::string& asker : winner->from) {
      const std::string name = asker.substr(0, asker.find(' '));
      vetoes.emplace(graph.find_value(name).node, "without it");
    }
    const auto after = explained.all(graph, vetoes);
    CHECK(of(after, "w")
              .reason.starts_with(runner_up.constraint + ", gain " +
                                  std::to_string(runner_up.gain.amount())));
    ++checked;
  }
  CHECK(checked > 100);
}

TEST_CASE("two decisions about one graph: the nodes that differ, with both reasons, and no other") {
  Graph graph;
  const Value a = toy::add(graph, "root", "a", {});
  const Value b = toy::add(graph, "root", "b", {});
  toy::add(graph, "use", "u", {a});
  toy::add(graph, "use", "v", {b});
  const Registry registry = toy::registry();
  const UnitGain gains;
  QuantizeOptions options;
  options.gains = &gains;
  const auto whole = analyze(graph, registry, options);
  options.vetoes[b.node] = "left alone by the test";
  const auto part = analyze(graph, registry, options);
  REQUIRE(whole.has_value());
  REQUIRE(part.has_value());

  CHECK(explain_differences(graph, *whole, *whole).empty());
  const auto differences = explain_differences(graph, *whole, *part);
  REQUIRE(differences.size() == 1);
  CHECK(differences[0].before.value == "b");
  CHECK(differences[0].before.state == State::ToQuantize);
  CHECK(differences[0].after.state == State::Unquantized);
  CHECK(differences[0].after.reason == "left alone by the test");
  const auto reversed = explain_differences(graph, *part, *whole);
  REQUIRE(reversed.size() == 1);
  CHECK(reversed[0].after.reason == differences[0].before.reason);
}

namespace {

// Methods whose reasons are made while they run, and longer than what a string holds in itself.
std::string made_reason(std::string_view of, NodeRef node) {
  return std::string(of) + " of '" + std::string(node.graph->value_name(node.result())) +
         "' says no, and says so at length";
}

struct TalkingOps {
  struct Shut {
    static constexpr std::string_view kind = "shut";
  };
  struct Mute {
    static constexpr std::string_view kind = "mute";
  };
  struct Withheld {
    static constexpr std::string_view kind = "withheld";
  };
  struct Elsewhere {
    static constexpr std::string_view kind = "elsewhere";
  };
  struct Silent {
    static constexpr std::string_view kind = "silent";
  };
  struct Want {
    static constexpr std::string_view kind = "want";
  };
};

class Talking final : public Scheme {
 public:
  QUADRANT_SCHEME(Talking, toy::Colour, "talking")
  [[nodiscard]] std::string describe() const override { return "talking"; }
};

QUADRANT_QUANTIZER(ShutMethod, Talking, TalkingOps::Shut) {
  [[nodiscard]] Verdict check_eligibility(NodeRef node, const EligibilityContext&) const override {
    return {State::Unquantized, made_reason("phase 1", node)};
  }
};
QUADRANT_QUANTIZER(MuteMethod, Talking, TalkingOps::Mute) {
  void callback(const Constraint&, NodeRef node, Asks& asks) const override {
    asks.refuse(made_reason("phase 2", node));
  }
};
QUADRANT_QUANTIZER(WithheldMethod, Talking, TalkingOps::Withheld) {
  void callback(const Constraint&, NodeRef, Asks& asks) const override { asks.accept(); }
  void forward(NodeRef node, Offers& offers) const override {
    offers.refuse(made_reason("phase 3", node));
  }
};
QUADRANT_QUANTIZER(ElsewhereMethod, Talking, TalkingOps::Elsewhere) {
  void callback(const Constraint&, NodeRef, Asks& asks) const override { asks.accept(); }
  void forward(NodeRef, Offers& offers) const override { offers.offer({7}); }
};
QUADRANT_QUANTIZER(SilentMethod, Talking, TalkingOps::Silent) {
  void callback(const Constraint&, NodeRef, Asks& asks) const override { asks.accept(); }
  void forward(NodeRef, Offers&) const override {}
};
QUADRANT_CONSUMER(WantMethod, Talking, TalkingOps::Want) {
  void request(NodeRef node, Asks& asks) const override {
    asks.benefit(0, {0});
    asks.refuse(made_reason("the request", node));
  }
};
QUADRANT_DEQUANTIZER(Talking)(Value quantized, RewriteContext&) const { return quantized; }
QUADRANT_METHODS(Talking) {
  add<ShutMethod>();
  add<MuteMethod>();
  add<WithheldMethod>();
  add<ElsewhereMethod>();
  add<SilentMethod>();
  add<WantMethod>();
}

}  // namespace

TEST_CASE("reasons are made at run time, and kept") {
  Graph graph;
  for (const char* const kind : {"shut", "mute", "withheld", "elsewhere", "silent"}) {
    const Value made = toy::add(graph, kind, kind, {});
    toy::add(graph, "want", std::string("reads_") + kind, {made});
  }
  const Registry registry = *RegistryBuilder::of(Talking()).freeze();
  const UnitGain gains;
  for (const SelectionPolicy policy : {SelectionPolicy::greedy, SelectionPolicy::optimal}) {
    QuantizeOptions options;
    options.gains = &gains;
    options.policy = policy;
    const auto analysis = analyze(graph, registry, options);
    REQUIRE(analysis.has_value());
    const auto all = explain_all(graph, registry, *analysis);
    CHECK(of(all, "shut").reason == "phase 1 of 'shut' says no, and says so at length");
    CHECK(mentions(of(all, "mute"), "phase 2 of 'mute' says no, and says so at length"));
    CHECK(mentions(of(all, "reads_mute"), "the request of 'reads_mute' says no"));
    if (policy == SelectionPolicy::optimal) continue;  // which does not ask `forward`
    CHECK(of(all, "withheld").reason == "phase 3 of 'withheld' says no, and says so at length");
    CHECK(of(all, "elsewhere").reason ==
          "method ElsewhereMethod offers colour 7 here, which no operation requests");
    CHECK(of(all, "silent").reason == "method SilentMethod offers nothing here");
  }
}

TEST_CASE("a value that is vetoed itself is floats for its readers, and so is what makes it") {
  Graph graph;
  const Value root = toy::add(graph, "root", "w", {});
  const Value pass = toy::add(graph, "pass", "p", {root});
  toy::add(graph, "use", "u", {pass});
  toy::add(graph, "use", "v", {root});
  const Registry registry = toy::registry();
  const UnitGain gains;
  QuantizeOptions options;
  options.gains = &gains;
  options.value_vetoes[pass] = "kept exact";
  const auto analysis = analyze(graph, registry, options);
  REQUIRE(analysis.has_value());
  const auto all = explain_all(graph, registry, *analysis);
  CHECK(of(all, "p").reason == "kept exact");
  CHECK(of(all, "w").state == State::ToQuantize);  // for v
  CHECK(mentions(of(all, "u"), "in the way: p"));
}

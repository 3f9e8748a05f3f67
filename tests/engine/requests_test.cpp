// What a node takes all of or nothing, and what a scheme computes once a run.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "engine/toy_scheme.hpp"
#include "quadrant/engine/explain/explain.hpp"

using namespace quadrant;

namespace {

struct PairOps {
  struct Both {
    static constexpr std::string_view kind = "both";
  };
};

struct Factors {
  std::size_t roots = 0;
};

// Both operands or none; what the scheme found of the whole graph is a part of the gain.
class Pairs final : public Scheme {
 public:
  QUADRANT_SCHEME(Pairs, toy::Colour, "pairs")
  explicit Pairs(std::shared_ptr<int> counter) : calls(std::move(counter)) {}
  [[nodiscard]] std::string describe() const override { return "pairs"; }
  [[nodiscard]] Expected<Factors> prepare(const GraphView& graph) const {
    ++*calls;
    Factors found;
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      if (graph.kind(graph.node_at(i)) == toy::Ops::Root::kind) ++found.roots;
    }
    if (found.roots == 0) return fail(ErrorCode::impossible, "there is nothing to do");
    return found;
  }
  std::shared_ptr<int> calls;
};

QUADRANT_QUANTIZER(PairRoot, Pairs, toy::Ops::Root) {
  [[nodiscard]] Verdict check_eligibility(NodeRef,
                                          const EligibilityContext& context) const override {
    CHECK(context.shared<Factors>() != nullptr);
    return {State::Quantizable, ""};
  }
  void callback(const Constraint& wanted, NodeRef node, Asks& asks) const override {
    if (wanted.number < node.attribute_or<std::int64_t>("colours", 4)) {
      asks.accept();
    } else {
      asks.refuse("no such colour");
    }
  }
  void forward(NodeRef, Offers& offers) const override {
    CHECK(offers.shared<Factors>() != nullptr);
    CHECK(offers.shared<int>() == nullptr);  // another type
    offers.offer_requests();
  }
  [[nodiscard]] Expected<void> examine(const Constraint&, NodeRef node,
                                       DataContext& context) const override {
    CHECK(context.shared<Factors>() != nullptr);
    if (node.attribute_or<std::int64_t>("bad", 0) != 0) context.refuse("bad contents");
    return {};
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    CHECK(context.shared<Factors>() != nullptr);
    return context.set_quantized(node.result(), toy::quantized_type());
  }
};
QUADRANT_CONSUMER(PairBoth, Pairs, PairOps::Both) {
  void request(NodeRef, Asks& asks) const override {
    const auto roots = static_cast<std::int64_t>(asks.shared<Factors>()->roots);
    asks.take_all({{0, {0}}, {1, {1}}}, Gain{100 * roots + 1});
  }
};
QUADRANT_DEQUANTIZER(Pairs)(Value quantized, RewriteContext& context) const {
  return context.emit(ops::Dequantize::kind, {quantized}, "dequantize",
                      context.view().type(quantized).expressed());
}
QUADRANT_METHODS(Pairs) {
  add<PairRoot>();
  add<PairBoth>();
}

struct Program {
  Graph graph;
  std::shared_ptr<int> calls = std::make_shared<int>(0);
  Registry registry = *RegistryBuilder::of(Pairs(calls)).freeze();

  // `colours`: what the second factor can have, of which 1 is asked for.
  explicit Program(std::int64_t colours, std::int64_t bad = 0) {
    const Value a = toy::add(graph, "root", "a", {});
    const Value b = toy::add(graph, "root", "b", {}, {{"colours", colours}, {"bad", bad}});
    toy::add(graph, "both", "product", {a, b});
  }
};

}  // namespace

TEST_CASE("both factors, or neither") {
  for (const SelectionPolicy policy : {SelectionPolicy::greedy, SelectionPolicy::optimal}) {
    QuantizeOptions options;
    options.policy = policy;
    const Program whole(4);
    const auto both = analyze(whole.graph, whole.registry, options);
    REQUIRE(both.has_value());
    CHECK(both->plan.values.size() == 2);
    CHECK(both->plan.objective == Gain{201});
    const Program half(1);  // the other factor could be had
    const auto neither = analyze(half.graph, half.registry, options);
    REQUIRE(neither.has_value());
    CHECK(neither->plan.values.empty());
    const auto product = half.graph.find_value("product").node;
    const Explanation why = explain(half.graph, half.registry, *neither, product);
    REQUIRE(why.benefits.size() == 2);
    CHECK(why.benefits[0].why_not == "it takes it together with operand 1 or not at all");
    CHECK(why.benefits[1].why_not.find("no such colour") != std::string::npos);
  }
}

TEST_CASE("what is taken together is read so") {
  const Program program(4);
  const auto done = quantize(program.graph, program.registry);
  REQUIRE(done.has_value());
  const NodeId product = done->graph.find_value("product").node;
  for (const Value operand : done->graph.operands(product)) {
    CHECK(done->graph.type(operand).is_quantized());
  }
}

TEST_CASE("a scheme prepares once a run, whatever the data pass refuses") {
  const Program program(4, 1);
  QuantizeOptions options;
  options.non_finite = NonFinitePolicy::leave_float;
  const auto done = quantize(program.graph, program.registry, options);
  REQUIRE(done.has_value());
  CHECK(done->analysis.plan.values.empty());  // one factor was refused by its contents
  CHECK(*program.calls == 1);
  CHECK(analyze(program.graph, program.registry).has_value());
  CHECK(*program.calls == 2);
}

TEST_CASE("what a scheme cannot prepare ends the run") {
  const Program program(4);
  const auto done = quantize(Graph(), program.registry);
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().message == "there is nothing to do");
}

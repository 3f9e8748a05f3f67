// What holds of every quantized graph, on random ones: see random_graphs.hpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/activations.hpp"
#include "engine/check_rewriting.hpp"
#include "engine/evaluator.hpp"
#include "engine/random_graphs.hpp"
#include "quadrant/ir/text.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

const dice::Gains gains;

QuantizeOptions options_for(const dice::Built& built) {
  QuantizeOptions options;
  options.gains = &gains;
  options.couplings = built.couplings;
  return options;
}

// A quantized graph beside the one that it was made of, whose nodes it still has.
class Rewritten {
 public:
  Rewritten(const Graph& before, const QuantizeResult& result)
      : before_(before), after_(result.graph), selection_(result.analysis.selection) {}

  // Every operand has the form that was decided, and nobody finds codes that he did not ask for.
  void check_reads() const {
    for_each_node([&](NodeId node) {
      if (!is_old(node)) return;
      for (std::uint32_t i = 0; i < after_.operands(node).size(); ++i) {
        if (!after_.operands(node)[i].is_absent()) check_read({&after_, node}, i);
      }
    });
  }

  // Each form of each value is made once, and somebody reads it.
  void check_conversions(std::size_t planned) const {
    std::set<std::pair<Value, std::string>> made;
    for_each_node([&](NodeId node) {
      if (is_old(node)) return;
      const TensorType& type = after_.type({node});
      REQUIRE(evaluator::is_conversion(after_.kind(node)));
      CHECK(made.insert({origin({node}), to_string(type)}).second);
      CHECK_FALSE(after_.uses(node).empty());
    });
    CHECK(made.size() == planned);
  }

  // Values that came quantized are read as they came, where nothing else was decided.
  [[nodiscard]] bool reads_codes(NodeRef node, std::uint32_t operand) const {
    return selection_.read(node.id, operand) != float_form ||
           before_.type(before_.operands(node.id)[operand]).is_quantized();
  }

 private:
  template <class Visit>
  void for_each_node(Visit visit) const {
    for (std::uint32_t i = 0; i < after_.index_bound(); ++i) visit(after_.node_at(i));
  }
  [[nodiscard]] bool is_old(NodeId node) const { return node.index < before_.index_bound(); }

  // The value of the graph before that this is a form of.
  [[nodiscard]] Value origin(Value value) const {
    while (!is_old(value.node)) value = after_.operands(value.node)[0];
    return value;
  }

  void check_read(NodeRef node, std::uint32_t operand) const {
    const Value value = node.operand(operand);
    const Value meant = before_.operands(node.id)[operand];
    CHECK(origin(value) == meant);
    const auto form = dice::form_of(after_.type(value));
    const bool is_as_it_came = before_.type(meant).is_quantized() && value == meant;
    if (form && !is_as_it_came) CHECK(asked_for(node, operand, *form));
  }

  // As the node's own description has it, whatever the engine thought.
  [[nodiscard]] static bool asked_for(NodeRef node, std::uint32_t operand, const dice::Form& form) {
    const auto read = [&](std::string_view what) {
      return dice::detail::numbers(*node.graph, node.id, dice::detail::key(form.scheme, what));
    };
    const auto is_it = [&](const dice::Need& need) {
      return need.operand == operand && need.constraint.number == form.face;
    };
    for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
      const auto made = dice::form_of(node.type(i));
      if (!made || made->scheme != form.scheme) continue;
      return std::ranges::any_of(dice::detail::decode_ways(read("ways")), [&](const auto& way) {
        return way.wanted == made->face && std::ranges::any_of(way.needs, is_it);
      });
    }
    for (const auto& all : dice::detail::decode_ways(read("together"))) {
      if (std::ranges::any_of(all.needs, is_it)) return true;
    }
    return std::ranges::any_of(dice::detail::decode_wishes(read("wishes")), [&](const auto& wish) {
      return wish.takes_codes && wish.operand == operand && wish.face == form.face;
    });
  }

  const Graph& before_;
  const Graph& after_;
  const Selection& selection_;
};

// As many threads as asked for, each taking the next iteration that is left.
class Threads final : public Executor {
 public:
  explicit Threads(std::size_t count) : count_(count) {}
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override {
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < count_; ++i) {
      threads.emplace_back([&] {
        for (std::size_t mine = next++; mine < count; mine = next++) body(mine);
      });
    }
  }

 private:
  std::size_t count_;
};

// A row of convolutions, every fifth of which has contents that cannot be quantized.
Graph convolutions(int count) {
  Graph graph;
  Value last = activations::input(graph, "x");
  for (int i = 0; i < count; ++i) {
    const std::string name = "c" + std::to_string(i);
    last = activations::conv(graph, name, last);
    if (i % 5 == 0) {
      graph.set_attribute(graph.find_value(name + ".w").node, "bad", std::int64_t{1});
    }
    if (i % 3 == 0) last = activations::add(graph, "relu", name + ".r", {last});
  }
  graph.add_output("y", last);
  return graph;
}

}  // namespace

TEST_CASE(
    "a quantized graph computes what the graph did, and nobody finds what he did not ask for") {
  std::mt19937 random(20261121);
  std::size_t quantized = 0;
  std::size_t converted = 0;
  for (int round = 0; round < test::shortened(4000); ++round) {
    const int schemes = 1 + round % 2;
    const dice::Blueprint blueprint = dice::random_graph(
        random, {.most_nodes = 24, .schemes = schemes, .together = round % 4 >= 2});
    const dice::Built built = blueprint.build(random);
    const Registry registry = dice::registry(schemes);
    QuantizeOptions options = options_for(built);
    auto result = quantize(built.graph, registry, options);
    REQUIRE_MESSAGE(result.has_value(), to_string(result ? Error{} : result.error()));
    CAPTURE(round);
    const Plan& plan = result->analysis.plan;
    const Rewritten rewritten(built.graph, *result);
    rewritten.check_reads();
    rewritten.check_conversions(plan.conversions.size());
    check_rewriting::check_equal(
        built.graph, result->graph,
        [&](NodeRef node, std::uint32_t operand) { return rewritten.reads_codes(node, operand); });
    quantized += plan.values.size();
    converted += plan.conversions.size();

    options.plan = &plan;
    const auto followed = quantize(built.graph, registry, options);
    REQUIRE_MESSAGE(followed.has_value(), to_string(followed ? Error{} : followed.error()));
    CHECK(followed->analysis.plan == plan);
    CHECK(print_graph(followed->graph) == print_graph(result->graph));
  }
  // The test is worth something.
  CHECK(quantized > test::shortened(std::size_t{4000}));
  CHECK(converted > test::shortened(std::size_t{2000}));
}

TEST_CASE("the plan does not depend on the order in which the graph was built") {
  std::mt19937 random(20261122);
  const auto check = [&](int graphs, int orders, dice::RandomOptions size) {
    for (int round = 0; round < graphs; ++round) {
      size.schemes = 1 + round % 2;
      size.together = round % 4 >= 2;
      const dice::Blueprint blueprint = dice::random_graph(random, size);
      const Registry registry = dice::registry(size.schemes);
      std::optional<Plan> first;
      bool is_same = true;
      for (int order = 0; order < orders && is_same; ++order) {
        const dice::Built built = blueprint.build(random);
        auto analysis = analyze(built.graph, registry, options_for(built));
        REQUIRE(analysis.has_value());
        if (!first) first = analysis->plan;
        is_same = analysis->plan == *first;
        CHECK_MESSAGE(is_same, "round " << round << ", order " << order);
      }
    }
  };
  SUBCASE("small graphs") {
    check(test::shortened(1000), test::is_whole() ? 100 : 20, {.least_nodes = 4, .most_nodes = 9});
  }
  // In these some values have many forms, of both schemes.
  SUBCASE("larger graphs") {
    check(test::shortened(60), 10, {.least_nodes = 60, .most_nodes = 120});
  }
}

TEST_CASE("neither do the plan and the graph depend on the number of threads") {
  const Graph graph = convolutions(60);
  const activations::ChosenWorth worth;
  QuantizeOptions options;
  options.gains = &worth;
  options.non_finite = NonFinitePolicy::leave_float;
  const QuantizeResult serial =
      check_rewriting::quantize_checked(graph, activations::registry(), options);
  CHECK(serial.analysis.plan.values.size() > 100);
  CHECK(serial.analysis.vetoes.size() == 12);
  for (const std::size_t count : {1U, 2U, 8U}) {
    Threads threads(count);
    options.executor = &threads;
    const auto result = quantize(graph, activations::registry(), options);
    REQUIRE(result.has_value());
    CHECK(result->analysis.plan == serial.analysis.plan);
    CHECK(print_graph(result->graph) == print_graph(serial.graph));
  }
}

TEST_CASE("one graph can be analyzed by several threads at once") {
  std::mt19937 random(20261123);
  const dice::Blueprint blueprint =
      dice::random_graph(random, {.least_nodes = 400, .most_nodes = 400, .schemes = 2});
  const dice::Built built = blueprint.build(random);
  const Registry registry = dice::registry(2);
  const QuantizeOptions options = options_for(built);
  std::vector<std::optional<Plan>> plans(8);
  Threads(plans.size()).parallel_for(plans.size(), [&](std::size_t i) {
    if (auto analysis = analyze(built.graph, registry, options)) plans[i] = analysis->plan;
  });
  REQUIRE(plans[0].has_value());
  CHECK(plans[0]->values.size() > 20);
  for (const auto& plan : plans) CHECK(plan == plans[0]);
}

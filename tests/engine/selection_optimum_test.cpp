// Both policies against all that they could have decided: docs/selection.md.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "engine/brute_force.hpp"
#include "engine/random_graphs.hpp"
#include "quadrant/ir/text.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

// How far from the optimum greedy was.
struct Distance {
  std::uint64_t graphs = 0;
  std::uint64_t worthwhile = 0;  // graphs whose optimum is above zero
  std::uint64_t optimal = 0;     // among those
  double sum_of_ratios = 0;      // among those
  double worst = 1;
  std::uint64_t decisions = 0;
  std::uint64_t proved = 0;  // graphs whose bound is the optimum

  // Both gains over leaving everything in float.
  void add(Gain greedy, Gain optimum, std::uint64_t feasible) {
    ++graphs;
    decisions += feasible;
    if (optimum <= Gain{}) return;
    ++worthwhile;
    if (greedy == optimum) ++optimal;
    const double ratio =
        static_cast<double>(greedy.amount()) / static_cast<double>(optimum.amount());
    sum_of_ratios += ratio;
    worst = std::min(worst, ratio);
  }

  [[nodiscard]] std::string print() const {
    const auto count = static_cast<double>(worthwhile);
    return fmt::format(
        "{} graphs, {} decisions; {} graphs have something to gain: greedy is optimal in {:.2f} %, "
        "gains {:.2f} % of the optimum on average, {:.0f} % at worst",
        graphs, decisions, worthwhile, 100 * static_cast<double>(optimal) / count,
        100 * sum_of_ratios / count, 100 * worst);
  }
};

// One graph, what the policies decide on it, and all that they could have decided.
class Trial {
 public:
  Trial(const dice::Blueprint& blueprint, std::mt19937& shuffle, const Registry& registry)
      : blueprint_(blueprint),
        shuffle_(shuffle),
        registry_(registry),
        built_(blueprint.build(shuffle)),
        view_(built_),
        couplings_(view_, built_.couplings),
        analysis_(analyzed(built_, SelectionPolicy::greedy)),
        best_(analyzed(built_, SelectionPolicy::optimal)),
        problem_{view_,  analysis_.order, registry_, analysis_.eligibility, analysis_.requests,
                 gains_, couplings_},
        oracle_(problem_) {}

  /// How many decisions there are at most.
  [[nodiscard]] std::uint64_t choices() const { return oracle_.choices(); }

  /// What can be said without looking at all other decisions.
  void check() {
    check(analysis_);
    check(best_);
    CHECK_MESSAGE(greedy() >= in_float(), text());
    CHECK_MESSAGE(optimal() >= greedy(), text());
    REQUIRE(best_.selection.bound().has_value());
    CHECK_MESSAGE(*best_.selection.bound() >= optimal(), text());
  }

  /// Looks at all decisions.
  void measure(Distance& distance) const {
    const auto decision = oracle_.decision(analysis_.selection);
    const brute_force::Outcome outcome = oracle_.explore(*decision);
    CHECK_MESSAGE(outcome.sought == greedy(), text());
    CHECK_MESSAGE(greedy() <= outcome.optimum, text());
    CHECK_MESSAGE(optimal() == outcome.optimum, text());
    CHECK_MESSAGE(*best_.selection.bound() >= outcome.optimum, text());
    if (*best_.selection.bound() == outcome.optimum) ++distance.proved;
    distance.add(greedy() - in_float(), outcome.optimum - in_float(), outcome.feasible);
  }

 private:
  void check(const Analysis& analysis) {
    const std::string complaints = oracle_.complaints(analysis.selection);
    REQUIRE_MESSAGE(complaints.empty(), complaints << text());
    const SelectionPolicy policy = analysis.plan.policy;
    CHECK_MESSAGE(analyzed(built_, SelectionPolicy::greedy, &analysis.plan).plan == analysis.plan,
                  text());
    CHECK_MESSAGE(analyzed(blueprint_.build(shuffle_), policy).plan == analysis.plan, text());
  }

  [[nodiscard]] Gain greedy() const { return analysis_.selection.objective(); }
  [[nodiscard]] Gain optimal() const { return best_.selection.objective(); }
  [[nodiscard]] Gain in_float() const { return *oracle_.worth(oracle_.all_float()); }

  [[nodiscard]] Analysis analyzed(const dice::Built& built, SelectionPolicy policy,
                                  const Plan* plan = nullptr) const {
    QuantizeOptions options;
    options.gains = &gains_;
    options.policy = policy;
    options.couplings = built.couplings;
    options.plan = plan;
    auto analysis = analyze(dice::View(built), registry_, options);
    REQUIRE_MESSAGE(analysis.has_value(), (analysis ? "" : to_string(analysis.error())) << text());
    return *std::move(analysis);
  }

  [[nodiscard]] std::string text() const {
    std::string text = "\n" + print_graph(built_.graph);
    for (const std::vector<Value>& coupling : couplings_.all()) {
      text += &coupling < couplings_.strict().data() + couplings_.strict().size() ? "of one type:"
                                                                                  : "coupled:";
      for (const Value value : coupling) text += fmt::format(" {}", built_.graph.value_name(value));
      text += "\n";
    }
    return text;
  }

  const dice::Blueprint& blueprint_;
  std::mt19937& shuffle_;
  const Registry& registry_;
  dice::Gains gains_;
  dice::Built built_;
  dice::View view_;
  CouplingTable couplings_;
  Analysis analysis_;
  Analysis best_;
  SelectionProblem problem_;
  brute_force::Oracle oracle_;
};

// All graphs of a few nodes: first those that make values, each of which reads earlier ones, then
// those that only read. What is the same graph in another order is left out where that is easy.
class AllGraphs {
 public:
  using Visit = std::function<void(const dice::Blueprint&)>;
  AllGraphs(std::size_t most_nodes, Visit visit)
      : most_nodes_(most_nodes), visit_(std::move(visit)) {}

  void run() { add_maker(); }

 private:
  static constexpr std::int64_t no = dice::impossible;

  // How values are priced is part of who makes them.
  static dice::Behaviour costs(dice::Numbers enter, std::int64_t convert) {
    dice::Behaviour behaviour;
    behaviour.enter = std::move(enter);
    behaviour.leave = {-1, -1};
    behaviour.convert = dice::Numbers(std::size_t{2 * dice::most_faces}, convert);
    return behaviour;
  }
  // Either face, the second for more; stored.
  static dice::Behaviour root() {
    dice::Behaviour behaviour = costs({no, no}, no);
    behaviour.ways = {{0, 0, {}}, {1, -1, {}}};
    behaviour.stored = {1, 2};
    return behaviour;
  }
  // One face from the other.
  static dice::Behaviour swap() {
    dice::Behaviour behaviour = costs({-1, no}, no);
    behaviour.ways = {{0, 0, {{0, {1}}}}, {1, 0, {{0, {0}}}}};
    return behaviour;
  }
  // Gains from face 0 in float, and more where it makes face 1 itself.
  static dice::Behaviour compute() {
    dice::Behaviour behaviour = costs({no, -2}, -2);
    behaviour.ways = {{0, -1, {}}, {1, 2, {{0, {1}}}}};
    behaviour.wishes = {{0, 0, true, 1}};
    behaviour.produced = {1};
    return behaviour;
  }
  // Gains from two operands in one form; one will do.
  static dice::Behaviour join() {
    dice::Behaviour behaviour = costs({no, no}, -1);
    for (const std::int64_t face : {0, 1}) {
      behaviour.ways.push_back({face, 2, {{0, {face}}, {1, {face}}}});
      behaviour.ways.push_back({face, 0, {{0, {face}}}});
    }
    return behaviour;
  }
  static const std::vector<dice::Wish>& reader(std::size_t which) {
    static const std::vector<std::vector<dice::Wish>> readers{
        {{0, 0, true, 2}}, {{0, 1, true, 3}}, {{0, 0, false}}};
    return readers[which];
  }

  void with(std::string_view kind, std::vector<dice::Source> operands,
            const dice::Behaviour& behaviour, const std::function<void()>& go_on) {
    dice::BlueprintNode node{std::string(kind), std::move(operands), {dice::float_type()}, {}};
    if (kind == ops::Output::kind) node.results.clear();
    describe(node.attributes, dice::scheme_names[0], behaviour);
    blueprint_.nodes.push_back(std::move(node));
    go_on();
    blueprint_.nodes.pop_back();
  }

  void add_maker() {
    const std::size_t count = blueprint_.nodes.size();
    if (count > 0) add_reader(count, 0);
    if (count + 1 >= most_nodes_) return;
    const auto go_on = [this] { add_maker(); };
    with(dice::Ops::Root::kind, {}, root(), go_on);
    with(ops::Input::kind, {}, costs({-1, -2}, no), go_on);
    for (std::size_t a = 0; a < count; ++a) {
      with(dice::Ops::Free::kind, {{a}}, swap(), go_on);
      with(dice::Ops::Free::kind, {{a}}, compute(), go_on);
      for (std::size_t b = 0; b < count; ++b) {
        with(dice::Ops::Free::kind, {{a}, {b}}, join(), go_on);
      }
    }
  }

  // Readers in ascending order of what they are and what they read.
  void add_reader(std::size_t makers, std::size_t from) {
    if (blueprint_.nodes.size() > makers && is_all_used(makers)) visit_(blueprint_);
    if (blueprint_.nodes.size() == most_nodes_) return;
    constexpr std::size_t kinds = 4;
    for (std::size_t drawn = from; drawn < kinds * makers; ++drawn) {
      const std::size_t which = drawn / makers;
      const bool is_output = which + 1 == kinds;
      dice::Behaviour behaviour;
      if (!is_output) behaviour.wishes = reader(which);
      with(is_output ? ops::Output::kind : dice::Ops::Use::kind, {{drawn % makers}}, behaviour,
           [&] { add_reader(makers, drawn); });
    }
  }

  // A value that nobody reads is not asked for: the graph is one of fewer nodes.
  [[nodiscard]] bool is_all_used(std::size_t makers) const {
    std::vector<bool> is_used(makers, false);
    for (const dice::BlueprintNode& node : blueprint_.nodes) {
      for (const dice::Source& source : node.operands) is_used[source.node] = true;
    }
    return std::ranges::all_of(is_used, [](bool used) { return used; });
  }

  std::size_t most_nodes_;
  Visit visit_;
  dice::Blueprint blueprint_;
};

}  // namespace

TEST_CASE("all small graphs: greedy decides something possible, and never better than the best") {
  const std::size_t most_nodes = test::is_whole() ? 5 : 3;
  const Registry registry = dice::registry();
  std::mt19937 shuffle(20261120);
  Distance distance;
  AllGraphs(most_nodes, [&](const dice::Blueprint& blueprint) {
    Trial trial(blueprint, shuffle, registry);
    trial.check();
    trial.measure(distance);
  }).run();
  MESSAGE(distance.print());
  CHECK(distance.proved == distance.graphs);
}

namespace {

// Random graphs, by the number of schemes.
void try_random_graphs(int rounds, const dice::RandomOptions& drawn) {
  const std::uint64_t most_choices = test::shortened(std::uint64_t{50'000});
  const std::array registries{dice::registry(1), dice::registry(2)};
  std::mt19937 random(20261120);
  std::array<Distance, 2> distances;
  int drawn_again = 0;
  for (int round = 0; round < rounds;) {
    const auto of = static_cast<std::size_t>(round % 2);
    dice::RandomOptions options = drawn;
    options.schemes = static_cast<int>(of) + 1;
    const auto blueprint = dice::random_graph(random, options);
    Trial trial(blueprint, random, registries[of]);
    if (trial.choices() > most_choices) {
      ++drawn_again;
      continue;
    }
    trial.check();
    trial.measure(distances[of]);
    ++round;
  }
  // Tables of values that hang together by their type, too, may be too large for the exact solver.
  for (const Distance& distance : distances) {
    CHECK(distance.graphs - distance.proved <= (drawn.one_type ? distance.graphs / 1000 : 0));
  }
  MESSAGE("one scheme: " << distances[0].print());
  MESSAGE("two schemes: " << distances[1].print());
  MESSAGE(drawn_again << " graphs with more than " << most_choices << " choices drawn again");
}

}  // namespace

TEST_CASE("random graphs: greedy decides something possible, and never better than the best") {
  try_random_graphs(test::shortened(10'000), {});
}

TEST_CASE("random graphs: the same where operands are taken together or not at all") {
  try_random_graphs(test::shortened(3'000), {.together = true});
}

TEST_CASE("random graphs: the same where values have one type, quantized or not") {
  try_random_graphs(test::shortened(6'000), {.one_type = true});
  try_random_graphs(test::shortened(1'000), {.one_type = true, .together = true});
}

TEST_CASE("larger random graphs: greedy decides something possible") {
  const int rounds = test::shortened(500);
  const std::array registries{dice::registry(1), dice::registry(2)};
  std::mt19937 random(20261120);
  for (int round = 0; round < rounds; ++round) {
    const auto of = static_cast<std::size_t>(round % 2);
    const auto blueprint = dice::random_graph(random, {.least_nodes = 30,
                                                       .most_nodes = 120,
                                                       .schemes = static_cast<int>(of) + 1,
                                                       .one_type = round % 4 > 1});
    Trial(blueprint, random, registries[of]).check();
  }
}

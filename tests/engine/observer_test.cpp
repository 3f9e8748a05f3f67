#include <doctest/doctest.h>

#include <string>

#include "engine/toy_scheme.hpp"
#include "quadrant/engine/quantize.hpp"

using namespace quadrant;

namespace {

// Writes down which phase was over and what it had found.
class Recorder final : public PhaseObserver {
 public:
  void after_eligibility(const GraphView& graph, const Eligibility& eligibility) override {
    int eligible = 0;
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      eligible += eligibility.method(graph.node_at(i)) != nullptr ? 1 : 0;
    }
    seen += "eligible " + std::to_string(eligible);
  }
  void after_propagation(const GraphView& /*graph*/, const RequestGraph& requests) override {
    seen += ", requests " + std::to_string(requests.requests().size());
  }
  void after_selection(const GraphView& /*graph*/, const RequestGraph& /*requests*/,
                       const Selection& selection, const ParameterTable& /*parameters*/) override {
    seen += ", objective " + std::to_string(selection.objective().amount()) + '\n';
  }
  void after_rewriting(const GraphView& graph) override {
    int dequantizes = 0;
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      dequantizes += graph.kind(graph.node_at(i)) == ops::Dequantize::kind ? 1 : 0;
    }
    seen += "dequantizes " + std::to_string(dequantizes) + '\n';
  }

  std::string seen;
};

struct Observed {
  UnitGain gains;
  Recorder recorder;
  QuantizeOptions options;

  Observed() {
    options.gains = &gains;
    options.observer = &recorder;
  }
};

// Two roots, each with a reader; the second may hold what the data pass refuses.
Graph two_roots(bool is_second_bad) {
  Graph graph;
  const Value good = toy::add(graph, "root", "good", {});
  const Value second =
      toy::add(graph, "root", "second", {}, {{"bad", std::int64_t{is_second_bad ? 1 : 0}}});
  toy::add(graph, "use", "u", {good});
  toy::add(graph, "use", "v", {second});
  return graph;
}

const std::string decided_on_both = "eligible 4, requests 2, objective 2\n";

}  // namespace

TEST_CASE("analyze calls after each of its three phases, in order, once") {
  Observed run;
  REQUIRE(analyze(two_roots(false), toy::registry(), run.options).has_value());
  CHECK(run.recorder.seen == decided_on_both);
}

TEST_CASE("quantize calls after rewriting as well, with the rewritten graph") {
  Observed run;
  Graph graph = two_roots(false);
  REQUIRE(quantize(graph, toy::registry(), run.options).has_value());
  const std::string expected = decided_on_both + "dequantizes 2\n";
  CHECK(run.recorder.seen == expected);

  SUBCASE("in place, the same") {
    Observed again;
    GraphEditor editor(graph);
    REQUIRE(quantize(editor, toy::registry(), again.options).has_value());
    CHECK(again.recorder.seen == expected);
  }
}

TEST_CASE("a refusal of the data pass has the phases run, and reported, once more") {
  Observed run;
  run.options.non_finite = NonFinitePolicy::leave_float;
  REQUIRE(quantize(two_roots(true), toy::registry(), run.options).has_value());
  // Without the refused root, its reader is no consumer either.
  CHECK(run.recorder.seen ==
        decided_on_both + "eligible 2, requests 1, objective 1\ndequantizes 1\n");
}

TEST_CASE("a run that fails has reported the phases that it finished") {
  Observed run;
  REQUIRE_FALSE(quantize(two_roots(true), toy::registry(), run.options).has_value());
  CHECK(run.recorder.seen == decided_on_both);

  Observed planned;
  Plan plan;
  plan.schemes = {{"toy", "toy"}};
  plan.values = {{"nowhere", "toy", "colour 0", Gain{}}};
  planned.options.plan = &plan;
  REQUIRE_FALSE(analyze(two_roots(false), toy::registry(), planned.options).has_value());
  CHECK(planned.recorder.seen == "eligible 4, requests 2");
}

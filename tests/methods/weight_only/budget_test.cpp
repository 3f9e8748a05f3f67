#include "quadrant/engine/budgets/budget.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/build.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

Constant zeros_of(const Shape& shape) {
  const auto count = static_cast<std::size_t>(*shape.element_count());
  return Constant::from_values<float>(ElementType::float32, shape, std::vector<float>(count, 1));
}

// y = x w0 w1 ..., the weights of 32 x 32, 32 x 40, 40 x 48 and so on.
Graph products(int count) {
  Graph graph;
  Value value = graph.add_input("x", build::f32({1, 32}));
  for (int i = 0; i < count; ++i) {
    const std::int64_t rows = graph.type(value).shape[1].value();
    const std::int64_t columns = 32 + 8 * i;
    const Value weight =
        graph.add_constant("w" + std::to_string(i), zeros_of(Shape{rows, columns}));
    value = build::add(graph, std::string(ops::MatMul::kind), {value, weight},
                       build::f32({1, columns}));
  }
  graph.add_output("y", value);
  return graph;
}

Registry variants() {
  using Kind = Granularity::Kind;
  const std::array all{
      weight_only_registry({.bits = 8})->renamed("int8"),
      weight_only_registry({.bits = 4})->renamed("int4"),
      weight_only_registry({.bits = 4, .granularity = Kind::block, .block_size = 16})
          ->renamed("int4-block16")};
  return *Registry::join(all);
}

double error_of(const PlannedValue& planned) {
  const double weight = 1 + std::fmod(static_cast<double>(planned.value.back()) * 7, 11);
  if (planned.scheme == "int8") return weight * 0.001;
  return planned.scheme == "int4" ? weight * 0.4 : weight * 0.15;
}

std::uint64_t bytes_of(const PlannedValue& planned) {
  if (planned.scheme == "int8") return 300;
  return planned.scheme == "int4" ? 150 : 180;
}

// Figures that add up, but for what is said.
class Additive final : public PlanMeter {
 public:
  std::uint64_t once = 0;  ///< bytes, where anything has 4 bits
  std::function<double(const Plan&)> more = [](const Plan&) { return 0.0; };
  std::function<std::optional<std::uint64_t>(const Plan&)> tensors = [](const Plan&) {
    return std::optional<std::uint64_t>();
  };
  bool data = false;
  std::function<double(const Plan&)> held_back;  ///< errors there, instead of those of the others
  std::size_t calls = 0;

  [[nodiscard]] bool has_data() const override { return data; }
  [[nodiscard]] bool holds_back() const override { return bool(held_back); }
  [[nodiscard]] Expected<std::vector<PlanFigures>> measure(std::span<const Plan> plans,
                                                           const MeterScope& scope) override {
    std::vector<PlanFigures> all;
    for (const Plan& plan : plans) {
      ++calls;
      PlanFigures figures;
      figures.file_bytes = 10000;
      figures.tensor_bytes = tensors(plan);
      bool has_four = false;
      for (const PlannedValue& planned : plan.values) {
        figures.file_bytes -= 1000 - bytes_of(planned);
        has_four = has_four || planned.scheme != "int8";
        figures.weight_error += error_of(planned);
        figures.worst_weight = std::max(figures.worst_weight, error_of(planned));
      }
      if (has_four) figures.file_bytes += once;
      if (scope.outputs) figures.output_error = figures.weight_error / 10 + more(plan);
      if (scope.outputs && held_back && scope.part == MeterSamples::held_back) {
        figures.output_error = held_back(plan);
      }
      all.push_back(figures);
    }
    return all;
  }
};

struct Best {
  double error = std::numeric_limits<double>::infinity();
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
};

// Tries all choices of the study's items.
template <class Keep>
void for_each_plan(const BudgetStudy& study, Additive& meter, const Registry& registry, Keep keep) {
  std::vector<std::uint32_t> options(study.items().size(), 0);
  while (true) {
    const Plan plan = plan_of(study.items(), options, registry);
    keep(meter.measure(std::span(&plan, 1), {.file = true, .outputs = meter.data})->front());
    std::size_t i = 0;
    while (i < options.size() && ++options[i] == study.items()[i].options.size()) options[i++] = 0;
    if (i == options.size()) return;
  }
}

}  // namespace

TEST_CASE("items are the weights, with what each scheme would make of them") {
  const Graph graph = products(3);
  const Registry registry = variants();
  const auto items = find_budget_items(graph, registry);
  REQUIRE(items.has_value());
  REQUIRE(items->size() == 3);
  const BudgetItem& item = (*items)[1];
  CHECK(item.name == "w1");
  CHECK(item.elements == 32 * 40);
  REQUIRE(item.options.size() == 4);
  CHECK(item.options[0].label == "float");
  CHECK(item.options[0].stored_bytes == 4 * 32 * 40);
  CHECK(item.options[1].label == "int4");
  CHECK(item.options[1].stored_bytes == 32 * 40 / 2 + 4 * 40 + 40 / 2);  // zero points too
  CHECK(item.options[2].label == "int4-block16");
  CHECK(item.options[2].stored_bytes == 32 * 40 / 2 + 4 * 40 * 2);
  CHECK(item.options[3].label == "int8");
  CHECK(item.options[3].stored_bytes == 32 * 40 + 4 * 40 + 40);
}

TEST_CASE("options of one size are measured alike, whatever they are called") {
  class Measured final : public PlanMeter {
   public:
    explicit Measured(std::string_view clipped) : clipped_(clipped) {}
    [[nodiscard]] bool has_data() const override { return true; }
    [[nodiscard]] Expected<std::vector<PlanFigures>> measure(std::span<const Plan> plans,
                                                             const MeterScope& scope) override {
      std::vector<PlanFigures> all;
      for (const Plan& plan : plans) {
        PlanFigures& figures = all.emplace_back();
        for (const PlannedValue& planned : plan.values) {
          const bool is_clipped = planned.scheme == clipped_;
          figures.weight_error += is_clipped ? 0.2 : 0.1;
          if (scope.outputs) figures.output_error += is_clipped ? 0.3 : 0.01;
        }
      }
      return all;
    }

   private:
    std::string_view clipped_;
  };
  const Registry registry =
      *Registry::join(std::array{weight_only_registry({.bits = 8})->renamed("a"),
                                 weight_only_registry({.bits = 8})->renamed("b")});
  const Graph graph = products(2);
  for (const std::string_view clipped : {"a", "b"}) {
    CAPTURE(clipped);
    Measured meter(clipped);
    const auto study = BudgetStudy::make(graph, registry, meter);
    REQUIRE(study.has_value());
    CHECK(study->errors().find("w0", clipped).value() == doctest::Approx(0.3));
    CHECK(study->errors().find("w0", clipped == "a" ? "b" : "a").value() == doctest::Approx(0.01));
  }
}

TEST_CASE("within a size, no choice there is has less error") {
  const Graph graph = products(4);
  const Registry registry = variants();
  test::Turns turns;
  for (const std::uint64_t once : std::array<std::uint64_t, 2>{0, 77}) {
    Additive meter;
    meter.once = once;
    const auto study = BudgetStudy::make(graph, registry, meter);
    REQUIRE(study.has_value());
    for (std::uint64_t limit = 6600; limit <= 10100; limit += 53) {
      if (!turns.next()) continue;
      Best best;
      for_each_plan(*study, meter, registry, [&](const PlanFigures& figures) {
        if (figures.file_bytes <= limit) best.error = std::min(best.error, figures.weight_error);
      });
      const auto outcome = study->meet({.file_bytes = limit});
      REQUIRE(outcome.has_value() == std::isfinite(best.error));
      if (!outcome) {
        CHECK(outcome.error().code == ErrorCode::impossible);
        CHECK(outcome.error().message.find(std::to_string(6600 + once)) != std::string::npos);
        continue;
      }
      CHECK(outcome->figures.file_bytes <= limit);
      CHECK(outcome->figures.weight_error == doctest::Approx(best.error));
      CHECK(*outcome->bound <= best.error + 1e-9);
      // The plan is one that the engine follows, as it is.
      QuantizeOptions options;
      options.plan = &outcome->plan;
      const auto analysis = analyze(graph, registry, options);
      REQUIRE(analysis.has_value());
      CHECK(analysis->plan.values.size() == outcome->plan.values.size());
    }
  }
}

TEST_CASE("within bits, scales count") {
  const Graph graph = products(4);
  const Registry registry = variants();
  Additive meter;
  const auto study = BudgetStudy::make(graph, registry, meter);
  REQUIRE(study.has_value());
  for (const double bits : {5.2, 6.0, 7.5, 9.0, 20.0, 32.0, 40.0}) {
    const auto outcome = study->meet({.bits = bits});
    REQUIRE(outcome.has_value());
    double stored = 0;
    double elements = 0;
    for (std::size_t i = 0; i < study->items().size(); ++i) {
      const BudgetItem& item = study->items()[i];
      stored += static_cast<double>(item.options[outcome->options[i]].stored_bytes);
      elements += static_cast<double>(item.elements);
    }
    CHECK(outcome->bits == doctest::Approx(8 * stored / elements));
    CHECK(outcome->bits <= bits);
    if (bits > 32) CHECK(outcome->plan.values.empty());
  }
  const auto least = study->meet({.bits = 3});
  REQUIRE_FALSE(least.has_value());
  CHECK(least.error().code == ErrorCode::impossible);
  CHECK(least.error().message.find("4.917 bits") != std::string::npos);
}

TEST_CASE("the smallest file within an error") {
  const Graph graph = products(4);
  const Registry registry = variants();
  Additive meter;
  const auto study = BudgetStudy::make(graph, registry, meter);
  REQUIRE(study.has_value());
  for (double limit = 0.001; limit < 20; limit *= 1.7) {
    Best best;
    for_each_plan(*study, meter, registry, [&](const PlanFigures& figures) {
      if (figures.weight_error <= limit) best.bytes = std::min(best.bytes, figures.file_bytes);
    });
    const auto outcome = study->meet({.error = limit});
    REQUIRE(outcome.has_value());
    CHECK(outcome->figures.weight_error <= limit);
    CHECK(outcome->figures.file_bytes == best.bytes);
  }
}

TEST_CASE("a limit of each weight takes options away") {
  const Graph graph = products(4);
  Additive meter;
  const auto study = BudgetStudy::make(graph, variants(), meter);
  REQUIRE(study.has_value());
  for (const double limit : {1e-6, 0.005, 0.3, 1.0, 100.0}) {
    const auto outcome = study->meet({.weight_error = limit});
    REQUIRE(outcome.has_value());
    std::uint64_t least = 10000;
    for (const BudgetItem& item : study->items()) {
      std::uint64_t fewest = 1000;
      for (const BudgetOption& option : item.options) {
        if (option.values.empty() || error_of(option.values[0]) > limit) continue;
        fewest = std::min(fewest, bytes_of(option.values[0]));
      }
      least -= 1000 - fewest;
    }
    CHECK(outcome->figures.file_bytes == least);
  }
}

TEST_CASE("where errors do not add up, what is measured counts") {
  const Graph graph = products(4);
  const Registry registry = variants();
  Additive meter;
  meter.data = true;
  // The two that seem best at 4 bits are bad together.
  meter.more = [](const Plan& plan) {
    int bad = 0;
    for (const PlannedValue& planned : plan.values) {
      const bool is_one = planned.value == "w1" || planned.value == "w2";
      if (is_one && planned.scheme != "int8") ++bad;
    }
    return bad == 2 ? 50.0 : 0.0;
  };
  const auto study = BudgetStudy::make(graph, registry, meter, {}, {.measures_all = true});
  REQUIRE(study.has_value());
  for (const std::uint64_t limit : std::array<std::uint64_t, 3>{6900, 7000, 7100}) {
    Best best;
    for_each_plan(*study, meter, registry, [&](const PlanFigures& figures) {
      if (figures.file_bytes <= limit) best.error = std::min(best.error, figures.output_error);
    });
    const auto outcome = study->meet({.file_bytes = limit});
    REQUIRE(outcome.has_value());
    CHECK(outcome->figures.file_bytes <= limit);
    if (best.error < 50) CHECK(outcome->figures.output_error < 50);
  }
  // An error that is asked for holds when it is measured.
  for (const double limit : {0.01, 0.2, 0.7, 10.0}) {
    const auto outcome = study->meet({.error = limit});
    REQUIRE(outcome.has_value());
    CHECK(outcome->figures.output_error <= limit);
  }
}

TEST_CASE("a search that holds on its own samples alone gives way to one form for all") {
  const Graph graph = products(4);
  const Registry registry = variants();
  const auto is_uniform = [](const Plan& plan) {
    std::set<std::string> schemes;
    for (const PlannedValue& planned : plan.values) schemes.insert(planned.scheme);
    return schemes.size() == 1;
  };
  for (const bool is_overfitted : {false, true}) {
    Additive meter;
    meter.data = true;
    meter.held_back = [&](const Plan& plan) { return is_uniform(plan) == is_overfitted ? 1 : 2; };
    const auto study = BudgetStudy::make(graph, registry, meter);
    REQUIRE(study.has_value());
    const auto outcome = study->meet({.file_bytes = 6950});
    REQUIRE(outcome.has_value());
    CHECK(is_uniform(outcome->plan) == is_overfitted);
    CHECK(outcome->judged == 1);
    CHECK(outcome->figures.output_error == doctest::Approx(outcome->figures.weight_error / 10));
    CHECK(study->meet({.error = 0.3})->figures.output_error <= 0.3);
  }
}

TEST_CASE("what fits beside a plan that was taken on samples held back is counted from there") {
  const Graph graph = products(4);
  Additive meter;
  meter.data = true;
  meter.held_back = [](const Plan& plan) {
    const auto blocks = std::ranges::count(plan.values, "int4-block16", &PlannedValue::scheme);
    return blocks == 4 ? 1.0 : 2.0;
  };
  const auto study = BudgetStudy::make(graph, variants(), meter);
  REQUIRE(study.has_value());
  // All in blocks are 6720 bytes, and each of them might have 8 bits for 120 more.
  const auto outcome = study->meet({.file_bytes = 6850});
  REQUIRE(outcome.has_value());
  CHECK(outcome->figures.file_bytes == 6720);
  CHECK(outcome->judged == 1);
  CHECK(outcome->judged_plans >= 4);  // two of one form, the search's, and what fills
  CHECK(outcome->refused_upgrades == 4);
}

TEST_CASE("the frontier falls, and says what changes") {
  const Graph graph = products(4);
  Additive meter;
  const auto study = BudgetStudy::make(graph, variants(), meter);
  REQUIRE(study.has_value());
  const std::vector<BudgetPoint> points = study->frontier();
  REQUIRE(points.size() > 4);
  CHECK(points.front().file_bytes == 6600);
  CHECK(points.back().error == 0);
  CHECK(points.front().change.empty());
  for (std::size_t i = 1; i < points.size(); ++i) {
    CHECK(points[i].file_bytes > points[i - 1].file_bytes);
    CHECK(points[i].error < points[i - 1].error);
    CHECK(points[i].change.find(" -> ") != std::string::npos);
  }
}

TEST_CASE("budgets that make no sense, and graphs with nothing to decide") {
  const Graph graph = products(2);
  Additive meter;
  const auto study = BudgetStudy::make(graph, variants(), meter);
  REQUIRE(study.has_value());
  for (const Budget& budget :
       {Budget{}, Budget{.file_bytes = 1000, .bits = 4.0}, Budget{.bits = -1.0},
        Budget{.error = std::numeric_limits<double>::quiet_NaN()}}) {
    const auto outcome = study->meet(budget);
    REQUIRE_FALSE(outcome.has_value());
    CHECK(outcome.error().code == ErrorCode::usage);
  }
  // The size can be had, the error cannot be had at that size.
  const auto both = study->meet({.file_bytes = 8400, .error = 0.0001});
  REQUIRE_FALSE(both.has_value());
  CHECK(both.error().code == ErrorCode::impossible);
}

TEST_CASE("where nothing can be quantized, floats meet a budget or nothing does") {
  Graph empty;
  empty.add_output("y", empty.add_input("x", build::f32({1})));
  Additive meter;
  const auto study = BudgetStudy::make(empty, variants(), meter);
  REQUIRE(study.has_value());
  CHECK(study->items().empty());
  for (const Budget& budget :
       {Budget{.file_bytes = 10000}, Budget{.bits = 4.0}, Budget{.error = 0.1}}) {
    const auto outcome = study->meet(budget);
    REQUIRE(outcome.has_value());
    CHECK(outcome->plan.values.empty());
    CHECK(outcome->figures.file_bytes == 10000);
  }
  const auto small = study->meet({.file_bytes = 9999});
  REQUIRE_FALSE(small.has_value());
  CHECK(small.error().code == ErrorCode::impossible);
}

TEST_CASE("bits are those of what is written, where that is known") {
  const Graph graph = products(4);
  const Registry registry = variants();
  Additive meter;
  meter.tensors = [](const Plan& plan) {
    // Twice what schemes mean for the one, as much for the others.
    std::uint64_t bytes = 100000;
    for (const PlannedValue& planned : plan.values) {
      bytes -= planned.value == "w1" ? 100U : 500U;
    }
    return bytes;
  };
  const auto study = BudgetStudy::make(graph, registry, meter);
  REQUIRE(study.has_value());
  double floats = 0;
  double elements = 0;
  for (const BudgetItem& item : study->items()) {
    floats += static_cast<double>(item.options[0].stored_bytes);
    elements += static_cast<double>(item.elements);
    for (std::size_t option = 1; option < item.options.size(); ++option) {
      const std::uint64_t saved = item.options[0].stored_bytes - item.options[option].stored_bytes;
      CHECK(saved == (item.name == "w1" ? 100U : 500U));
    }
  }
  const double least = 8 * (floats - 1600) / elements;
  const auto met = study->meet({.bits = least + 0.001});
  REQUIRE(met.has_value());
  CHECK(met->bits == doctest::Approx(least));
  CHECK_FALSE(study->meet({.bits = least - 0.001}).has_value());
}

TEST_CASE("a form without any error says nothing of the others") {
  const Graph graph = products(3);
  const Registry registry = variants();
  Additive meter;
  meter.data = true;
  // The one that is measured first, of three: at the outputs it is exact.
  meter.more = [](const Plan& plan) {
    double all = 0;
    double others = 0;
    for (const PlannedValue& planned : plan.values) {
      all += error_of(planned);
      if (planned.scheme != "int4-block16") others += error_of(planned) / 10;
    }
    return others - all / 10;
  };
  const auto study = BudgetStudy::make(graph, registry, meter);
  REQUIRE(study.has_value());
  Best best;
  const double wanted = 0.05;
  for_each_plan(*study, meter, registry, [&](const PlanFigures& figures) {
    if (figures.output_error <= wanted) best.bytes = std::min(best.bytes, figures.file_bytes);
  });
  const auto outcome = study->meet({.error = wanted});
  REQUIRE(outcome.has_value());
  CHECK(outcome->figures.output_error <= wanted);
  CHECK(outcome->figures.file_bytes == best.bytes);
  CHECK(study->errors().find("w1", "int4") ==
        doctest::Approx(error_of({"w1", "int4", "", {}}) / 10));
}

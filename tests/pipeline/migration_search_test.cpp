// Costs of migrations are the errors that a run finds, and the search lowers them.
#include "pipeline/migration_search.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "calibration/memory_data.hpp"
#include "model_text.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/quadrant.hpp"
#include "tensor_values.hpp"

using namespace quadrant;
using test::normal_numbers;
using test::value_of;

namespace {

constexpr std::int64_t input_channels = 12;
constexpr std::int64_t output_channels = 8;

Constant float_constant(const Shape& shape, const std::vector<float>& values) {
  return Constant::from_values<float>(ElementType::float32, shape, values);
}

// A product behind a factor for each channel, some of them large.
Graph scaled_product() {
  Graph graph;
  std::vector<float> gains = normal_numbers(input_channels, 1);
  for (std::size_t i = 0; i < gains.size(); i += 3) gains[i] *= 30;
  const Value x = graph.add_input("x", {ElementType::float32, {16, input_channels}, nullptr});
  const Value scaled{
      graph.add({.kind = "multiply",
                 .operands = {x, graph.add_constant("g", float_constant({input_channels}, gains))},
                 .results = {{"scaled", graph.type(x)}}})};
  const Value w =
      graph.add_constant("w", float_constant({input_channels, output_channels},
                                             normal_numbers(input_channels * output_channels, 2)));
  const Value y{
      graph.add({.kind = "matmul",
                 .operands = {scaled, w},
                 .results = {{"y", {ElementType::float32, {16, output_channels}, nullptr}}}})};
  graph.add_output("out", y);
  return graph;
}

MemoryData two_samples() {
  return MemoryData({sample_of({16, input_channels}, normal_numbers(16 * input_channels, 3)),
                     sample_of({16, input_channels}, normal_numbers(16 * input_channels, 4))});
}

// Weights to whole_numbers numbers, for all the same.
Expected<WeightsOfCodes> whole_numbers(const Graph& graph) {
  const Constant& weight = *graph.constant(graph.find_value("w").node);
  std::vector<float> values(weight.read()->as<float>().begin(), weight.read()->as<float>().end());
  for (float& value : values) value = std::nearbyint(value);
  return WeightsOfCodes{{"w", float_constant({input_channels, output_channels}, values)}};
}

std::vector<double> results_of(const Graph& graph, const MemoryData& samples) {
  const auto loaded = value_of(Interpreter().load(graph, output_values(graph)));
  std::vector<double> made;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto results = value_of(run_model(*loaded, samples.sample(i)->inputs, 1));
    for (const float y : results.front().as<float>()) made.push_back(static_cast<double>(y));
  }
  return made;
}

}  // namespace

TEST_CASE("a cost is the mean squared error of the results") {
  const Graph graph = scaled_product();
  const MemoryData samples = two_samples();
  const SecondMomentsTable moments =
      value_of(collect_second_moments(graph, Interpreter(), samples));
  const MigrationQuestion question{.graph = graph, .moments = moments, .made = whole_numbers};
  Migration migration{"scaled", std::vector<double>(input_channels, 1)};
  for (const double factor : {1.0, 2.5}) {
    migration.factors[0] = factor;
    migration.factors[5] = 1 / factor;
    const MigrationCosts costs = value_of(migration_costs(question, {migration}));
    Graph rounded = graph;
    REQUIRE(migrate(rounded, std::vector{migration}));
    rounded.set_constant(rounded.find_value("w").node, whole_numbers(rounded)->at("w"));
    const std::vector<double> exact = results_of(graph, samples);
    const std::vector<double> found = results_of(rounded, samples);
    double sum = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) sum += std::pow(exact[i] - found[i], 2);
    CHECK(costs.at("scaled") == doctest::Approx(sum / 32).epsilon(1e-3));  // of 32 input_channels
  }
}

TEST_CASE("the search finds factors of less cost, for weights alone and for activations") {
  const Graph graph = scaled_product();
  const SecondMomentsTable moments =
      value_of(collect_second_moments(graph, Interpreter(), two_samples()));
  for (const double steps : {0.0, 255.0}) {
    const MigrationQuestion question{
        .graph = graph, .moments = moments, .made = whole_numbers, .activation_steps = steps};
    const std::vector<Migration> found = value_of(search_migrations(question));
    REQUIRE(found.size() == 1);
    const Migration none{"scaled", std::vector<double>(input_channels, 1)};
    const double before = value_of(migration_costs(question, {none})).at("scaled");
    CHECK(value_of(migration_costs(question, found)).at("scaled") < 0.99 * before);
  }
}

TEST_CASE("moments of divided input_channels are those that a migrated scaled_product has") {
  Graph graph = scaled_product();
  SecondMomentsTable moments =
      value_of(collect_second_moments(graph, Interpreter(), two_samples()));
  Migration migration{"scaled", {}};
  for (std::int64_t i = 0; i < input_channels; ++i)
    migration.factors.push_back(1 + 0.5 * static_cast<double>(i));
  divide_inputs(moments, graph, {migration});
  REQUIRE(migrate(graph, std::vector{migration}));
  const std::vector<double> expected =
      value_of(value_of(collect_second_moments(graph, Interpreter(), two_samples())).load("w"))
          ->mean(0);
  const std::vector<double> found = value_of(moments.load("w"))->mean(0);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-3));
  }
}

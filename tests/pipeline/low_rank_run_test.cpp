// low_rank in a run: by samples or without, with other corrections, and what refuses it.
#include <doctest/doctest.h>

#include "calibration/memory_data.hpp"
#include "model_text.hpp"
#include "quadrant/quadrant.hpp"
#include "tensor_values.hpp"

using namespace quadrant;
using test::normal_numbers;
using test::value_of;

namespace {

constexpr std::int64_t stack_width = 32;

// Three products with biases behind.
Graph stack_of_products() {
  Graph graph;
  const TensorType type{ElementType::float32, {64, stack_width}, nullptr};
  Value y = graph.add_input("x", type);
  const auto constant = [&](const std::string& name, const Shape& shape, unsigned seed) {
    const std::int64_t count = shape.element_count().value_or(0);
    return graph.add_constant(name, Constant::from_values<float>(ElementType::float32, shape,
                                                                 normal_numbers(count, seed)));
  };
  for (unsigned layer = 0; layer < 3; ++layer) {
    const std::string of_layer = std::to_string(layer);
    const Value w = constant("w" + of_layer, {stack_width, stack_width}, layer);
    const Value b = constant("b" + of_layer, {stack_width}, layer + 10);
    y = {graph.add({.kind = "matmul", .operands = {y, w}, .results = {{"y" + of_layer, type}}})};
    y = {graph.add({.kind = "add", .operands = {y, b}, .results = {{"z" + of_layer, type}}})};
  }
  graph.add_output("out", y);
  return graph;
}

MemoryData stack_samples(unsigned seed) {
  std::vector<Sample> made;
  for (unsigned i = 0; i < 6; ++i) {
    std::vector<float> x = normal_numbers(64 * stack_width, seed + i, 1);
    for (std::size_t k = 0; k < x.size(); k += 7) x[k] *= 4;
    made.push_back(sample_of({64, stack_width}, x));
  }
  return MemoryData(std::move(made));
}

RunRequest stack_request(const OptionValues& model, const DataSet* samples,
                         const std::string& options = "") {
  RunRequest request;
  request.recipe.recipe.schemes = {value_of(parse_scheme_choice("w=weight_only,bits=4" + options))};
  request.recipe.recipe.model = model;
  request.inputs.samples = samples;
  return request;
}

double stack_decibels(const Graph& model, const Graph& made) {
  const MemoryData others = stack_samples(200);
  return value_of(compare(model, made, Interpreter(), others)).outputs.front().agreement.sqnr_db();
}

}  // namespace

TEST_CASE("low_rank: nearer with samples than without, and nearest with all that helps") {
  const Graph model = stack_of_products();
  const MemoryData data = stack_samples(100);
  const auto decibels = [&](const OptionValues& options, const DataSet* samples,
                            const std::string& rounding = "") {
    return stack_decibels(
        model, value_of(run(stack_request(options, samples, rounding), model)).quantized.graph);
  };
  const OptionValues low_rank{{"low_rank", std::int64_t{6}}};
  const double plain = decibels({}, nullptr);
  const double alone = decibels(low_rank, nullptr);
  CHECK(alone > plain + 1);
  CHECK(decibels(low_rank, &data, ",rounding=nearest") > plain + 1);
  const double rounded = decibels({}, &data);
  CHECK(decibels(low_rank, &data) > rounded + 1);
  const OptionValues best{{"effort", std::string("best")}};
  OptionValues both = best;
  both.insert(*low_rank.begin());
  CHECK(decibels(both, &data) > decibels(best, &data) + 1);
}

TEST_CASE("low_rank: the run has what was done, where the result is to be used") {
  const Graph model = stack_of_products();
  const OptionValues low_rank{{"low_rank", std::int64_t{4}}};
  RunResult done = value_of(run(stack_request(low_rank, nullptr), model));
  REQUIRE(done.prepared.low_rank != nullptr);
  CHECK(done.prepared.low_rank->corrected.size() == 3);
  CHECK(done.prepared.low_rank->corrected[0].bytes == 4 * 4 * 2 * stack_width);
  const RunResult looked =
      value_of(run(stack_request(low_rank, nullptr), model, {}, {.is_to_be_used = false}));
  CHECK(looked.prepared.low_rank->corrected.empty());
  CHECK(value_of(run(stack_request({}, nullptr), model)).prepared.low_rank == nullptr);
}

TEST_CASE("low_rank: budgets and other schemes refuse it, and ranks that are none") {
  const Graph model = stack_of_products();
  RunRequest request = stack_request({{"low_rank", std::int64_t{4}}}, nullptr);
  request.recipe.recipe.target_bits = 5;
  const auto with_budget = run(request, model);
  REQUIRE_FALSE(with_budget);
  CHECK(with_budget.error().code == ErrorCode::usage);
  CHECK(with_budget.error().message.find("`low_rank`") != std::string::npos);
  request = stack_request({{"low_rank", std::int64_t{4}}}, nullptr);
  request.recipe.recipe.schemes = {value_of(parse_scheme_choice("s=static_affine"))};
  CHECK_FALSE(check_run(request));
  Recipe recipe = stack_request({{"low_rank", std::int64_t{0}}}, nullptr).recipe.recipe;
  CHECK_FALSE(check(recipe));
}

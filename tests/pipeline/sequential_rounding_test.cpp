// Layers that know what rounding did before them make up for it.
#include "pipeline/sequential_rounding.hpp"

#include <doctest/doctest.h>

#include "calibration/memory_data.hpp"
#include "model_text.hpp"
#include "quadrant/quadrant.hpp"
#include "tensor_values.hpp"

using namespace quadrant;
using test::normal_numbers;
using test::value_of;

namespace {

constexpr std::int64_t chain_width = 24;

// Four matrix products, one behind the other: what the first one loses, others can make up for.
Graph chain() {
  Graph graph;
  const TensorType type{ElementType::float32, {64, chain_width}, nullptr};
  Value y = graph.add_input("x", type);
  for (unsigned layer = 0; layer < 4; ++layer) {
    std::vector<float> weight = normal_numbers(chain_width * chain_width, layer + 1);
    for (std::int64_t i = 0; i < chain_width; ++i)
      weight[static_cast<std::size_t>(i * chain_width + i)] += 8;
    const Value w = graph.add_constant(
        "w" + std::to_string(layer),
        Constant::from_values<float>(ElementType::float32, {chain_width, chain_width}, weight));
    y = {graph.add(
        {.kind = "matmul", .operands = {y, w}, .results = {{"y" + std::to_string(layer), type}}})};
  }
  graph.add_output("out", y);
  return graph;
}

MemoryData chain_samples(unsigned seed) {
  std::vector<Sample> made;
  for (unsigned i = 0; i < 6; ++i) {
    made.push_back(sample_of({64, chain_width}, normal_numbers(64 * chain_width, seed + i)));
  }
  return MemoryData(std::move(made));
}

NamedRecipe chain_recipe(const OptionValues& options) {
  NamedRecipe recipe;
  recipe.recipe.schemes = {value_of(parse_scheme_choice("w=weight_only,bits=4"))};
  recipe.recipe.model = options;
  return recipe;
}

class BackwardOrder final : public Executor {
 public:
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override {
    while (count > 0) body(--count);
  }
};

Graph made_of(const Graph& model, const OptionValues& options, Executor* executor = nullptr) {
  const MemoryData data = chain_samples(100);
  return value_of(run({.recipe = chain_recipe(options), .inputs = {.samples = &data}}, model,
                      {.executor = executor}))
      .quantized.graph;
}

double chain_decibels(const Graph& model, const Graph& made) {
  const MemoryData others = chain_samples(200);
  return value_of(compare(model, made, Interpreter(), others)).outputs.front().agreement.sqnr_db();
}

}  // namespace

TEST_CASE("errors of layers before are made up for, on samples that were not used") {
  const Graph model = chain();
  const double before = chain_decibels(model, made_of(model, {}));
  const double after = chain_decibels(model, made_of(model, {{"sequential", true}}));
  MESSAGE(before, " dB, ", after, " dB");
  CHECK(after > before + 2);  // what four layers lose, the last ones can mend
}

TEST_CASE("the same codes in any order of the work") {
  const Graph model = chain();
  BackwardOrder backward;
  const OptionValues options{{"sequential", true}};
  CHECK(print_model(made_of(model, options)) == print_model(made_of(model, options, &backward)));
}

TEST_CASE("effort: what it stands for, and that it needs samples") {
  const Graph model = chain();
  const OptionValues best{{"effort", std::string("best")}};
  CHECK(chain_decibels(model, made_of(model, best)) > chain_decibels(model, made_of(model, {})));
  const OptionValues fast{{"effort", std::string("fast")}};
  const OptionValues balanced{{"effort", std::string("balanced")}};
  CHECK(chain_decibels(model, made_of(model, balanced)) >
        chain_decibels(model, made_of(model, fast)));
  const auto refused = run({.recipe = chain_recipe(best)}, model);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::usage);
  CHECK(refused.error().message.find("effort best") != std::string::npos);
  const RunResult plain = value_of(run({.recipe = chain_recipe(fast)}, model));
  CHECK(plain.prepared.rounding == nullptr);
}

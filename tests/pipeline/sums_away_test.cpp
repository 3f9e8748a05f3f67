// Whoever asks for second moments finds them where their sums wait in a file.
#include <doctest/doctest.h>

#include <array>
#include <string>

#include "calibration/memory_data.hpp"
#include "model_text.hpp"
#include "quadrant/quadrant.hpp"
#include "temporary_folder.hpp"
#include "tensor_values.hpp"

using namespace quadrant;
using test::value_of;

namespace {

constexpr std::int64_t columns_of_sums = 24;

// Two products with biases, the first behind factors of channels.
Graph model_of_sums() {
  Graph graph;
  const TensorType type{ElementType::float32, {32, columns_of_sums}, nullptr};
  const auto constant = [&](const std::string& name, const Shape& shape, unsigned seed) {
    const std::int64_t count = shape.element_count().value_or(0);
    return graph.add_constant(name,
                              Constant::from_values<float>(ElementType::float32, shape,
                                                           test::normal_numbers(count, seed)));
  };
  const auto add = [&](const std::string& kind, Value data, Value by, const std::string& name) {
    return Value{graph.add({.kind = kind, .operands = {data, by}, .results = {{name, type}}})};
  };
  Value y = graph.add_input("x", type);
  y = add("multiply", y, constant("factors", {columns_of_sums}, 1), "scaled");
  for (const std::string layer : {"0", "1"}) {
    y = add("matmul", y, constant("w" + layer, {columns_of_sums, columns_of_sums}, 2), "y" + layer);
    y = add("add", y, constant("b" + layer, {columns_of_sums}, 3), "z" + layer);
  }
  graph.add_output("out", y);
  return graph;
}

MemoryData samples_of_sums() {
  std::vector<Sample> made;
  for (unsigned i = 0; i < 4; ++i) {
    made.push_back(
        sample_of({32, columns_of_sums}, test::normal_numbers(32 * columns_of_sums, 100 + i, 1)));
  }
  return MemoryData(std::move(made));
}

struct Asked {
  std::string scheme;
  OptionValues model;
  std::optional<double> target_bits;
};

RunRequest request_for(const Asked& asked, const DataSet& samples) {
  RunRequest request;
  request.recipe.recipe.schemes = {value_of(parse_scheme_choice(asked.scheme))};
  request.recipe.recipe.model = asked.model;
  request.recipe.recipe.target_bits = asked.target_bits;
  request.inputs.samples = &samples;
  return request;
}

}  // namespace

TEST_CASE("the same model by sums in memory and by those that are away") {
  const Graph model = model_of_sums();
  const MemoryData samples = samples_of_sums();
  const std::string coded = "w=weight_only,bits=4";
  const auto optimized = [](const std::string& names) {
    return std::pair{std::string("optimize"), OptionValue(std::vector<std::string>{names})};
  };
  const auto rank = std::pair{std::string("low_rank"), OptionValue(std::int64_t{4})};
  const auto sequential = std::pair{std::string("sequential"), OptionValue(true)};
  const std::vector<Asked> all{{.scheme = coded},
                               {.scheme = coded, .model = {optimized("bc")}},
                               {.scheme = coded, .model = {optimized("migrate")}},
                               {.scheme = coded, .model = {sequential}},
                               {.scheme = coded, .model = {rank}},
                               {.scheme = coded + ",rounding=nearest", .model = {rank}},
                               {.scheme = coded, .model = {rank, sequential}},
                               {.scheme = "w=weight_only", .target_bits = 12}};
  for (const Asked& asked : all) {
    CAPTURE(asked.scheme);
    for (const auto& [name, value] : asked.model) CAPTURE(name);
    const test::TemporaryFolder folder;
    // Sums of a layer take 300 numbers: a sixteenth of this has room for them.
    const RunContext away{.moments_memory = std::uint64_t{16} * 300 * 8, .scratch = folder.path()};
    const RunResult wanted = value_of(run(request_for(asked, samples), model));
    const RunResult found = value_of(run(request_for(asked, samples), model, away));
    CHECK(print_graph(found.quantized.graph) == print_graph(wanted.quantized.graph));
  }
}

TEST_CASE("sensitivities are the same by sums in memory and by those that are away") {
  const Graph model = model_of_sums();
  const MemoryData samples = samples_of_sums();
  const test::TemporaryFolder folder;
  const Interpreter interpreter;
  const auto study = [&](const RunContext& context) {
    const RunRequest request = request_for({.scheme = "w=weight_only,bits=4"}, samples);
    PreparedRun prepared = value_of(prepare(value_of(check_run(request, context)), model, context));
    return value_of(
        study_sensitivity(prepared, interpreter, samples, {.cache = folder / "cache.json"}));
  };
  const auto wanted = study({});
  REQUIRE(wanted.size() == 2);
  // Those of the cache, by what tells one study from another.
  const auto found =
      study({.moments_memory = std::uint64_t{16} * 300 * 8, .scratch = folder.path()});
  REQUIRE(found.size() == 2);
  for (const LayerSensitivity& each : found) CHECK(each.is_cached);
}

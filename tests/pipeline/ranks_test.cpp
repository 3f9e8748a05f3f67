// Calls on several ranks give what they give alone, bit by bit.
#include "quadrant/support/ranks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model_text.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/quadrant.hpp"
#include "quadrant/recipe/documents.hpp"
#include "report/json.hpp"
#include "temporary_folder.hpp"
#include "thread_ranks.hpp"

using namespace quadrant;
using test::on_ranks;
using test::value_of;

namespace {

constexpr std::array<std::size_t, 5> sizes{1, 2, 3, 4, 7};

// Three products, of which one is behind a convolution.
Graph model() {
  std::string text = "%x: tensor<?x2x6xf32> = input()\n";
  const auto weight = [&](const std::string& name, const std::string& extents, int count) {
    text += "%" + name + ": tensor<" + extents + "xf32> = constant() [";
    for (int i = 0; i < count; ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string((i * 37 % 23 - 11) / 16.0);
    }
    text += "]\n";
  };
  weight("w", "4x2x3", 24);
  weight("v", "4x8", 32);
  weight("u", "8x5", 40);
  text +=
      "%c: tensor<?x4x4xf32> = conv(%x, %w)\n"
      "%r: tensor<?x4x4xf32> = onnx.Relu(%c)\n"
      "%h: tensor<?x4x8xf32> = matmul(%r, %v)\n"
      "%t: tensor<?x4x8xf32> = onnx.Relu(%h)\n"
      "%y: tensor<?x4x5xf32> = matmul(%t, %u)\n"
      "output(%y) {name = \"y\"}\n";
  return value_of(parse_graph(text));
}

// The same text from `call` alone, and on each of so many ranks.
template <class Call>
void check_same(Call call) {
  const std::string alone = value_of(call(nullptr));
  for (const std::size_t size : sizes) {
    CAPTURE(size);
    const auto on = [&](Ranks& ranks) { return call(&ranks); };
    for (const Expected<std::string>& got : on_ranks(size, on)) {
      REQUIRE_MESSAGE(got, to_string(got.error()));
      CHECK(*got == alone);
    }
  }
}

constexpr std::size_t samples = 5;

}  // namespace

TEST_CASE("statistics, grids and moments") {
  const Graph graph = model();
  const auto data = random_data_set(graph, samples, 3);
  check_same([&](Ranks* ranks) {
    return gather_statistics({graph, Interpreter(), *data}, {}, {.ranks = ranks})
        .map(print_statistics);
  });
  check_same([&](Ranks* ranks) {
    return gather_moments_grid({graph, Interpreter(), *data}, {.ranks = ranks})
        .map([](const MomentsGrid& grid) { return print_moments(grid); });
  });
  check_same([&](Ranks* ranks) {
    return gather_moments({graph, Interpreter(), *data}, nullptr, {.ranks = ranks})
        .map([](const SecondMomentsTable& moments) { return print_moments(moments); });
  });
  // Parts of the samples, on ranks.
  check_same([&](Ranks* ranks) {
    return gather_statistics({graph, Interpreter(), *data, {1, 2}}, {}, {.ranks = ranks})
        .map(print_statistics);
  });
}

TEST_CASE("quantized models: rounded by samples, and with ranges found on them") {
  const Graph graph = model();
  const auto data = random_data_set(graph, samples, 3);
  for (const char* preset : {"int4-block32", "int8-static"}) {
    CAPTURE(preset);
    NamedRecipe recipe = value_of(recipe_of_preset(preset));
    if (std::string(preset) == "int4-block32")
      recipe.recipe.model["optimize"] = std::vector<std::string>{"bc"};
    check_same([&](Ranks* ranks) -> Expected<std::string> {
      const RunRequest request{.recipe = recipe, .inputs = {.samples = data.get()}};
      QUADRANT_TRY(const RunResult done, run(request, graph, {.ranks = ranks}));
      QUADRANT_TRY(std::string text, print_model(done.quantized.graph));
      if (done.prepared.rounding != nullptr) {
        for (const auto& [name, rounded] : done.prepared.rounding->weights) {
          text += name + std::to_string(rounded.error) + std::to_string(rounded.descent);
        }
        CHECK(done.prepared.rounding->weights.size() == 3);
      }
      return text;
    });
  }
}

TEST_CASE("comparisons and sensitivities") {
  const Graph graph = model();
  const auto data = random_data_set(graph, samples, 3);
  const RunRequest request{.recipe = value_of(recipe_of_preset("int8"))};
  const Graph quantized = value_of(run(request, graph)).quantized.graph;
  check_same([&](Ranks* ranks) -> Expected<std::string> {
    CompareOptions options{.layers = true, .label_output = "y", .ranks = ranks};
    options.labels = std::vector<std::int64_t>(samples * 4, 2);
    QUADRANT_TRY(const Comparison compared,
                 compare(graph, quantized, Interpreter(), *data, options));
    return text_of(to_json(compared));
  });
  check_same([&](Ranks* ranks) -> Expected<std::string> {
    QUADRANT_TRY(CheckedRun checked, check_run(request));
    QUADRANT_TRY(PreparedRun prepared, prepare(std::move(checked), graph, {.ranks = ranks}));
    QUADRANT_TRY(const auto study, study_sensitivity(prepared, Interpreter(), *data));
    SensitivityCache all;
    for (const LayerSensitivity& layer : study) all.layers[layer.layer].outputs = layer.outputs;
    CHECK(all.layers.size() == 3);
    return print_sensitivity(all);
  });
}

TEST_CASE("sensitivities that one rank alone has saved") {
  const Graph graph = model();
  const auto data = random_data_set(graph, samples, 3);
  const RunRequest request{.recipe = value_of(recipe_of_preset("int8"))};
  const test::TemporaryFolder folder;
  const auto measured = [&](Ranks* ranks, const std::string& cache) -> Expected<std::string> {
    QUADRANT_TRY(CheckedRun checked, check_run(request));
    QUADRANT_TRY(PreparedRun prepared, prepare(std::move(checked), graph, {.ranks = ranks}));
    QUADRANT_TRY(const auto study,
                 study_sensitivity(prepared, Interpreter(), *data, {.cache = folder / cache}));
    std::string text;
    for (const LayerSensitivity& layer : study) {
      text += layer.layer + (layer.is_cached ? " cached" : "") + '\n';
      CHECK(layer.outputs.size() == 1);
    }
    return text;
  };
  const std::string alone = value_of(measured(nullptr, "0"));
  const std::string cached = value_of(measured(nullptr, "0"));
  CHECK(cached != alone);
  for (const bool first_has_it : {true, false}) {
    std::filesystem::rename(folder / "0", folder / (first_has_it ? "0" : "1"));
    const auto call = [&](Ranks& ranks) { return measured(&ranks, std::to_string(ranks.rank())); };
    for (const auto& got : on_ranks(3, call)) {
      CHECK(value_of(got) == (first_has_it ? cached : alone));
    }
  }
}

TEST_CASE("codes that others found lie where one's own do") {
  const Graph graph = model();
  const auto data = random_data_set(graph, samples, 3);
  const RunRequest request{.recipe = value_of(recipe_of_preset("int4-block32")),
                           .inputs = {.samples = data.get()}};  // by which they are rounded
  const test::TemporaryFolder folder;
  const auto call = [&](Ranks& ranks) -> Expected<std::size_t> {
    ConstantStore nothing_in_memory(0, folder.path());
    QUADRANT_TRY(const RunResult done,
                 run(request, graph, {.ranks = &ranks}, {.store = &nothing_in_memory}));
    const Graph& quantized = done.quantized.graph;
    std::size_t stored = 0;
    for (std::uint32_t i = 0; i < quantized.index_bound(); ++i) {
      const NodeId node = quantized.node_at(i);
      const Constant* const constant = node.is_valid() ? quantized.constant(node) : nullptr;
      if (constant == nullptr || !quantized.type({node}).is_quantized()) continue;
      CHECK(constant->is_deferred());
      ++stored;
    }
    return stored;
  };
  for (const auto& got : on_ranks(2, call)) CHECK(value_of(got) == 3);
}

TEST_CASE("ranks with other options are refused") {
  const Graph graph = model();
  const auto call = [&](Ranks& ranks) -> Expected<void> {
    RunRequest request{.recipe = value_of(recipe_of_preset("int4-block32"))};
    if (ranks.rank() == 1) request.recipe = value_of(recipe_of_preset("int8"));
    return run(request, graph, {.ranks = &ranks}).map([](const RunResult&) {});
  };
  for (const auto& got : on_ranks(3, call)) {
    REQUIRE_FALSE(got);
    CHECK(got.error().code == ErrorCode::usage);
    CHECK(got.error().message.find(
              "what is quantized, or how, differs between rank 0 of 3 and rank 1 of 3") == 0);
  }
}

TEST_CASE("an error on one rank ends the call on all") {
  const Graph graph = model();
  const auto data = random_data_set(graph, samples, 3);

  class Broken final : public DataSet {
   public:
    Broken(const DataSet& samples, std::size_t bad) : samples_(samples), bad_(bad) {}
    [[nodiscard]] std::size_t size() const override { return samples_.size(); }
    [[nodiscard]] std::string name(std::size_t i) const override { return samples_.name(i); }
    [[nodiscard]] Expected<Sample> sample(std::size_t i) const override {
      if (i == bad_) return fail(ErrorCode::io, "cannot be read");
      return samples_.sample(i);
    }

   private:
    const DataSet& samples_;
    std::size_t bad_;
  };
  const Broken broken(*data, 2);
  const auto call = [&](Ranks& ranks) {
    return gather_moments({graph, Interpreter(), broken}, nullptr, {.ranks = &ranks})
        .map([](const SecondMomentsTable&) {});
  };
  for (const auto& got : on_ranks(4, call)) {
    REQUIRE_FALSE(got);
    CHECK(got.error() ==
          Error{ErrorCode::io, "cannot be read (rank 2 of 4)", {.file = "random_2"}});
  }
}

TEST_CASE("ranks with other samples are refused") {
  const Graph graph = model();
  const auto call = [&](Ranks& ranks) {
    const auto data = random_data_set(graph, ranks.rank() == 1 ? 4 : 5, 3);
    return gather_statistics({graph, Interpreter(), *data}, {}, {.ranks = &ranks})
        .map([](const StatisticsTable&) {});
  };
  for (const auto& got : on_ranks(3, call)) {
    REQUIRE_FALSE(got);
    CHECK(got.error().message.find("the list of samples differs between rank 0 of 3 and rank 1") ==
          0);
  }
}

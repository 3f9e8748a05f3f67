#include "pipeline/float_parts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model_text.hpp"
#include "quadrant/quadrant.hpp"
#include "transforms/models.hpp"

using namespace quadrant;
using test::ModelBuilder;
using test::value_of;

namespace {

// A product of the input, `between` behind it, and another product.
struct Chain {
  explicit Chain(const std::vector<std::string>& between) {
    ModelBuilder model;
    const auto product = [&](Value from, const std::string& name) {
      return model.add("matmul", {from, model.random_constant({32, 32})}, name);
    };
    Value y = product(model.graph.add_input("x", {ElementType::float32, Shape{8, 32}}), "first");
    for (const std::string& kind : between) y = model.add(kind, {y}, kind);
    model.graph.add_output("out", product(y, "last"));
    REQUIRE(infer_shapes(model.graph));
    graph = std::move(model.graph);
    samples = random_data_set(graph, 4, 1);
  }

  [[nodiscard]] RunRequest request(std::vector<std::string> exclude = {}) const {
    return {.recipe = {.recipe = {.schemes = {{"static_affine", "static_affine", {}}},
                                  .exclude = std::move(exclude)}},
            .inputs = {.samples = samples.get()}};
  }
  [[nodiscard]] PreparedRun prepared() const {
    return value_of(prepare(value_of(check_run(request())), graph));
  }

  Graph graph;
  std::unique_ptr<DataSet> samples;
};

std::vector<std::string> steep_behind(const std::vector<std::string>& between) {
  PreparedRun run = Chain(between).prepared();
  std::vector<std::string> names;
  for (const FloatPart& part : value_of(steep_values(run))) names.push_back(part.name);
  return names;
}

}  // namespace

TEST_CASE("steep values: what is in codes in front of a logarithm and the like") {
  for (const char* const kind : {"onnx.Log", "onnx.Exp", "onnx.Reciprocal", "onnx.Sqrt"}) {
    CAPTURE(kind);
    CHECK(steep_behind({kind}) == std::vector<std::string>{"first"});
    // Through what is float itself.
    CHECK(steep_behind({"onnx.Softplus", kind}) == std::vector<std::string>{"first"});
  }
  CHECK(steep_behind({}).empty());
  CHECK(steep_behind({"onnx.Erf"}).empty());
}

TEST_CASE("steep values: what takes the place of those that become float is among them") {
  const std::vector<std::string> found = steep_behind({"onnx.Relu", "onnx.Sqrt"});
  CHECK(std::ranges::find(found, "first") != found.end());
  CHECK(std::ranges::find(found, "last") == found.end());
}

TEST_CASE("steep values: time does not grow with the square of the steep operations") {
  const auto seconds = [](std::size_t operations) {
    const Chain chain(std::vector<std::string>(operations, "onnx.Exp"));
    double least = std::numeric_limits<double>::max();  // others may use the processor, too
    for (int i = 0; i < 3; ++i) {
      PreparedRun run = chain.prepared();  // which is changed
      const auto begin = std::chrono::steady_clock::now();
      const auto found = steep_values(run);
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      least = std::min(least, passed.count());
      REQUIRE(value_of(found).size() == 1);
      CHECK(value_of(found)[0].name == "first");
    }
    return least;
  };
  // 8 where each is looked at once, 64 where each looks at all.
  CHECK(seconds(24000) < 24 * seconds(3000));
}

TEST_CASE("costly products: by their errors, with all others in float") {
  const Chain chain({"onnx.Tanh"});
  PreparedRun run = chain.prepared();
  const std::vector<CostlyProduct> costly = value_of(costly_products(run, *chain.samples));
  REQUIRE(costly.size() == 2);
  CHECK(costly[0].alone.sqnr_db() <= costly[1].alone.sqnr_db());
  for (const CostlyProduct& each : costly) {
    CAPTURE(each.part.name);
    // The same by a run that leaves the other in float.
    const std::string other = each.part.name == "first" ? "^last$" : "^first$";
    const RunResult alone = value_of(quadrant::run(chain.request({other}), chain.graph));
    const Comparison compared =
        value_of(compare(chain.graph, alone.quantized.graph, Interpreter(), *chain.samples));
    CHECK(each.alone.sqnr_db() == doctest::Approx(compared.outputs[0].agreement.sqnr_db()));
  }
}

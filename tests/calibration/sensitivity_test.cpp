#include "quadrant/calibration/sensitivity.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <span>

#include "calibration/memory_data.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/runtime/interpreter.hpp"

using namespace quadrant;

namespace {

// y = x + a + b + c; "quantizing" one of them adds 0.5, 0.25 or nothing to it.
Graph sum_of(double a, double b, double c) {
  const auto constant = [](const char* name, double value) {
    return "%" + std::string(name) + ": tensor<f64> = constant() [" + std::to_string(value) + "]\n";
  };
  auto graph = parse_graph("%x: tensor<?xf64> = input()\n" + constant("a", a) + constant("b", b) +
                           constant("c", c) +
                           "%xa: tensor<?xf64> = add(%x, %a)\n%xb: tensor<?xf64> = add(%xa, %b)\n"
                           "%y: tensor<?xf64> = add(%xb, %c)\noutput(%y) {name = \"y\"}\n");
  REQUIRE(graph);
  return *std::move(graph);
}

Sample sample(const std::vector<double>& values) {
  return {{Tensor::from_values<double>(ElementType::float64,
                                       {static_cast<std::int64_t>(values.size())}, values)}};
}

MemoryData many_samples(std::size_t count = 40) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < count; ++i) samples.push_back(sample({static_cast<double>(i), 1}));
  return MemoryData(std::move(samples));
}

class Counted {
 public:
  Expected<Graph> operator()(std::size_t layer) {
    ++calls;
    if (layer == 0) return sum_of(1.5, 2, 3);
    if (layer == 1) return sum_of(1, 2.25, 3);
    if (layer == 2) return sum_of(1, 2, 3);
    return fail(ErrorCode::usage, "no such layer");
  }
  std::atomic<int> calls = 0;
};

const std::vector<SensitivityLayer> layers{{"a", 1}, {"b", 2}, {"c", 3}};

double sqnr_db(const LayerSensitivity& layer) { return layer.worst()->agreement.sqnr_db(); }
const auto nothing = []() -> Expected<void> { return {}; };

}  // namespace

TEST_CASE("each layer alone, on all samples") {
  Counted alone;
  const Graph graph = sum_of(1, 2, 3);
  const auto study =
      measure_sensitivity(graph, layers, alone, Interpreter(), many_samples(), {}, nothing);
  REQUIRE(study);
  REQUIRE(study->size() == 3);
  // y is i + 6 and 7 for i below 40.
  double signal = 0;
  for (int i = 0; i < 40; ++i) signal += (i + 6) * (i + 6) + 49;
  CHECK((*study)[0].layer == "a");
  CHECK(sqnr_db((*study)[0]) == doctest::Approx(10 * std::log10(signal / (80 * 0.25))));
  CHECK(sqnr_db((*study)[1]) == doctest::Approx(10 * std::log10(signal / (80 * 0.0625))));
  CHECK(std::isinf(sqnr_db((*study)[2])));
  CHECK((*study)[0].outputs[0].name == "y");
  CHECK(alone.calls == 3);
  CHECK(worse_than((*study)[0], (*study)[1]));
  CHECK(worse_than((*study)[1], (*study)[2]));
  CHECK(!worse_than((*study)[2], (*study)[1]));
  CHECK(worse_than((*study)[2], LayerSensitivity{}));  // of a model without outputs
  CHECK(!worse_than(LayerSensitivity{}, LayerSensitivity{}));
}

TEST_CASE("without room for the model's own outputs the result is the same") {
  Counted alone;
  const Graph graph = sum_of(1, 2, 3);
  const MemoryData samples = many_samples();
  const auto roomy = measure_sensitivity(graph, layers, alone, Interpreter(), samples, {}, nothing);
  const auto cramped =
      measure_sensitivity(graph, layers, alone, Interpreter(), samples, {.memory = 100}, nothing);
  REQUIRE(roomy);
  REQUIRE(cramped);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK((*roomy)[i].outputs[0].agreement == (*cramped)[i].outputs[0].agreement);
  }
}

TEST_CASE("what was measured is not measured again") {
  Counted alone;
  const Graph graph = sum_of(1, 2, 3);
  SensitivityCache cache{.fingerprint = 7, .layers = {}};
  SensitivityOptions options{.cache = &cache};
  const auto first = std::span(layers).first(2);
  REQUIRE(
      measure_sensitivity(graph, first, alone, Interpreter(), many_samples(), options, nothing));
  CHECK(alone.calls == 2);
  cache.layers.at("a").decision = 9;  // another than today's
  // Through a file, and back.
  auto saved = parse_sensitivity(print_sensitivity(cache));
  REQUIRE(saved);
  CHECK(saved->fingerprint == 7);
  CHECK(saved->layers.at("b").outputs[0].agreement == cache.layers.at("b").outputs[0].agreement);
  options.cache = &*saved;
  const auto study =
      measure_sensitivity(graph, layers, alone, Interpreter(), many_samples(), options, nothing);
  REQUIRE(study);
  CHECK(alone.calls == 4);
  CHECK(!(*study)[0].is_cached);
  CHECK((*study)[1].is_cached);
  CHECK(!(*study)[2].is_cached);
  CHECK(saved->layers.size() == 3);
  CHECK(saved->layers.at("a").decision == 1);
}

TEST_CASE("each layer may be saved as soon as it is measured") {
  Counted alone;
  const Graph graph = sum_of(1, 2, 3);
  for (const std::size_t count : {1U, 40U}) {
    SensitivityCache cache;
    std::vector<std::size_t> seen;
    const auto look = [&]() -> Expected<void> {
      seen.push_back(cache.layers.size());
      return {};
    };
    const MemoryData samples = many_samples(count);
    REQUIRE(
        measure_sensitivity(graph, layers, alone, Interpreter(), samples, {.cache = &cache}, look));
    CHECK(seen == std::vector<std::size_t>{1, 2, 3});
  }
  // What is measured before an error is there.
  SensitivityCache cache;
  const auto full = []() -> Expected<void> { return fail(ErrorCode::io, "full"); };
  REQUIRE(!measure_sensitivity(graph, layers, alone, Interpreter(), many_samples(),
                               {.cache = &cache}, full));
  CHECK(cache.layers.size() == 1);
  CHECK(cache.layers.at("a").outputs[0].agreement.elements == 80);
}

TEST_CASE("without samples there is nothing to agree on") {
  Counted alone;
  const Graph graph = sum_of(1, 2, 3);
  const auto study =
      measure_sensitivity(graph, layers, alone, Interpreter(), MemoryData({}), {}, nothing);
  REQUIRE(study);
  REQUIRE((*study)[2].outputs.size() == 1);
  CHECK((*study)[2].outputs[0].agreement.elements == 0);
}

TEST_CASE("errors end the study") {
  Counted alone;
  const Graph graph = sum_of(1, 2, 3);
  auto unknown = layers;
  unknown.push_back({"nothing"});
  const auto study =
      measure_sensitivity(graph, unknown, alone, Interpreter(), many_samples(), {}, nothing);
  REQUIRE(!study);
  CHECK(study.error().message == "no such layer");
  const auto stopped =
      measure_sensitivity(graph, layers, alone, Interpreter(), many_samples(), {},
                          []() -> Expected<void> { return fail(ErrorCode::io, "full"); });
  REQUIRE(!stopped);
  CHECK(stopped.error().message == "full");
}

TEST_CASE("errors name the sample") {
  Counted alone;
  const Graph graph = sum_of(1, 2, 3);
  MemoryData bad(
      {sample({1, 2}),
       {{Tensor::from_values<float>(ElementType::float32, {1}, std::vector<float>{1})}}});
  const auto study = measure_sensitivity(graph, layers, alone, Interpreter(), bad, {}, nothing);
  REQUIRE(!study);
  CHECK(study.error().message.ends_with(" (sample '" + bad.name(1) + "')"));
}

TEST_CASE("sums that overflow are not kept: JSON has no infinity") {
  const double infinity = std::numeric_limits<double>::infinity();
  SensitivityCache cache;
  cache.layers["a"] = {1, {{"y", "add", {.elements = 1, .signal = infinity}}}};
  cache.layers["b"] = {2, {{"y", "add", {.elements = 1, .equal = 1}}}};
  const auto saved = parse_sensitivity(print_sensitivity(cache));
  REQUIRE(saved);
  CHECK(saved->layers.size() == 1);
  CHECK(saved->layers.contains("b"));
}

TEST_CASE("the fingerprint sees weights, samples and settings") {
  const Graph graph = sum_of(1, 2, 3);
  const MemoryData samples = many_samples(3);
  const auto same = sensitivity_fingerprint(graph, samples, "bits=8");
  REQUIRE(same);
  CHECK(*same == *sensitivity_fingerprint(sum_of(1, 2, 3), many_samples(3), "bits=8"));
  CHECK(*same != *sensitivity_fingerprint(sum_of(1, 2, 4), samples, "bits=8"));
  CHECK(*same != *sensitivity_fingerprint(graph, many_samples(4), "bits=8"));
  CHECK(*same != *sensitivity_fingerprint(graph, samples, "bits=4"));
}

TEST_CASE("a damaged study is refused") {
  for (const char* text :
       {"", "{}", R"({"format": "quadrant.plan", "version": 1})",
        R"({"format": "quadrant.sensitivity", "version": 2, "fingerprint": "xyz", "layers": []})",
        R"({"format": "quadrant.sensitivity", "version": 2, "fingerprint": "0", "layers": [1]})"}) {
    const auto study = parse_sensitivity(text);
    REQUIRE_MESSAGE(!study, text);
    CHECK(study.error().code == ErrorCode::invalid_model);
  }
}

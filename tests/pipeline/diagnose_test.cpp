// Why a quantized model is worse: shares beside models made by hand, remedies by running them.
#include "quadrant/pipeline/diagnose.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "model_text.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/transforms/prepare.hpp"

using namespace quadrant;
using test::value_of;

namespace {

// The example without its normalizations, so that weights are what is quantized.
Graph folded_digits() {
  Graph graph = value_of(read_model(QUADRANT_SOURCE_DIR "/examples/models/digits_cnn.onnx"));
  value_of(fold_batch_norm(graph));
  return graph;
}

Recipe static_recipe() {
  Recipe recipe;
  recipe.schemes.push_back(
      {"static_affine", "static_affine", {{"weights", std::string("tensor")}}});
  return recipe;
}

// One that the given model has alone: of its one output.
Agreement agreement(const Graph& model, const Graph& other, const DataSet& data) {
  return value_of(compare(model, other, Interpreter(), data)).outputs.at(0).agreement;
}

struct Subject {
  Graph model = folded_digits();
  std::unique_ptr<DataSet> data = random_data_set(model, 6, 1);
  RunInputs samples{.samples = data.get()};

  [[nodiscard]] Graph quantized(const Recipe& recipe) const {
    return value_of(run({.recipe = {recipe, "test"}, .inputs = samples}, model)).quantized.graph;
  }
};

}  // namespace

TEST_CASE("a weight's share is what the float model loses with this weight rounded") {
  const Subject subject;
  Graph quantized = subject.quantized(static_recipe());
  const Diagnosis found = value_of(
      diagnose(subject.model, quantized, subject.samples, {.most = 40, .try_remedies = false}));
  CHECK(found.samples == 6);
  CHECK(found.places == found.measured);
  CHECK(found.floor.sqnr_db() > found.worst.sqnr_db() + 30);
  make_quantization_explicit(quantized);
  CHECK(found.worst.noise ==
        doctest::Approx(agreement(subject.model, quantized, *subject.data).noise));

  int weights = 0;
  for (const Cause& cause : found.causes) {
    if (!cause.is_weight) continue;
    const Value codes = quantized.find_value(cause.name + std::string(quantized_ending));
    REQUIRE_FALSE(codes.is_absent());
    Graph rounded = subject.model;
    rounded.set_constant(
        rounded.find_value(cause.name).node,
        value_of(dequantized(*quantized.constant(codes.node), quantized.type(codes).quantization)));
    const double noise = agreement(subject.model, rounded, *subject.data).noise;
    CHECK(cause.share.value() == doctest::Approx(noise / found.worst.noise).epsilon(0.02));
    ++weights;
  }
  CHECK(weights > 3);
  CHECK(std::ranges::is_sorted(found.causes, std::ranges::greater(),
                               [](const Cause& cause) { return cause.share.value_or(0); }));
}

TEST_CASE("weights whose numbers are others are named, and not measured") {
  const Subject subject;
  const Graph quantized = subject.quantized(static_recipe());
  Graph real = subject.model;
  std::string scaled;
  for (std::uint32_t i = 0; i < real.index_bound() && scaled.empty(); ++i) {
    const NodeId node = real.node_at(i);
    const Constant* const weight = node.is_valid() ? real.constant(node) : nullptr;
    if (weight == nullptr || weight->shape().rank() < 2) continue;
    scaled = real.value_name({node});
    const ConstantBytes bytes = value_of(weight->read());
    std::vector<float> values(bytes.as<float>().begin(), bytes.as<float>().end());
    for (float& value : values) value *= 3;
    real.set_constant(node, Constant::from_vector(ElementType::float32, weight->shape(), values));
  }
  const Diagnosis found =
      value_of(diagnose(real, quantized, subject.samples, {.try_remedies = false}));
  REQUIRE(found.left_alone.size() == 1);
  CHECK(found.left_alone[0].name == scaled);
  CHECK(to_string(found, [](const Recipe&) {
          return std::string();
        }).find("not measured: weight " + scaled + ": its codes are 3.5 dB") != std::string::npos);
  const auto all =
      value_of(diagnose(subject.model, quantized, subject.samples, {.try_remedies = false}));
  CHECK(all.left_alone.empty());
  CHECK(found.places + 1 == all.places);
}

TEST_CASE("a remedy gives what it says, and more than there was") {
  const Subject subject;
  const Graph quantized = subject.quantized(static_recipe());
  const Diagnosis found =
      value_of(diagnose(subject.model, quantized, subject.samples, {.most = 4}));
  REQUIRE(!found.causes.empty());
  int remedies = 0;
  for (const Cause& cause : found.causes) {
    if (!cause.remedy || cause.kind == CauseKind::saturation) continue;
    Graph made = subject.quantized(cause.remedy->recipe);
    make_quantization_explicit(made);
    const Agreement better = agreement(subject.model, made, *subject.data);
    CHECK(better.noise == doctest::Approx(cause.remedy->worst.noise));
    CHECK(better.sqnr_db() > found.worst.sqnr_db());
    ++remedies;
  }
  CHECK(remedies > 0);
  const std::string text = to_string(found, [](const Recipe&) { return std::string("TYPED"); });
  CHECK(text.find("TYPED") != std::string::npos);
}

TEST_CASE("a stop ends it") {
  const Subject subject;
  const Graph quantized = subject.quantized(static_recipe());
  std::stop_source source;
  source.request_stop();
  const auto stopped =
      diagnose(subject.model, quantized, subject.samples, {}, {.stop = source.get_token()});
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::cancelled);
}

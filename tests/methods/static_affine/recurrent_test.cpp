// Recurrent layers compute in float; on request their weights are stored as codes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "build.hpp"
#include "quantized_types.hpp"

using namespace quadrant;
using quadrant::test::first_output;
using quadrant::test::Model;
using quadrant::test::planned;

namespace {

constexpr std::int64_t inputs = 3;
constexpr std::int64_t hidden = 2;

struct RecurrentLayer {
  std::string_view kind;
  std::int64_t gates = 0;
};
constexpr RecurrentLayer layers[]{{ops::Rnn::kind, ops::Rnn::gates},
                                  {ops::Gru::kind, ops::Gru::gates},
                                  {ops::Lstm::kind, ops::Lstm::gates}};

Attributes attributes_of(std::int64_t directions) {
  Attributes attributes{{"hidden_size", hidden}};
  if (directions == 2) attributes.set("direction", std::string("bidirectional"));
  return attributes;
}

// y = layer(x, w, r, b)
Model recurrent_model(const RecurrentLayer& layer, std::int64_t directions) {
  Model model;
  const std::int64_t rows = layer.gates * hidden;
  const Value x = model.input("x", {5, 1, inputs});
  const Value w = model.weight("w", {directions, rows, inputs});
  const Value r = model.weight("r", {directions, rows, hidden});
  const Value b = model.weight("b", {directions, 2 * rows});
  model.output(model.add(std::string(layer.kind), {x, w, r, b}, "y", attributes_of(directions)));
  return model;
}

// Of a weight [directions, rows, columns], the largest magnitude in each row of either direction.
std::vector<double> magnitudes_of_rows(const Graph& graph, std::string_view name) {
  const Constant& weight = *graph.constant(graph.find_value(name).node);
  const auto tensor = test::value_of(Tensor::from_constant(weight));
  const auto values = tensor.as<float>();
  const auto rows = static_cast<std::size_t>(weight.shape()[1].value());
  const auto columns = static_cast<std::size_t>(weight.shape()[2].value());
  std::vector<double> found(rows, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& largest = found[i / columns % rows];
    largest = std::max(largest, std::abs(static_cast<double>(values[i])));
  }
  return found;
}

}  // namespace

TEST_CASE("static_affine: recurrent weights as codes have a scale for each row of each gate") {
  for (const RecurrentLayer& layer : layers) {
    for (const std::int64_t directions : {1, 2}) {
      CAPTURE(layer.kind);
      CAPTURE(directions);
      Model model = recurrent_model(layer, directions);
      StaticAffineOptions options;
      options.quantized_recurrent_weights = true;
      const QuantizeResult result = test::quantized_by_operands(model, options);
      for (const std::string_view name : {"w", "r"}) {
        CAPTURE(name);
        CHECK(planned(result, name) == "weight i8 axis=1");
        const auto type = test::type_of_codes(result.graph, name);
        REQUIRE(type != nullptr);
        const auto scales = test::scales_of(*type);
        const auto magnitudes = magnitudes_of_rows(model.graph, name);
        REQUIRE(scales.size() == static_cast<std::size_t>(layer.gates * hidden));
        for (std::size_t row = 0; row < scales.size(); ++row) {
          CHECK(static_cast<double>(scales[row]) ==
                doctest::Approx(magnitudes[row] / 127).epsilon(1e-6));
        }
      }
      CHECK(planned(result, "b") == "float");
      CHECK(planned(result, "y") == "float");
      CHECK(result.graph.kind(result.graph.find_value("y").node) == layer.kind);
      const std::vector<Tensor> sample = model.sample();
      const auto real = first_output(model.graph, sample);
      const auto found = first_output(result.graph, sample);
      REQUIRE(found.size() == real.size());
      // A weight is off by half a step at most, about 1.5 / 254; sums have five of them.
      for (std::size_t i = 0; i < real.size(); ++i) CHECK(std::abs(found[i] - real[i]) < 0.03F);
      CHECK(found != real);
    }
  }
}

TEST_CASE("static_affine: recurrent weights are float unless codes are asked for") {
  for (const RecurrentLayer& layer : layers) {
    CAPTURE(layer.kind);
    Model model = recurrent_model(layer, 1);
    const QuantizeResult result = test::quantized_by_operands(model);
    CHECK(result.analysis.plan.values.empty());
    CHECK(test::reason(model.graph, result, "y") == "recurrent layers compute in float");
    CHECK(test::reason(model.graph, result, "w") ==
          "no operation requests it in quantized form; it is read by " + std::string(layer.kind) +
              " (operand 1); 'y' does not: recurrent layers compute in float");
  }
}

TEST_CASE("static_affine: recurrent weights follow the options of weights") {
  Model model = recurrent_model({ops::Gru::kind, ops::Gru::gates}, 1);
  StaticAffineOptions options;
  options.quantized_recurrent_weights = true;
  options.weights.bits = 4;
  options.weight_granularity = Granularity::Kind::tensor;
  const QuantizeResult result = test::quantized_by_operands(model, options);
  CHECK(planned(result, "w") == "weight i4");
  const auto type = test::type_of_codes(result.graph, "w");
  REQUIRE(type != nullptr);
  const auto magnitudes = magnitudes_of_rows(model.graph, "w");
  CHECK(static_cast<double>(test::scales_of(*type)[0]) ==
        doctest::Approx(*std::ranges::max_element(magnitudes) / 7).epsilon(1e-6));
}

TEST_CASE("static_affine: a recurrent weight behind moves has the rows of where it is read") {
  Model model;
  const Value x = model.input("x", {5, 1, inputs});
  const Value turned = model.add("transpose", {model.weight("w", {inputs, hidden})}, "turned");
  const Value w = model.add("unsqueeze", {turned, model.integers({0})}, "formed");
  const Value r = model.weight("r", {1, hidden, hidden});
  model.output(model.add("rnn", {x, w, r}, "y", attributes_of(1)));
  StaticAffineOptions options;
  options.quantized_recurrent_weights = true;
  const QuantizeResult result = test::quantized_by_operands(model, options);
  CHECK(planned(result, "w") == "weight i8 axis=1");
  CHECK(planned(result, "turned") == "weight i8 axis=0");
  CHECK(planned(result, "formed") == "weight i8 axis=1");
}

TEST_CASE("static_affine: a recurrent weight that is computed, or absent, is asked for nothing") {
  Model model;
  const Value x = model.input("x", {5, 1, inputs});
  const Value w = model.input("w", {1, hidden, inputs});
  const Value r = model.weight("r", {1, hidden, hidden});
  model.output(model.add("rnn", {x, w, r}, "y", attributes_of(1)));
  StaticAffineOptions options;
  options.quantized_recurrent_weights = true;
  const QuantizeResult result = test::quantized_by_operands(model, options);
  CHECK(planned(result, "w") == "float");
  CHECK(planned(result, "r") == "weight i8 axis=1");
}

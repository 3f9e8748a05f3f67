// Random models, quantized, against arithmetic on codes that is spelled out.
#include <doctest/doctest.h>

#include <vector>

#include "oracle.hpp"
#include "random_models.hpp"

using namespace quadrant;
using quadrant::test::Model;
using quadrant::test::Oracle;

namespace {

std::size_t check_models(const StaticAffineOptions& options, unsigned first_seed) {
  std::size_t products = 0;
  for (unsigned seed = first_seed; seed < first_seed + 12; ++seed) {
    CAPTURE(seed);
    Model model(seed);
    test::random_models::make(model);
    StaticAffineOptions chosen = options;
    chosen.statistics = model.statistics();
    const bool by_operands = model.coin();
    const QuantizeResult result =
        test::quantized(model.graph, chosen, by_operands ? test::by_operands() : QuantizeOptions{});
    std::vector<Tensor> inputs = model.sample();
    if (options.quantized_inputs && result.graph.type({result.graph.inputs()[0]}).is_quantized()) {
      continue;  // below
    }
    products += Oracle(result.graph, inputs).check();
  }
  return products;
}

}  // namespace

TEST_CASE("static_affine: random models compute what codes mean") {
  CHECK(check_models({}, 1) > 10);
}

TEST_CASE("static_affine: and so with every option") {
  StaticAffineOptions symmetric;
  symmetric.activations.symmetry = EncodingSymmetry::symmetric;
  CHECK(check_models(symmetric, 100) > 10);

  StaticAffineOptions per_tensor;
  per_tensor.weight_granularity = Granularity::Kind::tensor;
  CHECK(check_models(per_tensor, 200) > 10);

  StaticAffineOptions asymmetric = per_tensor;
  asymmetric.weights.symmetry = EncodingSymmetry::asymmetric;
  CHECK(check_models(asymmetric, 300) > 10);

  StaticAffineOptions of_4_bits;
  of_4_bits.weights.bits = 4;
  CHECK(check_models(of_4_bits, 400) > 10);

  StaticAffineOptions of_16_bits;
  of_16_bits.activations.bits = 16;
  CHECK(check_models(of_16_bits, 500) > 10);

  StaticAffineOptions without_sign;
  without_sign.unsigned_activations = true;
  CHECK(check_models(without_sign, 600) > 10);

  StaticAffineOptions short_biases;
  short_biases.bias_bits = 8;
  CHECK(check_models(short_biases, 700) > 10);

  StaticAffineOptions outputs;
  outputs.quantized_outputs = true;
  CHECK(check_models(outputs, 800) > 10);
}

// Weights with which no sum of two products leaves 16 bits.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "build.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quantized_types.hpp"

using namespace quadrant;
using quadrant::test::Model;

namespace {

StaticAffineOptions options_of(Saturation saturation) {
  StaticAffineOptions options;
  options.saturation = saturation;
  return options;
}

// The codes of the constant that is called so.
std::vector<std::int8_t> codes_of(Model& model, StaticAffineOptions options,
                                  std::string_view name) {
  options.statistics = model.statistics();
  const QuantizeResult result =
      test::quantized(model.graph, std::move(options), test::by_operands());
  const Constant* const codes = result.graph.constant(result.graph.find_value(name).node);
  REQUIRE(codes != nullptr);
  REQUIRE(codes->element() == ElementType::int8);
  std::vector<std::int8_t> values(static_cast<std::size_t>(codes->element_count()));
  REQUIRE(codes->read(0, std::as_writable_bytes(std::span(values))));
  return values;
}

std::size_t inexact(const std::vector<std::int8_t>& codes, std::size_t step,
                    std::size_t first = 0) {
  std::size_t count = 0;
  for (std::size_t i = first; i + step < codes.size(); i += 2 * step) {
    for (std::size_t k = i; k < i + step; ++k) {
      count += is_exact_pair(codes[k], codes[k + step]) ? 0U : 1U;
    }
  }
  return count;
}

// y = x w, or with moves in between; neighbours along K are columns of w, 8 elements apart.
Model product(std::string_view between = {}) {
  Model model;
  const Value x = model.input("x", {4, 16});
  Value w = model.weight("w", between == "transpose" ? Shape{8, 16} : Shape{16, 8});
  if (between == "transpose") {
    w = model.add("transpose", {w}, "turned", {{"perm", std::vector<std::int64_t>{1, 0}}});
  }
  model.output(model.add("matmul", {x, w}, "y"));
  return model;
}

}  // namespace

TEST_CASE("static_affine: by default no pair of weights can saturate, in 8 bits") {
  Model model = product();
  const auto allowed = codes_of(model, options_of(Saturation::allow), "w");
  const auto avoided = codes_of(model, options_of(Saturation::avoid), "w");
  const auto narrow = codes_of(model, options_of(Saturation::seven_bits), "w");
  CHECK(inexact(allowed, 8) > 0);
  CHECK(inexact(avoided, 8) == 0);
  CHECK(std::ranges::max(avoided) > 64);
  CHECK(std::ranges::max(narrow) == 63);
  CHECK(codes_of(model, {}, "w") == avoided);
}

TEST_CASE("static_affine: neighbours are found behind a transpose, and not where nobody adds two") {
  Model turned = product("transpose");
  CHECK(inexact(codes_of(turned, options_of(Saturation::allow), "w"), 1) > 0);
  CHECK(inexact(codes_of(turned, {}, "w"), 1) == 0);

  Model model = product();
  StaticAffineOptions wide;
  wide.activations.bits = 16;
  StaticAffineOptions tflite;
  tflite.kernels = KernelsTarget::tflite;
  for (const StaticAffineOptions& options : {wide, tflite}) {
    StaticAffineOptions allowing = options;
    allowing.saturation = Saturation::allow;
    CHECK(codes_of(model, options, "w") == codes_of(model, allowing, "w"));
  }
}

TEST_CASE("static_affine: unsigned weights mean the same as those that may saturate") {
  Model model = product();
  StaticAffineOptions options = options_of(Saturation::avoid);
  options.unsigned_weights = true;
  options.statistics = model.statistics();
  const QuantizeResult result = test::quantized(model.graph, options, test::by_operands());
  const Value w = result.graph.find_value("w");
  REQUIRE(result.graph.constant(w.node)->element() == ElementType::uint8);
  const ConstantBytes codes = result.graph.constant(w.node)->read().value();
  const auto allowed = codes_of(model, options_of(Saturation::allow), "w");
  REQUIRE(codes.bytes().size() == allowed.size());
  const Constant& points = result.graph.type(w).uniform()->zero_points;
  const auto zeros = read_integers(points, points.element_count()).value();
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    CHECK(codes.as<std::uint8_t>()[i] - zeros[i % zeros.size()] == allowed[i]);
  }
}

TEST_CASE("static_affine: weights with a zero point have 7 bits instead") {
  Model model = product();
  StaticAffineOptions options;
  options.weights.symmetry = EncodingSymmetry::asymmetric;
  options.weight_granularity = Granularity::Kind::tensor;
  const auto [least, most] = std::ranges::minmax(codes_of(model, options, "w"));
  CHECK(least >= -64);
  CHECK(most <= 63);
  CHECK(most - least > 120);
}

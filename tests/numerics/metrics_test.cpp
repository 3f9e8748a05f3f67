#include "numerics/metrics.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "numerics/affine.hpp"
#include "numerics/helpers.hpp"
#include "quadrant/numerics/encode.hpp"
#include "shortened.hpp"

namespace quadrant {
namespace {

using test::double_infinity;
using test::float_constant;

std::shared_ptr<const UniformType> symmetric(const Constant& real, const Granularity& granularity,
                                             ElementType storage) {
  UniformType type;
  type.storage = storage;
  type.granularity = granularity;
  type.storage_max = integer_range(storage).value().max;
  type.storage_min = -type.storage_max;
  type.scales =
      scan_parameters(
          real, granularity,
          {.storage = storage, .storage_min = type.storage_min, .storage_max = type.storage_max})
          .value()
          .scales;
  return std::make_shared<const UniformType>(type);
}

TEST_CASE("sqnr_db: by hand") {
  CHECK(sqnr_db(std::array{3.0F, 4.0F}, std::array{3.0F, 3.5F}) == doctest::Approx(20));
  CHECK(sqnr_db(std::array{1.0F}, std::array{0.0F}) == 0);
  CHECK(sqnr_db(std::array{1.0F}, std::array{11.0F}) == doctest::Approx(-20));
  CHECK(sqnr_db(std::array{1.0F, 2.0F}, std::array{1.0F, 2.0F}) == double_infinity);
  CHECK(sqnr_db({}, {}) == double_infinity);
  CHECK(sqnr_db(std::array{0.0F}, std::array{0.0F}) == double_infinity);
  CHECK(sqnr_db(std::array{0.0F}, std::array{1e-30F}) == -double_infinity);
  // Squares beyond float32's range, at both ends.
  CHECK(sqnr_db(std::array{1e30F}, std::array{0.9e30F}) == doctest::Approx(20));
  CHECK(sqnr_db(std::array{1e-30F}, std::array{0.9e-30F}) == doctest::Approx(20));
  CHECK(std::isnan(sqnr_db(std::array{std::nanf("")}, std::array{1.0F})));
}

TEST_CASE("sqnr_db: units do not matter") {
  const auto signal = test::random_values(1000, 1);
  auto other = test::random_values(1000, 2);
  const double before = sqnr_db(signal, other);
  auto scaled = signal;
  for (float& value : scaled) value *= 1024;
  for (float& value : other) value *= 1024;
  CHECK(sqnr_db(scaled, other) == before);
}

TEST_CASE("weight_sqnr_db: every shape and granularity, against a naive loop") {
  test::Turns turns;
  for (const Shape& shape : test::shapes()) {
    if (!turns.next()) continue;
    const auto count = static_cast<std::size_t>(shape.element_count().value());
    const std::vector<float> values = test::random_values(count, 3);
    const Constant real = float_constant(shape, values);
    for (const Granularity& granularity : test::granularities_of(shape)) {
      const auto type = symmetric(real, granularity, ElementType::int8);
      const auto scales = test::contents<float>(type->scales);
      const auto groups = test::groups_of(shape, granularity);
      double signal = 0;
      double noise = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const float scale = scales[groups[i]];
        const auto code = quantize_value(values[i], scale, 0, -127, 127);
        const auto value = static_cast<double>(values[i]);
        const double error = value - static_cast<double>(dequantize_value(code, scale, 0));
        signal += value * value;
        noise += error * error;
      }
      const double expected = noise == 0 ? double_infinity : 10 * std::log10(signal / noise);
      CAPTURE(to_string(shape));
      const double actual = weight_sqnr_db(real, type).value();
      if (std::isinf(expected)) {
        CHECK(actual == expected);
      } else {
        CHECK(actual == doctest::Approx(expected).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("weight_sqnr_db: uniform noise gives the textbook's 6.02 dB a bit") {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(200000);
  for (float& value : values) value = distribution(random);
  const Constant real = float_constant({200000}, values);
  // A uniform signal in [-1, 1] has power 1/3, rounding to steps of 1/max has power step^2/12.
  for (const ElementType storage : {ElementType::int4, ElementType::int8, ElementType::int16}) {
    const auto max = static_cast<double>(integer_range(storage).value().max);
    const double expected = 10 * std::log10(4 * max * max);
    const double actual =
        weight_sqnr_db(real, symmetric(real, Granularity::per_tensor(), storage)).value();
    CHECK(std::fabs(actual - expected) < 0.6);
  }
}

TEST_CASE("weight_sqnr_db: finer granularity is better, zero weights are perfect") {
  std::vector<float> values = test::random_values(std::size_t{64} * 64, 5);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] *= std::exp2(std::floor(static_cast<float>(i) / 512));
  const Constant real = float_constant({64, 64}, values);
  CHECK(
      weight_sqnr_db(real, symmetric(real, Granularity::per_axis(0), ElementType::int8)).value() >
      weight_sqnr_db(real, symmetric(real, Granularity::per_tensor(), ElementType::int8)).value());
  const Constant zeros = float_constant({8}, std::array<float, 8>{});
  CHECK(weight_sqnr_db(zeros, symmetric(zeros, Granularity::per_tensor(), ElementType::int8))
            .value() == double_infinity);
}

TEST_CASE("weight_sqnr_db: errors come back") {
  const Constant real = float_constant({4}, std::array{1.0F, 2.0F, 3.0F, 4.0F});
  UniformType type = *symmetric(real, Granularity::per_tensor(), ElementType::int8);
  type.granularity = Granularity::per_block(0, 0);
  CHECK(weight_sqnr_db(real, std::make_shared<const UniformType>(type)).error().code ==
        ErrorCode::impossible);
  const auto source = test::recording(real);
  source->fail_from = 0;
  CHECK(weight_sqnr_db(Constant::deferred(ElementType::float32, {4}, source),
                       symmetric(real, Granularity::per_tensor(), ElementType::int8))
            .error()
            .code == ErrorCode::io);
}

}  // namespace
}  // namespace quadrant

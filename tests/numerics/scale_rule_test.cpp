#include "numerics/scale_rule.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "numerics/affine.hpp"
#include "numerics/helpers.hpp"

namespace quadrant {
namespace {

using test::contents;
using test::float_constant;

constexpr ScaleRule narrow8{};
constexpr ScaleRule full4{.storage = ElementType::int4, .storage_min = -8, .storage_max = 7};
constexpr ScaleRule unsigned4{.storage = ElementType::uint4, .storage_min = 0, .storage_max = 15};

ScaleRule with(ScaleRule rule, Symmetry symmetry, Clip clip) {
  rule.symmetry = symmetry;
  rule.clip = clip;
  return rule;
}

struct Parameters {
  float scale = 0;
  std::int64_t zero_point = 0;
  friend bool operator==(const Parameters&, const Parameters&) = default;
};
doctest::String toString(const Parameters& parameters) {
  return doctest::toString(parameters.scale) + " at " + doctest::toString(parameters.zero_point);
}

Parameters parameters_of(const std::vector<float>& values, const ScaleRule& rule) {
  const auto scan =
      scan_parameters(float_constant({static_cast<std::int64_t>(values.size())}, values),
                      Granularity::per_tensor(), rule);
  REQUIRE(scan);
  REQUIRE(!scan->non_finite);
  Parameters result{contents<float>(scan->scales).at(0), 0};
  if (scan->zero_points) {
    CHECK(scan->zero_points.element() == rule.storage);
    CHECK(scan->zero_points.shape() == scan->scales.shape());
    result.zero_point = read_integers(scan->zero_points).value().at(0);
  } else {
    CHECK(rule.symmetry != Symmetry::asymmetric);
  }
  return result;
}

TEST_CASE("rules by hand: symmetric") {
  const auto absmax = [](const std::vector<float>& values, const ScaleRule& rule) {
    return parameters_of(values, with(rule, Symmetry::symmetric, Clip::absmax));
  };
  const auto minmax = [](const std::vector<float>& values, const ScaleRule& rule) {
    return parameters_of(values, with(rule, Symmetry::symmetric, Clip::minmax));
  };
  CHECK(absmax({1, -254}, narrow8) == Parameters{2, 0});
  CHECK(absmax({15, -3}, full4) == Parameters{2, 0});
  CHECK(absmax({3, -15}, full4) == Parameters{2, 0});
  CHECK(absmax({3, -15}, unsigned4) == Parameters{2, 8});
  CHECK(minmax({1, -254}, narrow8) == Parameters{2, 0});
  CHECK(minmax({14, -3}, full4) == Parameters{2, 0});
  CHECK(minmax({7, -16}, full4) == Parameters{2, 0});
  CHECK(minmax({7, -16}, unsigned4) == Parameters{2, 8});
  CHECK(minmax({-16}, full4) == Parameters{2, 0});  // one-sided
  CHECK(minmax({14}, full4) == Parameters{2, 0});
}

TEST_CASE("rules by hand: signed scales") {
  const auto find = [](const std::vector<float>& values, const ScaleRule& rule, Clip clip) {
    return parameters_of(values, with(rule, Symmetry::signed_scale, clip));
  };
  // -8 reaches further than 7: the largest magnitude goes there.
  CHECK(find({16, -3}, full4, Clip::absmax) == Parameters{-2, 0});
  CHECK(find({3, -16}, full4, Clip::absmax) == Parameters{2, 0});
  CHECK(find({16, -16}, full4, Clip::absmax) == Parameters{2, 0});
  CHECK(find({16, -3}, unsigned4, Clip::absmax) == Parameters{-2, 8});
  CHECK(find({16, -14}, full4, Clip::minmax) == Parameters{-2, 0});
  CHECK(find({14, -16}, full4, Clip::minmax) == Parameters{2, 0});
  CHECK(find({7, -7}, full4, Clip::minmax) == Parameters{1, 0});  // a tie: positive
  CHECK(find({16, -15}, full4, Clip::minmax) == Parameters{-15.0F / 7, 0});
  // 1..15 around 8, and -127..127: as long on both sides.
  ScaleRule balanced = unsigned4;
  balanced.storage_min = 1;
  for (const Clip clip : {Clip::absmax, Clip::minmax}) {
    CHECK(find({14, -3}, balanced, clip) == Parameters{2, 8});
    CHECK(find({254, -3}, narrow8, clip) == Parameters{2, 0});
  }
  // Longer above.
  const ScaleRule above{.storage = ElementType::int8, .storage_min = -7, .storage_max = 8};
  CHECK(find({16, -3}, above, Clip::absmax) == Parameters{2, 0});
  CHECK(find({3, -16}, above, Clip::absmax) == Parameters{-2, 0});
}

TEST_CASE("rules by hand: asymmetric") {
  const auto minmax = [](const std::vector<float>& values, const ScaleRule& rule) {
    return parameters_of(values, with(rule, Symmetry::asymmetric, Clip::minmax));
  };
  CHECK(minmax({20, -10}, unsigned4) == Parameters{2, 5});
  CHECK(minmax({20, -10}, full4) == Parameters{2, -3});
  CHECK(minmax({30, 10}, unsigned4) == Parameters{2, 0});  // zero is among the values
  CHECK(minmax({-30, -10}, unsigned4) == Parameters{2, 15});
  CHECK(minmax({15, -15}, unsigned4) == Parameters{2, 8});  // 7.5, to even
  CHECK(minmax({17, -13}, unsigned4) == Parameters{2, 6});  // 6.5
  CHECK(minmax({0, 0}, unsigned4) == Parameters{1, 0});
  CHECK(minmax({0, 0}, {.storage = ElementType::int8, .storage_min = 3, .storage_max = 9}) ==
        Parameters{1, 3});
  CHECK(parameters_of({15, -1}, with(unsigned4, Symmetry::asymmetric, Clip::absmax)) ==
        Parameters{2, 8});
  // Codes of two bytes.
  CHECK(minmax({0, -65535},
               {.storage = ElementType::int16, .storage_min = -32768, .storage_max = 32767}) ==
        Parameters{1, 32767});
  CHECK(minmax({535, -65000},
               {.storage = ElementType::uint16, .storage_min = 0, .storage_max = 65535}) ==
        Parameters{1, 65000});
}

// compute_scale_zp of onnxruntime/quantization/quant_utils.py (1.23.2), step by step. Of later
// releases the tool for blocks still computes so; the one for whole models subtracts in float64, as
// EncodingRule does.
Parameters onnx_runtime(float rmin, float rmax, const ScaleRule& rule) {
  rmin = std::fmin(rmin, 0.0F);
  rmax = std::fmax(rmax, 0.0F);
  const bool symmetric = rule.symmetry == Symmetry::symmetric;
  if (symmetric) {
    rmax = std::fmax(std::fabs(rmin), std::fabs(rmax));
    rmin = -rmax;
  }
  const auto qmin = static_cast<double>(rule.storage_min);
  const auto qmax = static_cast<double>(rule.storage_max);
  const auto difference = static_cast<double>(rmax - rmin);  // in float32
  const double scale = difference / (qmax - qmin);
  const double zero_point = symmetric ? std::nearbyint((qmin + qmax) / 2)
                                      : std::nearbyint(qmin - static_cast<double>(rmin) / scale);
  return {static_cast<float>(scale), static_cast<std::int64_t>(zero_point)};
}

TEST_CASE("rules are those of ONNX Runtime's quantization tools, bit by bit") {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> exponent(-60, 60);
  int wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const float unit = std::exp2(exponent(random));
    std::array values{normal(random) * unit, (normal(random) + 1) * unit};
    if (values[0] > values[1]) std::swap(values[0], values[1]);
    const std::array rules{
        with(narrow8, Symmetry::symmetric, Clip::absmax),
        with(full4, Symmetry::symmetric, Clip::absmax),
        with(unsigned4, Symmetry::asymmetric, Clip::minmax),
        with(full4, Symmetry::asymmetric, Clip::minmax),
        ScaleRule{ElementType::uint8, 0, 255, Symmetry::asymmetric, Clip::minmax},
        ScaleRule{ElementType::uint8, 0, 255, Symmetry::symmetric, Clip::absmax},
        ScaleRule{ElementType::int8, -128, 127, Symmetry::asymmetric, Clip::minmax},
        ScaleRule{ElementType::uint16, 0, 65535, Symmetry::asymmetric, Clip::minmax}};
    for (const ScaleRule& rule : rules) {
      const GroupParameters found = unsearched_parameters(
          rule, rule.clip, {std::min(values[0], 0.0F), std::max(values[1], 0.0F)});
      wrong += Parameters{found.scale, found.zero_point} != onnx_runtime(values[0], values[1], rule)
                   ? 1
                   : 0;
    }
  }
  CHECK(wrong == 0);
}

const std::array<ScaleRule, 9> rules{
    narrow8,
    full4,
    unsigned4,
    {.storage = ElementType::int8, .storage_min = -128},
    {.storage = ElementType::uint8, .storage_min = 0, .storage_max = 255},
    {.storage = ElementType::int8, .storage_min = -2, .storage_max = 1},
    {.storage = ElementType::int8, .storage_min = -3, .storage_max = 11},
    {.storage = ElementType::int16, .storage_min = -32768, .storage_max = 32767},
    {.storage = ElementType::uint16, .storage_min = 0, .storage_max = 65535}};

template <class Body>
void for_each_rule(std::initializer_list<Clip> clips, Body body) {
  for (const ScaleRule& rule : rules) {
    for (const Symmetry symmetry :
         {Symmetry::symmetric, Symmetry::signed_scale, Symmetry::asymmetric}) {
      for (const Clip clip : clips) {
        CAPTURE(rule.storage_min);
        CAPTURE(rule.storage_max);
        CAPTURE(static_cast<int>(symmetry));
        CAPTURE(static_cast<int>(clip));
        body(with(rule, symmetry, clip));
      }
    }
  }
}

float back(float value, const Parameters& parameters, const ScaleRule& rule) {
  return dequantize_value(quantize_value(value, parameters.scale, parameters.zero_point,
                                         rule.storage_min, rule.storage_max),
                          parameters.scale, parameters.zero_point);
}

TEST_CASE("minmax clips nothing") {
  for_each_rule({Clip::minmax}, [](const ScaleRule& rule) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (int i = 0; i < 300; ++i) {
      const std::vector<float> values{normal(random), normal(random) - 0.3F, normal(random) + 0.3F};
      const Parameters found = parameters_of(values, rule);
      for (const float value : values) {
        const auto error = std::fabs(value - back(value, found, rule));
        // A zero point between two codes costs up to half a step more at the ends.
        const float steps = rule.symmetry == Symmetry::asymmetric ? 1.0F : 0.5F;
        CHECK(error <= steps * std::fabs(found.scale) * 1.001F);
      }
    }
  });
}

TEST_CASE("zero is exact, and a group of zeros gets scale 1, with every rule") {
  constexpr float subnormal = std::numeric_limits<float>::denorm_min();
  for_each_rule({Clip::absmax, Clip::minmax, Clip::mse}, [](const ScaleRule& rule) {
    for (const std::vector<float>& values :
         {std::vector{0.0F, -0.0F}, std::vector{subnormal, -subnormal}, std::vector{subnormal},
          std::vector<float>{}}) {
      const Parameters found = parameters_of(values, rule);
      CHECK(found.scale == 1);
      CHECK(std::fabs(back(0.0F, found, rule)) == 0);
      CHECK(std::fabs(back(subnormal, found, rule)) == 0);
    }
    const Parameters found = parameters_of({1.0F, -0.3F, 0.2F}, rule);
    CHECK(std::fabs(back(0.0F, found, rule)) == 0);
    CHECK(found.zero_point >= rule.storage_min);
    CHECK(found.zero_point <= rule.storage_max);
  });
}

TEST_CASE("near float32's end nothing becomes infinite, with every rule") {
  constexpr float most = std::numeric_limits<float>::max();
  for_each_rule({Clip::absmax, Clip::minmax, Clip::mse}, [&](const ScaleRule& rule) {
    for (const std::vector<float>& values :
         {std::vector{most, -most}, std::vector{most}, std::vector{-most},
          std::vector{most, -most / 2}, std::vector{most / 3, -most}, std::vector{most, -1.0F},
          std::vector{most, most, -most, most / 7}}) {
      const Parameters found = parameters_of(values, rule);
      CHECK(std::isnormal(found.scale));
      for (const float value : values) {
        const float result = back(value, found, rule);
        CHECK(std::isfinite(result));
        // What absmax clips where one side is much the longer.
        CHECK(std::fabs(static_cast<double>(value) - static_cast<double>(result)) <=
              static_cast<double>(most) * 0.75);
      }
    }
  });
}

TEST_CASE("every rule follows powers of two") {
  for_each_rule({Clip::absmax, Clip::minmax, Clip::mse}, [](const ScaleRule& rule) {
    std::vector<float> values = test::random_values(40, 9);
    const Parameters before = parameters_of(values, rule);
    for (float& value : values) value = std::ldexp(value, -40);
    const Parameters after = parameters_of(values, rule);
    CHECK(after == Parameters{std::ldexp(before.scale, -40), before.zero_point});
  });
}

}  // namespace
}  // namespace quadrant

#include "ir/scales.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "ir/float16.hpp"
#include "numerics/affine.hpp"
#include "numerics/helpers.hpp"
#include "quadrant/numerics/encode.hpp"
#include "shortened.hpp"

namespace quadrant {
namespace {

using test::contents;
using test::float_constant;
using test::infinity;
using test::nan;

// Symmetric, -max to max.
ScaleRule up_to(std::int64_t max) {
  return {.storage = max > 127 ? ElementType::int16 : ElementType::int8,
          .storage_min = -max,
          .storage_max = max};
}

ParameterScan scan(const Constant& weights, const Granularity& granularity,
                   std::int64_t max = 127) {
  return scan_parameters(weights, granularity, up_to(max)).value();
}

std::vector<float> scales_of(const Constant& weights, const Granularity& granularity,
                             std::int64_t max = 127) {
  const ParameterScan result = scan(weights, granularity, max);
  REQUIRE(!result.non_finite);
  CHECK(!result.zero_points);
  CHECK(result.scales.element() == ElementType::float32);
  CHECK(result.scales.shape() == parameter_shape(weights.shape(), granularity));
  return contents<float>(result.scales);
}

// A loop over elements, whose groups were found from their coordinates.
std::vector<float> naive_scales(std::size_t count, const std::vector<float>& values,
                                const std::vector<std::size_t>& groups, std::int64_t max) {
  std::vector<float> largest(count, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest[groups[i]] = std::fmax(largest[groups[i]], std::fabs(values[i]));
  }
  for (float& scale : largest) {
    scale = scale / static_cast<float>(max);
    if (scale < std::numeric_limits<float>::min()) scale = 1;
  }
  return largest;
}

TEST_CASE("scales: by hand") {
  const Constant weights =
      float_constant({2, 3}, std::array{127.0F, -254.0F, 0.0F, 12.7F, 0.0F, -0.0F});
  CHECK(scales_of(weights, Granularity::per_tensor()) == std::vector{2.0F});
  CHECK(scales_of(weights, Granularity::per_axis(0)) == std::vector{2.0F, 12.7F / 127});
  CHECK(scales_of(weights, Granularity::per_axis(1)) == std::vector{1.0F, 2.0F, 1.0F});
  CHECK(scales_of(weights, Granularity::per_tensor(), 7) == std::vector{254.0F / 7});
}

TEST_CASE("scales: every shape and granularity, against a naive loop") {
  test::Turns turns;
  for (const Shape& shape : test::shapes()) {
    const auto count = static_cast<std::size_t>(shape.element_count().value());
    const std::vector<float> values = test::random_values(count, 7);
    const Constant weights = float_constant(shape, values);
    auto granularities = test::granularities_of(shape);
    if (count < 2000) {
      const auto odd = test::odd_blocks_of(shape);
      granularities.insert(granularities.end(), odd.begin(), odd.end());
    }
    for (const Granularity& granularity : granularities) {
      if (!turns.next()) continue;
      CAPTURE(to_string(shape));
      CAPTURE(granularity.axis);
      CAPTURE(granularity.block_size);
      const auto groups = test::groups_of(shape, granularity);
      for (const std::int64_t max : {127, 32767}) {
        const auto scales = scales_of(weights, granularity, max);
        const bool equal = scales == naive_scales(scales.size(), values, groups, max);
        CHECK(equal);
      }
    }
  }
}

TEST_CASE("scales: every float type, against a naive loop") {
  const Shape shape{130, 257};  // two pieces
  for (const ElementType element :
       {ElementType::float16, ElementType::bfloat16, ElementType::float64}) {
    std::vector<float> values = test::random_values(std::size_t{130} * 257, 7);
    for (float& value : values) {
      if (element == ElementType::float16) value = widen_float16(round_to_float16(value));
      if (element == ElementType::bfloat16) value = widen_bfloat16(round_to_bfloat16(value));
    }
    const Constant weights = float_constant(element, shape, values);
    for (const Granularity& granularity : test::granularities_of(shape)) {
      const auto scales = scales_of(weights, granularity, 7);
      const bool equal =
          scales == naive_scales(scales.size(), values, test::groups_of(shape, granularity), 7);
      CHECK(equal);
    }
  }
}

TEST_CASE("scales: the largest code is reached and none beyond") {
  const std::vector<float> values = test::random_values(1000, 3);
  const Constant weights = float_constant({1000}, values);
  const auto scales = scales_of(weights, Granularity::per_axis(0));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float code = std::nearbyint(values[i] / scales[i]);
    CHECK(std::fabs(code) == 127);
  }
}

TEST_CASE("scales follow powers of two and permutations") {
  const Shape shape{40, 30};
  const std::vector<float> values = test::random_values(1200, 5);
  const auto scales = scales_of(float_constant(shape, values), Granularity::per_axis(0));

  for (const int power : {-100, -20, 1, 20, 100}) {
    std::vector<float> scaled = values;
    for (float& value : scaled) value = std::ldexp(value, power);
    const auto result = scales_of(float_constant(shape, scaled), Granularity::per_axis(0));
    for (std::size_t i = 0; i < scales.size(); ++i) {
      CHECK(result[i] == std::ldexp(scales[i], power));
    }
  }

  std::vector<std::size_t> order(40);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  std::vector<float> permuted;
  for (const std::size_t row : order) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * 30);
    permuted.insert(permuted.end(), begin, begin + 30);
  }
  const auto result = scales_of(float_constant(shape, permuted), Granularity::per_axis(0));
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(result[i] == scales[order[i]]);
}

TEST_CASE("scales: zero and subnormal ones become 1") {
  constexpr float tiny = std::numeric_limits<float>::min();
  constexpr float subnormal = std::numeric_limits<float>::denorm_min();
  const Constant weights = float_constant(
      {6, 1},
      std::array{0.0F, subnormal, tiny, std::nextafter(127 * tiny, 0.0F), 127 * tiny, 254 * tiny});
  CHECK(scales_of(weights, Granularity::per_axis(0)) ==
        std::vector{1.0F, 1.0F, 1.0F, 1.0F, tiny, 2 * tiny});
  // Subnormal inputs count.
  CHECK(scales_of(float_constant({1}, std::array{4 * subnormal}), Granularity::per_tensor(), 1) ==
        std::vector{1.0F});
}

TEST_CASE("scales: the largest floats do not overflow") {
  constexpr float most = std::numeric_limits<float>::max();
  const Constant weights = float_constant({2}, std::array{-most, most});
  // The quotient is rounded up: 127 times it would be infinite.
  CHECK(scales_of(weights, Granularity::per_tensor()) ==
        std::vector{std::nextafter(most / 127, 0.0F)});
  CHECK(scales_of(weights, Granularity::per_tensor(), 1) == std::vector{most});
}

TEST_CASE("scales: the first element that is not finite is named, wherever it is") {
  for (const Shape& shape : {Shape{70000}, Shape{7, 10000}, Shape{35000, 2}}) {
    std::vector<float> values(70000, 127.0F);  // scale 1 is exact: mse has nothing to search for
    for (const std::size_t at : {0U, 32767U, 32768U, 69998U, 69999U}) {
      for (const float bad : {nan, -nan, -infinity}) {
        values[at] = bad;
        if (at + 3 < values.size()) values[at + 3] = std::isnan(bad) ? infinity : nan;
        const Constant weights = float_constant(shape, values);
        for (const Granularity& granularity : test::granularities_of(shape)) {
          for (const Clip clip : {Clip::absmax, Clip::mse}) {
            if (clip == Clip::mse && !std::isinf(bad)) continue;  // slow, and no different
            const ParameterScan result =
                scan_parameters(weights, granularity, {.clip = clip}).value();
            REQUIRE(result.non_finite);
            CHECK(!result.scales);
            CHECK(!result.zero_points);
            CHECK(result.non_finite->index == static_cast<std::int64_t>(at));
            CHECK(std::isnan(result.non_finite->value) == std::isnan(bad));
            if (!std::isnan(bad)) CHECK(result.non_finite->value == bad);
          }
        }
        values[at] = 127;
        if (at + 3 < values.size()) values[at + 3] = 127;
      }
    }
  }
}

TEST_CASE("scales: non-finite values of the other types") {
  const std::array<std::uint16_t, 3> halves{0x3c00, 0xfc00, 0x7e00};
  const auto half = scan(Constant::from_values<std::uint16_t>(ElementType::float16, {3}, halves),
                         Granularity::per_tensor());
  REQUIRE(half.non_finite);
  CHECK(half.non_finite->index == 1);
  CHECK(half.non_finite->value == -infinity);

  const std::array<std::uint16_t, 3> brains{0x3f80, 0x3f80, 0x7fc0};
  const auto brain = scan(Constant::from_values<std::uint16_t>(ElementType::bfloat16, {3}, brains),
                          Granularity::per_axis(0));
  REQUIRE(brain.non_finite);
  CHECK(brain.non_finite->index == 2);
  CHECK(std::isnan(brain.non_finite->value));

  // Finite as float64, but not as the float32 in which codes are computed.
  const std::array<double, 2> doubles{3.4e38, -3.5e38};
  const auto wide = scan(Constant::from_values<double>(ElementType::float64, {2}, doubles),
                         Granularity::per_tensor());
  REQUIRE(wide.non_finite);
  CHECK(wide.non_finite->index == 1);
  CHECK(wide.non_finite->value == -infinity);
}

TEST_CASE("scales: empty tensors") {
  CHECK(scales_of(float_constant({0}, {}), Granularity::per_tensor()) == std::vector{1.0F});
  CHECK(scales_of(float_constant({0, 3}, {}), Granularity::per_axis(0)).empty());
  CHECK(scales_of(float_constant({0, 3}, {}), Granularity::per_axis(1)) ==
        std::vector{1.0F, 1.0F, 1.0F});
  // A few bytes of a hostile file must not cost terabytes.
  const auto result =
      scan_parameters(float_constant({0, std::int64_t{1} << 40, std::int64_t{1} << 40}, {}),
                      Granularity::per_axis(1), {});
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::impossible);
}

TEST_CASE("scales: contents are read once, in bounded pieces, and no further than needed") {
  constexpr std::int64_t count = 200003;
  for (const ElementType element :
       {ElementType::float16, ElementType::float32, ElementType::float64}) {
    std::vector<float> values = test::random_values(count, 1);
    const Constant weights = float_constant(element, {count}, values);
    for (const Granularity& granularity :
         {Granularity::per_tensor(), Granularity::per_block(0, 32)}) {
      for (const Clip clip : {Clip::absmax, Clip::mse}) {
        if (clip == Clip::mse && element != ElementType::float16) continue;  // slow
        const ScaleRule rule{.storage_min = -7, .storage_max = 7, .clip = clip};
        const auto source = test::recording(weights);
        const Constant deferred = Constant::deferred(element, {count}, source);
        CHECK(contents<float>(scan_parameters(deferred, granularity, rule)->scales) ==
              contents<float>(scan_parameters(weights, granularity, rule)->scales));
        CHECK(source->total == weights.byte_size());
        CHECK(source->largest <= 256 * 1024);
      }
    }
    values[5] = nan;
    for (const Clip clip : {Clip::minmax, Clip::mse}) {
      const auto bad = test::recording(float_constant(element, {count}, values));
      CHECK(scan_parameters(Constant::deferred(element, {count}, bad), Granularity::per_tensor(),
                            {.clip = clip})
                ->non_finite);
      CHECK(bad->total <= 256 * 1024);
    }
  }
}

TEST_CASE("scales: a failing read comes back as it is") {
  const auto source = test::recording(float_constant({100000}, test::random_values(100000, 1)));
  source->fail_from = 300000;
  for (const Clip clip : {Clip::absmax, Clip::mse}) {
    const auto result = scan_parameters(Constant::deferred(ElementType::float32, {100000}, source),
                                        Granularity::per_tensor(), {.clip = clip});
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::io);
    CHECK(result.error().message == "the disk is gone");
  }
}

TEST_CASE("scales: what cannot be done is refused by name") {
  const Constant weights = float_constant({2, 3}, test::random_values(6, 1));
  const auto message = [](const auto& result) {
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::impossible);
    return result.error().message;
  };
  const auto contains = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const auto with = [&](ScaleRule rule) {
    return message(scan_parameters(weights, Granularity::per_tensor(), rule));
  };
  const auto by = [&](const Granularity& granularity) {
    return message(scan_parameters(weights, granularity, {}));
  };
  CHECK(contains(by(Granularity::per_axis(2)), "no axis 2 in a tensor of shape [2x3]"));
  CHECK(contains(by(Granularity::per_axis(-1)), "no axis -1"));
  CHECK(contains(by(Granularity::per_block(2, 2)), "no axis 2"));
  CHECK(contains(by(Granularity::per_block(1, 0)), "blocks of 0"));
  CHECK(contains(by(Granularity::per_block(1, -3)), "blocks of -3"));
  CHECK(contains(with({.storage = ElementType::int32}), "type i32"));
  CHECK(contains(with({.storage = ElementType::float32}), "type f32"));
  CHECK(contains(with({.storage_min = 5, .storage_max = 5}), "codes from 5 to 5"));
  CHECK(contains(with({.storage_min = -129}), "codes from -129 to 127"));
  for (const float least :
       {-1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    CHECK(contains(with({.least = least}), "a least scale of"));
  }
  CHECK(contains(with({.storage = ElementType::uint8, .storage_min = 0, .storage_max = 256}),
                 "codes from 0 to 256"));
  // There must be codes on both sides of the zero point.
  CHECK(contains(with({.storage_min = 0}), "around the zero point 0"));
  CHECK(contains(with({.storage_max = 0}), "around the zero point 0"));
  CHECK(contains(with({.storage = ElementType::uint4, .storage_min = 8, .storage_max = 15}),
                 "around the zero point 8"));
  CHECK(scan_parameters(weights, Granularity::per_tensor(),
                        {.storage_min = 3, .storage_max = 4, .symmetry = Symmetry::asymmetric}));
  const std::array<std::int8_t, 1> code{1};
  CHECK(contains(
      message(scan_parameters(Constant::from_values<std::int8_t>(ElementType::int8, {1}, code),
                              Granularity::per_tensor(), {})),
      "type i8"));
  CHECK(contains(message(scan_parameters(float_constant(test::scalar_shape(), std::array{1.0F}),
                                         Granularity::per_axis(0), {})),
                 "no axis 0"));
}

TEST_CASE("the largest code of the largest float32 is finite") {
  const float largest = std::numeric_limits<float>::max();
  for (const std::int64_t storage_max : {7, 127, 32767}) {
    const auto scales =
        scales_of(float_constant({1}, std::array{largest}), Granularity::per_tensor(), storage_max);
    const float back = scales[0] * static_cast<float>(storage_max);
    CHECK(std::isfinite(back));
    CHECK(back >= largest * 0.999999F);
  }
}

}  // namespace
}  // namespace quadrant

namespace quadrant {

TEST_CASE("float16 scales are rounded to float16, and codes are chosen for them") {
  const std::vector<float> values{0.1F, -0.37F, 0.2F, 0.9F};
  const Constant weights = Constant::from_values<float>(ElementType::float32, Shape{2, 2}, values);
  ScaleRule rule;
  rule.scale = ElementType::float16;
  for (const Clip clip : {Clip::absmax, Clip::minmax, Clip::mse}) {
    rule.clip = clip;
    const auto scan = scan_parameters(weights, Granularity::per_axis(0), rule);
    REQUIRE(scan.has_value());
    CHECK(scan->scales.element() == ElementType::float16);
    const auto scales = read_scales(scan->scales);
    REQUIRE(scales.has_value());
    if (clip == Clip::mse) {  // two weights can have any; up to twice that which clips nothing
      for (const float scale : *scales) CHECK(scale > 0);
      CHECK((*scales)[0] <= 2 * 0.37F / 127 * (1 + 0x1p-11F));
      CHECK((*scales)[1] <= 2 * 0.9F / 127 * (1 + 0x1p-11F));
      continue;
    }
    constexpr float slack = 0x1p-11F;  // half a unit in the last of float16's 11 digits
    CHECK(std::fabs((*scales)[0] / (0.37F / 127) - 1) <= slack);
    CHECK(std::fabs((*scales)[1] / (0.9F / 127) - 1) <= slack);
  }
}

TEST_CASE("scales that float16 does not hold as normal numbers stay float32, all of a tensor") {
  for (const float odd : {1e-6F, 1e30F}) {
    const std::vector<float> values{0.1F, -0.37F, odd, odd};
    const Constant weights =
        Constant::from_values<float>(ElementType::float32, Shape{2, 2}, values);
    ScaleRule rule;
    rule.scale = ElementType::float16;
    const auto scan = scan_parameters(weights, Granularity::per_axis(0), rule);
    REQUIRE(scan.has_value());
    CHECK(scan->scales.element() == ElementType::float32);
    CHECK((*read_scales(scan->scales))[1] == odd / 127);
  }
}

TEST_CASE("the smallest numbers of float16 are exact: no scale is below their spacing") {
  const auto check = [](const ScaleRule& rule, std::span<const int> steps) {
    std::vector<std::uint16_t> halves;
    for (const int step : steps) {
      halves.push_back(round_to_float16(static_cast<float>(step) * 0x1p-24F));
    }
    const auto count = static_cast<std::int64_t>(steps.size());
    const Constant weights =
        Constant::from_values<std::uint16_t>(ElementType::float16, Shape{count}, halves);
    const auto scan = scan_parameters(weights, Granularity::per_tensor(), rule);
    REQUIRE(scan.has_value());
    const float scale = (*read_scales(scan->scales))[0];
    const std::int64_t zero_point =
        scan->zero_points ? read_integers(scan->zero_points, 1).value().front() : 0;
    CHECK(scale == 0x1p-24F);
    for (const int step : steps) {
      const float value = static_cast<float>(step) * 0x1p-24F;
      const std::int64_t code =
          quantize_value(value, scale, zero_point, rule.storage_min, rule.storage_max);
      CHECK(dequantize_value(code, scale, zero_point) == value);
    }
  };
  for (const Clip clip : {Clip::absmax, Clip::mse}) {
    check({.clip = clip}, std::array{1, -1, 0, 37});
    check({.clip = clip}, std::array{1, -127, 0, 37});
  }
  ScaleRule unsigned_codes{.storage = ElementType::uint4,
                           .storage_min = 0,
                           .storage_max = 15,
                           .symmetry = Symmetry::asymmetric,
                           .clip = Clip::minmax};
  check(unsigned_codes, std::array{-3, 4, 0, 1});
  check(unsigned_codes, std::array{-15, -1, -2, -7});
  unsigned_codes.clip = Clip::mse;
  check(unsigned_codes, std::array{-3, 4, 0, 1});
}

}  // namespace quadrant

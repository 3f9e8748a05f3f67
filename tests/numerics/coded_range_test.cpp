#include "numerics/coded_range.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "numerics/affine.hpp"

using namespace quadrant;

namespace {

UniformType one_scale(float scale, std::int8_t zero_point) {
  UniformType type;
  type.scales =
      Constant::from_values<float>(ElementType::float32, Shape::scalar(), std::vector{scale});
  type.zero_points = Constant::from_values<std::int8_t>(ElementType::int8, Shape::scalar(),
                                                        std::vector{zero_point});
  return type;
}

CodedRange range_of_type(const UniformType& type) {
  const auto range = coded_range(ScaledFormat::of(type));
  REQUIRE(range.has_value());
  REQUIRE(range->has_value());
  return **range;
}

Histogram counted(std::span<const float> values) {
  Histogram histogram;
  histogram.add(values);
  return histogram;
}

// Of each value on its own, by the map of the codes.
struct BruteForce {
  double clipped = 0;
  double at_low = 0;
  double at_high = 0;
  double signal = 0;
  double noise = 0;
  double near_low = 0;  // so near to where counts change that a bin may lie on both sides
  double near_high = 0;
  double near_clip = 0;
};

BruteForce brute_force(std::span<const float> values, double scale, std::int64_t zero,
                       std::int64_t min, std::int64_t max, double bin) {
  BruteForce sum;
  const double low = scale * static_cast<double>(min - zero);
  const double high = scale * static_cast<double>(max - zero);
  for (const float each : values) {
    const auto value = static_cast<double>(each);
    const std::int64_t code = quantize_value(each, static_cast<float>(scale), zero, min, max);
    const double error = value - scale * static_cast<double>(code - zero);
    sum.at_low += code == min ? 1 : 0;
    sum.at_high += code == max ? 1 : 0;
    sum.clipped += std::fabs(error) > scale / 2 + 1e-6 ? 1 : 0;
    sum.signal += value * value;
    sum.noise += error * error;
    sum.near_low += std::fabs(value - (low + scale / 2)) <= bin ? 1 : 0;
    sum.near_high += std::fabs(value - (high - scale / 2)) <= bin ? 1 : 0;
    const double to_clip =
        std::min(std::fabs(value - (low - scale / 2)), std::fabs(value - (high + scale / 2)));
    sum.near_clip += to_clip <= bin ? 1 : 0;
  }
  return sum;
}

double as_double(std::uint64_t count) { return static_cast<double>(count); }

}  // namespace

TEST_CASE("the range of codes is from the lowest to the highest, whatever the scale's sign") {
  const CodedRange range = range_of_type(one_scale(0.5F, -28));
  CHECK(range.low == -50);
  CHECK(range.high == 77.5);
  CHECK(range.step == 0.5);
  CHECK(range.rounded(1e9) == 77.5);
  CHECK(range.rounded(-1e9) == -50);
  CHECK(range.rounded(3.2) == 3);
  CHECK_FALSE(range.clips(77.7));
  CHECK(range.clips(77.8));
  CHECK(range.clips(-50.3));
  const CodedRange mirrored = range_of_type(one_scale(-0.5F, -28));
  CHECK(mirrored.low == -77.5);
  CHECK(mirrored.high == 50);
  CHECK(mirrored.step == 0.5);
  CHECK(mirrored.zero_point == -28);
}

TEST_CASE("codes of several scales have no one range") {
  UniformType type = one_scale(0.5F, 0);
  type.granularity = Granularity::per_axis(0);
  type.scales = Constant::from_values<float>(ElementType::float32, {2}, std::vector{0.5F, 1.F});
  type.zero_points = {};
  const auto range = coded_range(ScaledFormat::of(type));
  REQUIRE(range.has_value());
  CHECK_FALSE(range->has_value());
}

TEST_CASE("levels of one scale each are one scale, and codes that are no integers have no range") {
  const auto one = [](float value) {
    return Constant::from_values<float>(ElementType::float32, Shape::scalar(), std::vector{value});
  };
  ScaledFormat format{*parse_number_format("i4<-7:7> * f32[tensor] * u4<1:16>[tensor] : f32"),
                      {one(0.5F), one(3)},
                      {},
                      {}};
  const auto range = coded_range(format);
  REQUIRE((range.has_value() && range->has_value()));
  CHECK((*range)->low == -10.5);
  CHECK((*range)->high == 10.5);
  CHECK((*range)->step == 1.5);
  format = {*parse_number_format("nf4 * f32[tensor] : f32"), {one(1)}, {}, {}};
  const auto none = coded_range(format);
  REQUIRE(none.has_value());
  CHECK_FALSE(none->has_value());
}

TEST_CASE("effects on a histogram are those on the values, but for bins on a border") {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.3F, 1);
  std::vector<float> values(20000);
  for (float& value : values) value = normal(random);
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = std::max(0.F, values[i]);
  const Histogram histogram = counted(values);
  struct Case {
    double scale;
    std::int64_t zero;
    std::int64_t min;
    std::int64_t max;
  };
  // Wide enough; clipped at both ends, and at one; 4 bits; 16 bits, of steps finer than bins, which
  // as a power of two has their edges and middles, and not.
  for (const Case& each :
       {Case{0.04, 10, -128, 127}, Case{0.0078125, 0, -128, 127}, Case{0.02, -128, -128, 127},
        Case{0.5, -2, -8, 7}, Case{0.000152587890625, 0, -32768, 32767},
        Case{0.00017, 100, -32768, 32767}}) {
    CAPTURE(each.scale);
    const auto scale = static_cast<double>(static_cast<float>(each.scale));
    const CodedRange range{scale * static_cast<double>(each.min - each.zero),
                           scale * static_cast<double>(each.max - each.zero), scale};
    const BruteForce right =
        brute_force(values, scale, each.zero, each.min, each.max, histogram.bin_width());
    const CodingEffect found = coding_effect(histogram, range);
    CHECK(found.count == values.size());
    CHECK(std::fabs(as_double(found.clipped) - right.clipped) <= right.near_clip);
    CHECK(std::fabs(as_double(found.at_low) - right.at_low) <= right.near_low);
    CHECK(std::fabs(as_double(found.at_high) - right.at_high) <= right.near_high);
    CHECK(found.signal == doctest::Approx(right.signal).epsilon(1e-3));
    CHECK(found.noise == doctest::Approx(right.noise).epsilon(0.03));
  }
}

TEST_CASE("a few values are as they are") {
  // Both ends and zero are known exactly: each end is half a step from the nearest code.
  const CodingEffect found =
      coding_effect(counted(std::vector<float>{-1.25F, 0, 0, 4.25F}), {-2, 4, 0.5});
  CHECK(found.count == 4);
  CHECK(found.clipped == 0);
  CHECK(found.at_low == 0);
  CHECK(found.at_high == 1);
  CHECK(found.signal == doctest::Approx(1.5625 + 18.0625));
  CHECK(found.noise == doctest::Approx(2 * 0.0625));
  CHECK(coding_effect(Histogram(), {-2, 4, 0.5}).count == 0);
}

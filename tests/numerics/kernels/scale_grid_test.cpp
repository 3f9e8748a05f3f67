#include "numerics/kernels/scale_grid.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "numerics/kernels/targets.hpp"

namespace quadrant {
namespace {

using kernels::CodeDistances;

double gain(const std::vector<float>& values, double scale, CodeDistances codes) {
  double sum = 0;
  for (const float value : values) {
    const auto w = static_cast<double>(value);
    const double q = std::clamp(std::nearbyint(w / scale), static_cast<double>(-codes.below),
                                static_cast<double>(codes.above));
    sum += w * w - (w - scale * q) * (w - scale * q);
  }
  return sum;
}

std::vector<float> some_values(std::size_t count, std::mt19937& random) {
  std::normal_distribution<float> distribution;
  std::vector<float> values(count);
  for (float& value : values) value = std::clamp(distribution(random) / 2, -1.9F, 1.9F);
  return values;
}

std::vector<float> some_scales(std::size_t count) {
  std::vector<float> scales(count);
  for (std::size_t i = 0; i < count; ++i) scales[i] = 0.1F + 0.013F * static_cast<float>(i);
  return scales;
}

TEST_CASE("kernels: gains of scales and their bounds, the same on all targets") {
  std::mt19937 random(1);
  for (const std::size_t count : {1U, 2U, 5U, 16U, 31U, 32U, 200U}) {
    for (const CodeDistances codes :
         {CodeDistances{8, 7}, CodeDistances{0, 15}, CodeDistances{1, 1}}) {
      for (const std::size_t scale_count : {2U, 7U, 16U, 17U, 32U}) {
        const auto values = some_values(count, random);
        const auto scales = some_scales(scale_count);
        double power = 0;
        for (const float value : values)
          power += static_cast<double>(value) * static_cast<double>(value);
        const double margin = 4 * static_cast<double>(count + 8) * 0x1p-24 * power;
        std::optional<std::vector<float>> first_gains;
        std::optional<std::vector<float>> first_bounds;
        test::for_each_target([&] {
          std::vector<float> gains(scale_count);
          std::vector<float> bounds(scale_count - 1);
          kernels::gains_of_scales(values.data(), count, scales.data(), scale_count, codes,
                                   gains.data(), bounds.data());
          if (!first_gains) first_gains = gains;
          if (!first_bounds) first_bounds = bounds;
          CHECK(gains == *first_gains);
          CHECK(bounds == *first_bounds);
          for (std::size_t i = 0; i < scale_count; ++i) {
            const auto scale = static_cast<double>(scales[i]);
            CHECK(std::fabs(static_cast<double>(gains[i]) - gain(values, scale, codes)) <= margin);
            if (i + 1 == scale_count) break;
            const double width = static_cast<double>(scales[i + 1]) - scale;
            for (int step = 0; step <= 20; ++step) {
              if (gain(values, scale + width * step / 20, codes) >
                  static_cast<double>(bounds[i]) + margin) {
                FAIL("more is gained between scales ", i, " and ", i + 1);
              }
            }
          }
        });
      }
    }
  }
}

TEST_CASE("kernels: nearest codes, the same on all targets") {
  std::mt19937 random(2);
  for (const std::size_t count : {1U, 7U, 16U, 33U}) {
    const auto values = some_values(count, random);
    std::vector<float> expected(count);
    std::ranges::transform(values, expected.begin(), [](float value) {
      return std::clamp(std::nearbyint(value * (1 / 0.17F)), -8.0F, 7.0F);
    });
    test::for_each_target([&] {
      std::vector<float> codes(count);
      kernels::nearest_codes(values.data(), count, 0.17F, {8, 7}, codes.data());
      CHECK(codes == expected);
    });
  }
}

}  // namespace
}  // namespace quadrant

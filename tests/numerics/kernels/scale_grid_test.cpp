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
using kernels::ScaleGrid;

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

TEST_CASE("kernels: gains of scales and their bounds, the same on all targets") {
  std::mt19937 random(1);
  for (const std::size_t count : {1U, 2U, 5U, 16U, 31U, 32U, 200U}) {
    for (const CodeDistances codes : {CodeDistances{8, 7}, {0, 15}, {1, 1}}) {
      for (const std::size_t size : {16U, 32U}) {
        const auto values = some_values(count, random);
        double power = 0;
        for (const float w : values) power += static_cast<double>(w) * static_cast<double>(w);
        const double margin = 4 * static_cast<double>(count + 8) * 0x1p-24 * power;
        const double known = power * 0.9;
        const auto [least, most_value] = std::ranges::minmax(values);
        const float clipping =
            std::max(most_value / (codes.above + 0.25F), -least / (codes.below + 0.25F));
        std::optional<ScaleGrid> first;
        test::for_each_target([&] {
          ScaleGrid grid{.count = size, .scales = {}, .slopes = {}, .bounds = {}};
          const std::uint32_t promising =
              kernels::look_at_scales(values.data(), count, 0.1F, 0.6F, codes, clipping,
                                      static_cast<float>(known), static_cast<float>(margin), grid);
          if (!first) first = grid;
          CHECK(grid.scales == first->scales);
          CHECK(grid.slopes == first->slopes);
          CHECK(grid.bounds == first->bounds);
          CHECK(grid.scales[0] == 0.1F);
          CHECK(grid.scales[size - 1] == doctest::Approx(0.6));
          double best = known;
          for (std::size_t i = 0; i < size; ++i) {
            const double found = gain(values, static_cast<double>(grid.scales[i]), codes);
            const float gained = grid.scales[i] * grid.slopes[i];
            CHECK(std::fabs(static_cast<double>(gained) - found) <= margin);
            best = std::max(best, found);
          }
          for (std::size_t i = 0; i + 1 < size; ++i) {
            const auto low = static_cast<double>(grid.scales[i]);
            const double width = static_cast<double>(grid.scales[i + 1]) - low;
            double most = 0;
            for (int step = 0; step <= 20; ++step) {
              most = std::max(most, gain(values, low + width * step / 20, codes));
            }
            CHECK(most <= static_cast<double>(grid.bounds[i]) + margin);
            const bool is_listed = ((promising >> i) & 1U) != 0;
            if (most > best) CHECK(is_listed);
          }
          CHECK(promising < (1U << (size - 1)));
        });
      }
    }
  }
}

TEST_CASE("kernels: codes at two scales, their sums and changes, the same on all targets") {
  std::mt19937 random(2);
  for (const std::size_t count : {1U, 7U, 8U, 9U, 16U, 33U, 256U}) {
    const auto values = some_values(count, random);
    const auto codes_at = [&](float scale) {
      std::vector<float> codes(count);
      std::ranges::transform(values, codes.begin(), [&](float value) {
        return std::clamp(std::nearbyint(value * (1 / scale)), -8.0F, 7.0F);
      });
      return codes;
    };
    const auto low = codes_at(0.17F);
    const auto high = codes_at(0.19F);
    double a = 0;
    double b = 0;
    std::vector<std::uint32_t> changed;
    for (std::uint32_t i = 0; i < count; ++i) {
      a += static_cast<double>(values[i]) * static_cast<double>(high[i]);
      b += static_cast<double>(high[i]) * static_cast<double>(high[i]);
      if (low[i] != high[i]) changed.push_back(i);
    }
    std::optional<double> first;
    test::for_each_target([&] {
      std::vector<float> low_codes(count);
      std::vector<float> high_codes(count);
      std::vector<std::uint32_t> found(count);
      const auto ends = kernels::codes_at_ends(values.data(), count, 0.17F, 0.19F, {8, 7},
                                               low_codes.data(), high_codes.data(), found.data());
      found.resize(ends.changed);
      CHECK(low_codes == low);
      CHECK(high_codes == high);
      CHECK(found == changed);
      CHECK(ends.a == doctest::Approx(a).epsilon(1e-12));
      CHECK(ends.b == b);
      if (!first) first = ends.a;
      CHECK(ends.a == *first);
    });
  }
}

}  // namespace
}  // namespace quadrant

#include "numerics/kernels/squared_error.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "numerics/affine.hpp"
#include "numerics/kernels/targets.hpp"

namespace quadrant {
namespace {

TEST_CASE("kernels: squared errors are those of quantize_value, the same on all targets") {
  std::mt19937 random(1);
  std::normal_distribution<float> distribution;
  for (std::size_t count = 0; count < 70; ++count) {
    std::vector<float> values(count);
    for (float& value : values) value = distribution(random);
    for (const float scale : {0.3F, -0.3F, 1e-3F, 1e6F}) {
      double expected = 0;
      for (const float value : values) {
        const auto code = quantize_value(value, scale, 3, 0, 15);
        const double error =
            static_cast<double>(value) - static_cast<double>(dequantize_value(code, scale, 3));
        expected += error * error;
      }
      std::optional<double> first;
      test::for_each_target([&] {
        const double found = kernels::squared_error(values.data(), values.size(), {scale, -3, 12});
        CHECK(found == doctest::Approx(expected).epsilon(1e-12));
        if (!first) first = found;
        CHECK(found == *first);
        const auto both =
            kernels::squared_errors(values.data(), values.size(), {{{1, -8, 7}, {scale, -3, 12}}});
        CHECK(both[1] == found);
        CHECK(both[0] == kernels::squared_error(values.data(), values.size(), {1, -8, 7}));
      });
    }
  }
}

}  // namespace
}  // namespace quadrant

#include "quadrant/numerics/fixed_point.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "quadrant/ir/type.hpp"

using namespace quadrant;

namespace {

__extension__ using Wide = __int128;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

// The code whose real value is nearest: by looking at all.
std::int64_t nearest_code(double real, double scale, std::int64_t zero_point,
                          const IntegerRange& codes, TieRule ties) {
  std::int64_t best = codes.min;
  for (std::int64_t code = codes.min; code <= codes.max; ++code) {
    const double error = std::abs(static_cast<double>(code - zero_point) * scale - real);
    const double least = std::abs(static_cast<double>(best - zero_point) * scale - real);
    const bool wins_tie = ties == TieRule::half_even
                              ? (code - zero_point) % 2 == 0
                              : std::abs(code - zero_point) > std::abs(best - zero_point);
    if (error < least || (error == least && wins_tie)) best = code;
  }
  return best;
}

bool refuses(const auto& result, const std::string& words) {
  return !result && result.error().code == ErrorCode::impossible &&
         result.error().message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a real number is a scaled value times its scale") {
  CHECK(to_real(ScaledValue{3, std::numbers::pi}) == 3 * std::numbers::pi);
  CHECK(to_real(AffineValue{131, 0.5, 128}) == 1.5);
  CHECK(to_real(AffineValue{most, 1, -1}) == 0x1p63);
}

TEST_CASE("with the scale pi, rounding loses half of pi at most") {
  const auto scale = static_cast<float>(std::numbers::pi);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> reals(-128 * scale, 127 * scale);
  for (int i = 0; i < 100000; ++i) {
    const float real = reals(random);
    const AffineValue code = quantize_real(real, scale, 0, {-128, 127});
    // The quotient is rounded to float32, by 2^-24 of at most 128.
    CHECK(std::abs(to_real(code) - static_cast<double>(real)) <=
          static_cast<double>(scale) * (0.5 + 0x1p-17));
  }
}

TEST_CASE("real to affine is the nearest code, for every width, range and zero point") {
  std::mt19937 random(2);
  for (int bits = 1; bits <= 8; ++bits) {
    for (const bool is_signed : {false, true}) {
      IntegerRange codes = code_range(bits, is_signed);
      if (bits > 2 && random() % 2 == 0) ++codes.min;  // not all codes of a width need be used
      for (std::int64_t zero = codes.min; zero <= codes.max; ++zero) {
        for (const TieRule ties : {TieRule::half_even, TieRule::half_away}) {
          // Quarters of a scale: ties, what lies between them, and beyond both ends.
          const std::int64_t quarters = static_cast<std::int64_t>(random() % 2000) - 1000;
          const double real = static_cast<double>(quarters) * 0.25 * 0.125;
          const AffineValue made =
              quantize_real(static_cast<float>(real), 0.125F, zero, codes, ties);
          CHECK(made.value == nearest_code(real, 0.125, zero, codes, ties));
        }
        CHECK(to_real(quantize_real(0, 0.3F, zero, codes)) == 0);  // zero is exact
      }
    }
  }
  for (int bits = 9; bits <= 32; ++bits) {
    for (const bool is_signed : {false, true}) {
      const IntegerRange codes = code_range(bits, is_signed);
      CHECK(quantize_real(1e30F, 1.0F, codes.max, codes).value == codes.max);
      CHECK(quantize_real(-1e30F, 1.0F, codes.min, codes).value == codes.min);
      CHECK(quantize_real(0, 1.0F, codes.min, codes).value == codes.min);
      CHECK(quantize_real(std::numeric_limits<float>::quiet_NaN(), 1.0F, codes.max, codes).value ==
            codes.max);
    }
  }
}

TEST_CASE("padding with the zero point adds no bias, and with another code it does") {
  const std::vector<float> signal{0.5F, 1.25F, -0.75F, 2.0F};
  const std::array kernel{0.5, 2.0, -1.0};
  constexpr std::int64_t zero_point = 37;
  const auto convolved = [&](const std::vector<double>& padded) {
    std::vector<double> sums;
    for (std::size_t i = 0; i + 2 < padded.size(); ++i) {
      sums.push_back(padded[i] * kernel[0] + padded[i + 1] * kernel[1] + padded[i + 2] * kernel[2]);
    }
    return sums;
  };
  const auto with_padding = [&](std::int64_t code) {
    std::vector<double> reals{to_real(AffineValue{code, 0.25, zero_point})};
    for (const float real : signal) {
      reals.push_back(to_real(quantize_real(real, 0.25F, zero_point, {0, 255})));
    }
    reals.push_back(reals.front());
    return convolved(reals);
  };
  // The signal is made of multiples of the scale: only the padding could differ.
  std::vector<double> real{0};
  real.insert(real.end(), signal.begin(), signal.end());
  real.push_back(0);
  CHECK(with_padding(zero_point) == convolved(real));
  CHECK(with_padding(0) != convolved(real));
}

TEST_CASE("affine and fixed point values of one scale differ by the zero point") {
  for (std::int64_t code = 0; code <= 255; ++code) {
    const AffineValue affine{code, 0.1, 128};
    const auto scaled = to_scaled(affine);
    REQUIRE(scaled.has_value());
    CHECK(*scaled == ScaledValue{code - 128, 0.1});
    CHECK(*to_affine(*scaled, 128) == affine);
  }
  CHECK(refuses(to_scaled({most, 1, -1}), "64 bits"));
  CHECK(refuses(to_affine({most, 1}, 1), "64 bits"));
}

TEST_CASE("products of scaled values are exact, and so is their scale") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 10000; ++i) {
    const auto a = static_cast<std::int64_t>(random()) >> (random() % 62);
    const auto b = static_cast<std::int64_t>(random()) >> (random() % 62);
    const Wide exact = static_cast<Wide>(a) * b;
    const auto made = product({a, 0.5}, {b, 0x1p-7});
    const bool fits = exact <= most && exact >= -static_cast<Wide>(most) - 1;
    REQUIRE(made.has_value() == fits);
    if (fits) CHECK(*made == ScaledValue{static_cast<std::int64_t>(exact), 0x1p-8});
  }
  CHECK(refuses(product({1, 1e-300}, {1, 1e-300}), "above zero"));
  CHECK(refuses(product({1, 1e300}, {1, 1e300}), "above zero"));
}

TEST_CASE("sums are of one scale; others are refused with both scales") {
  CHECK(*sum({3, 0.5}, {-7, 0.5}) == ScaledValue{-4, 0.5});
  CHECK(refuses(sum({3, 0.5}, {-7, 0.25}), "scales 0.5 and 0.25"));
  CHECK(refuses(sum({most, 1}, {1, 1}), "64 bits"));
}

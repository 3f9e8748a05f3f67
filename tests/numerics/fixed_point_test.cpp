#include "numerics/fixed_point.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "quadrant/ir/type.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

__extension__ using Int128 = __int128;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

bool fits_64_bits(Int128 value) { return value >= least && value <= most; }

// Of every magnitude, with either sign; half of them so large that two may leave 64 bits.
std::int64_t random_integer(std::mt19937_64& random) {
  const auto value = static_cast<std::int64_t>(random());
  return random() % 2 == 0 ? value : value >> (random() % 63);
}

// The code whose real value is nearest: by looking at all.
std::int64_t nearest_code(double real, double scale, std::int64_t zero_point,
                          const IntegerRange& codes, TieRule ties) {
  std::int64_t best = codes.min;
  for (std::int64_t code = codes.min; code <= codes.max; ++code) {
    const double error = std::abs(static_cast<double>(code - zero_point) * scale - real);
    const double lowest = std::abs(static_cast<double>(best - zero_point) * scale - real);
    const bool wins_tie = ties == TieRule::half_even
                              ? (code - zero_point) % 2 == 0
                              : std::abs(code - zero_point) > std::abs(best - zero_point);
    if (error < lowest || (error == lowest && wins_tie)) best = code;
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
  // 2^63 + 1024 is in the middle of two float64s: rounding most to 2^63 first would go up.
  CHECK(to_real(AffineValue{most, 1, -1025}) == 0x1p63);
  std::mt19937_64 random(4);
  for (int i = 0; i < 10000; ++i) {
    const AffineValue affine{random_integer(random), 0x1p-9, random_integer(random)};
    const Int128 exact = static_cast<Int128>(affine.value) - affine.zero_point;
    CHECK(to_real(affine) == std::ldexp(static_cast<double>(exact), -9));
  }
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

TEST_CASE("with any scale, rounding loses half of it, and what float32 takes from the quotient") {
  std::mt19937 random(5);
  for (int bits = 1; bits <= 32; ++bits) {
    for (int i = 0; i < 2000; ++i) {
      const float scale = std::ldexp(std::uniform_real_distribution<float>(1, 2)(random),
                                     static_cast<int>(random() % 80) - 40);
      const IntegerRange codes = code_range(bits, random() % 2 == 0);
      const std::int64_t zero_point =
          std::uniform_int_distribution<std::int64_t>(codes.min, codes.max)(random);
      const auto wide = static_cast<double>(scale);
      const float real = static_cast<float>(std::uniform_real_distribution<double>(
          static_cast<double>(codes.min - zero_point) * wide,
          static_cast<double>(codes.max - zero_point) * wide)(random));
      for (const TieRule ties : {TieRule::half_even, TieRule::half_away}) {
        const AffineValue made = quantize_real(real, scale, zero_point, codes, ties);
        CHECK(made.value >= codes.min);
        CHECK(made.value <= codes.max);
        const auto exact = static_cast<double>(real);
        // 2^-40: float64's own roundings, in this test.
        CHECK(std::abs(to_real(made) - exact) <=
              (wide * 0.5 + std::abs(exact) * 0x1p-24) * (1 + 0x1p-40));
      }
    }
  }
}

TEST_CASE("a 32-bit code is as far off as float32's quotient: many scales") {
  // 5e9 / 3 = 1666666666.67 is in float32 a multiple of 128: 1666666624, 42 2/3 scales below.
  const AffineValue made = quantize_real(5e9F, 3.0F, 0, code_range(32, true), TieRule::half_even);
  CHECK(made.value == 1666666624);
}

TEST_CASE("ties: all zero points and quarters of a scale, in all ranges of up to 4 bits") {
  for (int bits = 1; bits <= 4; ++bits) {
    for (const bool is_signed : {false, true}) {
      const IntegerRange all = code_range(bits, is_signed);
      for (std::int64_t min = all.min; min <= all.max; ++min) {
        for (std::int64_t max = min; max <= all.max; ++max) {
          for (std::int64_t zero = min; zero <= max; ++zero) {
            // From one code below the smallest to one above the largest.
            for (std::int64_t quarter = 4 * (min - zero - 1); quarter <= 4 * (max - zero + 1);
                 ++quarter) {
              for (const TieRule ties : {TieRule::half_even, TieRule::half_away}) {
                const double real = static_cast<double>(quarter) * 0.125;
                CHECK(quantize_real(static_cast<float>(real), 0.5F, zero, {min, max}, ties).value ==
                      nearest_code(real, 0.5, zero, {min, max}, ties));
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("ties: 1 to 32 bits, narrower ranges, against integers") {
  std::mt19937_64 random(6);
  for (int bits = 1; bits <= 32; ++bits) {
    for (int i = 0; i < 2000; ++i) {
      const IntegerRange all = code_range(bits, random() % 2 == 0);
      const auto between = [&](std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random);
      };
      IntegerRange codes = all;
      codes.min = between(all.min, all.max);
      codes.max = between(codes.min, all.max);
      const std::int64_t zero_point = between(codes.min, codes.max);
      // A float32 of 24 bits that is a whole number of half scales, mostly odd.
      const std::int64_t halves =
          (static_cast<std::int64_t>(random() % 0x1ffffff) - 0xffffff) >> (random() % 24);
      const std::int64_t below = halves >> 1;
      const bool tie = halves % 2 != 0;
      const std::int64_t even = below + (tie && below % 2 != 0 ? 1 : 0);
      const std::int64_t away = below + (tie && halves > 0 ? 1 : 0);
      const float real = std::ldexp(static_cast<float>(halves), -4);
      const auto made = [&](TieRule ties) {
        return quantize_real(real, 0.125F, zero_point, codes, ties).value;
      };
      CHECK(made(TieRule::half_even) == std::clamp(even + zero_point, codes.min, codes.max));
      CHECK(made(TieRule::half_away) == std::clamp(away + zero_point, codes.min, codes.max));
      CHECK(quantize_real(0, 0.3F, zero_point, codes).value == zero_point);
    }
  }
}

TEST_CASE("real to affine is the nearest code: all of up to 8 bits, ends of wider ones") {
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

TEST_CASE(
    "a convolution of codes is the real one for every zero point, unless padded with others") {
  std::mt19937 random(7);
  const std::array<std::int64_t, 3> kernel{3, -5, 2};
  constexpr double kernel_scale = 0.25;
  constexpr double scale = 0.125;
  // The sums of products, by the arithmetic of scaled values.
  const auto on_codes = [&](const std::vector<std::int64_t>& codes, std::int64_t zero_point) {
    std::vector<double> reals;
    for (std::size_t i = 0; i + 2 < codes.size(); ++i) {
      ScaledValue total{0, scale * kernel_scale};
      for (std::size_t k = 0; k < 3; ++k) {
        const auto scaled = to_scaled({codes[i + k], scale, zero_point});
        REQUIRE(scaled.has_value());
        const auto term = product(*scaled, {kernel[k], kernel_scale});
        REQUIRE(term.has_value());
        const auto added = sum(total, *term);
        REQUIRE(added.has_value());
        total = *added;
      }
      reals.push_back(to_real(total));
    }
    return reals;
  };
  test::Turns turns;
  for (std::int64_t zero_point = 0; zero_point <= 255; ++zero_point) {
    if (!turns.next()) continue;
    // Real numbers that are codes' own: all sums are exact, so only the padding could differ.
    std::vector<std::int64_t> codes{0};
    std::vector<double> reals{0};
    for (int i = 0; i < 5; ++i) {
      const auto multiple = static_cast<std::int64_t>(random() % 256) - zero_point;
      reals.push_back(static_cast<double>(multiple) * scale);
      codes.push_back(
          quantize_real(static_cast<float>(reals.back()), 0.125F, zero_point, {0, 255}).value);
    }
    codes.push_back(0);
    reals.push_back(0);
    std::vector<double> expected;
    for (std::size_t i = 0; i + 2 < reals.size(); ++i) {
      expected.push_back(reals[i] * 0.75 + reals[i + 1] * -1.25 + reals[i + 2] * 0.5);
    }
    for (std::int64_t padding = 0; padding <= 255; ++padding) {
      codes.front() = codes.back() = padding;
      CHECK((on_codes(codes, zero_point) == expected) == (padding == zero_point));
    }
  }
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
  std::mt19937_64 random(8);
  for (int i = 0; i < 10000; ++i) {
    const std::int64_t value = random_integer(random);
    const std::int64_t zero_point = random_integer(random);
    const Int128 scaled = static_cast<Int128>(value) - zero_point;
    const Int128 affine = static_cast<Int128>(value) + zero_point;
    const auto as_scaled = to_scaled({value, 0.1, zero_point});
    const auto as_affine = to_affine({value, 0.1}, zero_point);
    REQUIRE(as_scaled.has_value() == fits_64_bits(scaled));
    REQUIRE(as_affine.has_value() == fits_64_bits(affine));
    if (as_scaled) CHECK(*as_scaled == ScaledValue{static_cast<std::int64_t>(scaled), 0.1});
    if (as_affine) {
      CHECK(*as_affine == AffineValue{static_cast<std::int64_t>(affine), 0.1, zero_point});
    }
  }
}

TEST_CASE("products of scaled values are exact, and so is their scale") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 10000; ++i) {
    const auto a = static_cast<std::int64_t>(random()) >> (random() % 62);
    const auto b = static_cast<std::int64_t>(random()) >> (random() % 62);
    const Int128 exact = static_cast<Int128>(a) * b;
    const auto made = product({a, 0.5}, {b, 0x1p-7});
    const bool fits = fits_64_bits(exact);
    REQUIRE(made.has_value() == fits);
    if (fits) CHECK(*made == ScaledValue{static_cast<std::int64_t>(exact), 0x1p-8});
  }
  CHECK(refuses(product({most, 1}, {2, 1}), "product of 9223372036854775807 and 2 does not fit"));
  CHECK(refuses(product({least, 1}, {-1, 1}), "64 bits"));
  CHECK(refuses(product({1, 1e-300}, {1, 1e-300}), "above zero"));
  CHECK(refuses(product({1, 1e300}, {1, 1e300}), "above zero"));
}

TEST_CASE("sums are of one scale; others are refused with both scales") {
  CHECK(*sum({3, 0.5}, {-7, 0.5}) == ScaledValue{-4, 0.5});
  CHECK(refuses(sum({3, 0.5}, {-7, 0.25}), "scales 0.5 and 0.25"));
  CHECK(refuses(sum({3, 0.1}, {-7, std::nextafter(0.1, 1.0)}), "0.1 and 0.10000000000000002"));
  CHECK(refuses(sum({most, 1}, {1, 1}), "64 bits"));
  CHECK(refuses(sum({least, 1}, {-1, 1}), "64 bits"));
}

TEST_CASE("sums of scaled values are exact, and keep the scale") {
  std::mt19937_64 random(9);
  for (int i = 0; i < 10000; ++i) {
    const std::int64_t a = random_integer(random);
    const std::int64_t b = random_integer(random);
    const Int128 exact = static_cast<Int128>(a) + b;
    const auto made = sum({a, 0.3}, {b, 0.3});
    REQUIRE(made.has_value() == fits_64_bits(exact));
    if (made) CHECK(*made == ScaledValue{static_cast<std::int64_t>(exact), 0.3});
  }
}

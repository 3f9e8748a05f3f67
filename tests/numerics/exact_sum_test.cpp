#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "numerics/helpers.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "shortened.hpp"

namespace quadrant {
namespace {

using test::infinity;
using test::largest;
using test::smallest;

// Enough digits that no sum of floats is rounded.
using Wide = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<1024, boost::multiprecision::digit_base_2>>;

double oracle(const std::vector<float>& values) {
  Wide sum = 0;
  for (const float value : values) {
    if (std::isfinite(value)) sum += Wide(value);
  }
  return sum.convert_to<double>();
}

ExactSum sum_of(std::span<const float> values) {
  ExactSum sum;
  sum.add(values);
  return sum;
}

// All of float32: any bits, and so any exponent.
std::vector<float> any_bits(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  return values;
}

std::vector<std::vector<float>> summed_examples() {
  std::vector<float> wide = test::random_values(10000, 2);
  for (float& value : wide) value = std::exp(20 * value);  // softmax of large numbers
  std::vector<float> tiny = test::random_values(5000, 3);
  for (float& value : tiny) value *= std::numeric_limits<float>::denorm_min() * 1000;
  return {{},
          test::random_values(1, 1),
          test::random_values(4095, 1),
          test::random_values(4097, 1),
          test::random_values(20000, 1),
          wide,
          tiny,
          any_bits(9000, 4)};
}

TEST_CASE("exact sum: by hand") {
  CHECK(ExactSum().value() == 0);
  CHECK(sum_of(std::array{1e30F, 1.0F, -1e30F}).value() == 1);
  CHECK(sum_of(std::array{largest, largest}).value() == 2 * static_cast<double>(largest));
  CHECK(sum_of(std::array{largest, smallest, -largest}).value() == static_cast<double>(smallest));
  CHECK(sum_of(std::array{-1.5F}).value() == -1.5);
  CHECK(sum_of(std::array{0.0F, -0.0F}) == ExactSum());
  // 0.1F is 13421773 / 2^27.
  CHECK(sum_of(std::vector(10, 0.1F)).value() == 134217730.0 / 134217728);
  CHECK(sum_of(std::vector(4096, 2 - 0x1p-23F)).value() == 8192 - 0x1p-11);
}

TEST_CASE("exact sum: NaN and infinities are left out") {
  CHECK(sum_of(std::array{1.0F, std::nanf(""), infinity, 2.0F, -infinity}).value() == 3);
  CHECK(sum_of(std::array{infinity}) == ExactSum());
}

TEST_CASE("exact sum: rounded once, ties to even") {
  CHECK(sum_of(std::array{1.0F, 0x1p-53F}).value() == 1);
  CHECK(sum_of(std::array{1.0F, 0x1p-53F, smallest}).value() == 1 + 0x1p-52);
  CHECK(sum_of(std::array{1.0F, 0x1p-52F, 0x1p-53F}).value() == 1 + 0x1p-51);
  CHECK(sum_of(std::array{-1.0F, -0x1p-53F, -smallest}).value() == -1 - 0x1p-52);
}

TEST_CASE("exact sum: as 1024 binary digits have it") {
  for (const std::vector<float>& values : summed_examples()) {
    CAPTURE(values.size());
    CHECK(sum_of(values).value() == oracle(values));
  }
}

TEST_CASE("exact sum: of every size") {
  test::Turns turns;
  for (int exponent = -160; exponent < 126; ++exponent) {
    if (!turns.next()) continue;
    CAPTURE(exponent);
    std::vector<float> values = test::random_values(600, static_cast<unsigned>(exponent + 200));
    for (float& value : values) value = std::ldexp(value, exponent);
    values[300] = 0;
    values[301] = -0.0F;
    CHECK(sum_of(values).value() == oracle(values));
    // As close to the next power of two as floats come, many of them.
    values.assign(1000, std::ldexp(2 - 0x1p-23F, exponent));
    CHECK(sum_of(values).value() == oracle(values));
  }
}

TEST_CASE("exact sum: of the small beside the large") {
  for (int distance = 0; distance < 140; ++distance) {
    CAPTURE(distance);
    std::vector<float> values = test::random_values(300, static_cast<unsigned>(distance));
    for (std::size_t i = 1; i < values.size(); i += 2) values[i] = std::ldexp(values[i], -distance);
    ExactSum sum = sum_of(values);
    CHECK(sum.value() == oracle(values));
    // Without the large ones, what is left is the small ones' sum.
    std::vector<float> small;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float opposite = -values[i];
      if (i % 2 == 0) sum.add({&opposite, 1});
      if (i % 2 != 0) small.push_back(values[i]);
    }
    CHECK(sum.value() == oracle(small));
  }
}

TEST_CASE("exact sum: neither order nor parts matter") {
  for (std::vector<float> values : summed_examples()) {
    const ExactSum whole = sum_of(values);
    std::mt19937 random(7);
    for (int round = 0; round < 5; ++round) {
      std::ranges::shuffle(values, random);
      CHECK(sum_of(values) == whole);
      const std::size_t cut = values.empty() ? 0 : random() % values.size();
      ExactSum last = sum_of(std::span(values).subspan(cut));
      last.merge(sum_of(std::span(values).first(cut)));
      CHECK(last == whole);
      ExactSum each;
      for (const float& value : values) each.add({&value, 1});
      CHECK(each == whole);
    }
  }
}

TEST_CASE("exact sum: what is taken back leaves nothing") {
  for (std::vector<float> values : summed_examples()) {
    std::ranges::replace_if(values, [](float value) { return !std::isfinite(value); }, 0.0F);
    ExactSum sum = sum_of(values);
    for (float& value : values) value = -value;
    sum.merge(sum_of(values));
    CHECK(sum == ExactSum());
  }
}

TEST_CASE("exact sum: as text, by hand") {
  CHECK(ExactSum().to_hex() == "0x0p+0");
  CHECK(sum_of(std::array{-1.5F}).to_hex() == "-0x3p-1");
  CHECK(sum_of(std::array{1.0F}).to_hex() == "0x2p-1");
  CHECK(sum_of(std::array{smallest}).to_hex() == "0x1p-149");
  // 2^128 - 2^104 is 24 ones.
  CHECK(sum_of(std::array{largest, smallest}).to_hex() ==
        "0x1fffffe" + std::string(62, '0') + "1p-149");
}

TEST_CASE("exact sum: text reads back") {
  for (const std::vector<float>& values : summed_examples()) {
    const ExactSum sum = sum_of(values);
    CHECK(ExactSum::from_hex(sum.to_hex()) == sum);
    // The text means what it means in C.
    CHECK(std::strtod(sum.to_hex().c_str(), nullptr) == sum.value());
  }
}

TEST_CASE("exact sum: other text is refused") {
  for (const char* text :
       {"",        "0",        "0x",       "0x0",       "2p-1",         "0xp+0",
        "0x2",     "0x2p",     "0x2p-",    "0x2p3",     "0x2p-1 ",      " 0x2p-1",
        "0x02p-1", "0x20p-5",  "0x1p+0",   "0x2P-1",    "0X2p-1",       "0x2p-01",
        "+0x2p-1", "-0x0p+0",  "0x0p-1",   "--0x2p-1",  "0x2.0p-1",     "0xgp-1",
        "0xAp-1",  "0x1p-150", "0x1p-153", "0x10p-149", "0x1p+1000000", "0x1p+99999999999999999999",
        "0x2p--1", "0x2p+-1",  "nan",      "inf"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(ExactSum::from_hex(text).has_value());
  }
  CHECK(ExactSum::from_hex("0x2p-1") == sum_of(std::array{1.0F}));
  CHECK_FALSE(ExactSum::from_hex("0x1" + std::string(95, '0') + "1p-149").has_value());
  CHECK_FALSE(ExactSum::from_hex("0x" + std::string(1000000, '1') + "p-149").has_value());
  // The largest power of 16 in units of 2^-149 that is below 2^383, and the next.
  CHECK(ExactSum::from_hex("0x1p+231").has_value());
  CHECK_FALSE(ExactSum::from_hex("0x1p+235").has_value());
}

}  // namespace
}  // namespace quadrant

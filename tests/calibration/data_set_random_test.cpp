// Samples of random numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "calibration/helpers.hpp"
#include "ir/float16.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/text.hpp"
#include "tensor_values.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

Graph graph_of_one_input(const std::string& type) {
  return parse_graph("%x: " + type + " = input()\n").value();
}

Tensor drawn(const std::string& type, std::size_t i = 0, std::uint64_t seed = 1,
             const RandomDataOptions& options = {}) {
  const auto sample = random_data_set(graph_of_one_input(type), i + 1, seed, options)->sample(i);
  REQUIRE(sample.has_value());
  REQUIRE(sample->inputs.size() == 1);
  return sample->inputs[0];
}

template <class T>
std::set<T> range_of(const std::string& type, const RandomDataOptions& options = {}) {
  const std::vector<T> values = values_of<T>(drawn(type, 0, 1, options));
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("floats are close to normal") {
  const auto values = values_of<float>(drawn("tensor<200x1000xf32>"));
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
  }
  // Five standard deviations of each of these, for that many numbers.
  CHECK(std::abs(sum / count) < 0.012);
  CHECK(std::abs(squares / count - 1) < 0.016);
  CHECK(std::abs(fourth / count - 2.9) < 0.11);  // a sum of twelve has 3 - 1.2 / 12
  // The share within one, two and three standard deviations.
  const auto within = [&](float limit) {
    return static_cast<double>(std::ranges::count_if(
               values, [&](float value) { return std::abs(value) < limit; })) /
           count;
  };
  CHECK(std::abs(within(1) - 0.683) < 0.01);
  CHECK(std::abs(within(2) - 0.954) < 0.01);
  CHECK(std::abs(within(3) - 0.997) < 0.01);
  CHECK(within(6.0F) == 1.0);
}

TEST_CASE("the numbers are the same everywhere") {
  // Worked out by a few lines of Python from the definitions of SplitMix64 and of the sum.
  CHECK(values_of<float>(drawn("tensor<4xf32>", 0, 1)) ==
        std::vector<float>{-0x1.8644p-1F, -0x1.876p-4F, 0x1.acb2p-1F, -0x1.80a2p-1F});
}

TEST_CASE("each sample and each seed has its own, and the same each time") {
  const std::string type = "tensor<1x8xf32>";
  CHECK(same(drawn(type, 3, 7), drawn(type, 3, 7)));
  CHECK_FALSE(same(drawn(type, 3, 7), drawn(type, 4, 7)));
  CHECK_FALSE(same(drawn(type, 3, 7), drawn(type, 3, 8)));
  const auto two = parse_graph("%x: tensor<8xf32> = input()\n%y: tensor<8xf32> = input()\n");
  const auto data = random_data_set(*two, 5, 7);
  CHECK(data->size() == 5);
  CHECK(data->name(3) == "random_3");
  const auto sample = data->sample(3);
  REQUIRE(sample.has_value());
  CHECK_FALSE(same(sample->inputs[0], sample->inputs[1]));
  // It does not matter that there are more samples or inputs.
  CHECK(std::ranges::equal(sample->inputs[0].bytes(), drawn(type, 3, 7).bytes()));
}

TEST_CASE("floats of other widths are those of 32 bits, rounded") {
  const auto values = values_of<float>(drawn("tensor<100xf32>"));
  const auto doubles = values_of<double>(drawn("tensor<100xf64>"));
  const auto halves = values_of<std::uint16_t>(drawn("tensor<100xf16>"));
  const auto brains = values_of<std::uint16_t>(drawn("tensor<100xbf16>"));
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(doubles[i] == static_cast<double>(values[i]));
    CHECK(halves[i] == round_to_float16(values[i]));
    CHECK(brains[i] == round_to_bfloat16(values[i]));
  }
}

TEST_CASE("integers are small") {
  CHECK(range_of<std::int64_t>("tensor<100xi64>") == std::set<std::int64_t>{0, 1});
  CHECK(range_of<std::uint8_t>("tensor<100xi1>", {.largest_integer = 9}) ==
        std::set<std::uint8_t>{0, 1});
  CHECK(range_of<std::int32_t>("tensor<100xi32>", {.largest_integer = 3}) ==
        std::set<std::int32_t>{0, 1, 2, 3});
  CHECK(range_of<std::uint16_t>("tensor<100xu16>", {.largest_integer = 2}) ==
        std::set<std::uint16_t>{0, 1, 2});
  CHECK(range_of<std::uint64_t>("tensor<100xu64>", {.largest_integer = 0}) ==
        std::set<std::uint64_t>{0});
  // No more than the type has.
  CHECK(*range_of<std::int8_t>("tensor<1000xi4>", {.largest_integer = 100}).rbegin() == 7);
  CHECK(*range_of<std::uint8_t>("tensor<1000xu4>", {.largest_integer = 100}).rbegin() == 15);
  CHECK(*range_of<std::int8_t>("tensor<5000xi8>", {.largest_integer = 1000}).rbegin() == 127);
}

TEST_CASE("extents that the model does not know") {
  Notes notes;
  CHECK(drawn("tensor<?x3x?xf32>", 0, 1, {.sink = &notes}).shape() == Shape{1, 3, 1});
  REQUIRE(notes.found.size() == 1);
  CHECK(notes.found[0].place.tensor == "x");
  CHECK(notes.found[0].message.find("[1x3x1], where the model takes [?x3x?]") != std::string::npos);
  Notes none;
  CHECK(drawn("tensor<?x3xf32>", 0, 1, {.shapes = {{"x", Shape{4, 3}}}, .sink = &none}).shape() ==
        Shape{4, 3});
  CHECK(drawn("tensor<2x3xf32>", 0, 1, {.sink = &none}).shape() == Shape{2, 3});
  CHECK(none.found.empty());
}

TEST_CASE("inputs of which too little is known") {
  for (const char* type : {"tensor<*xf32>", "tensor<2xopaque>"}) {
    CAPTURE(type);
    const auto sample = random_data_set(graph_of_one_input(type), 1, 1)->sample(0);
    REQUIRE_FALSE(sample.has_value());
    CHECK(sample.error().code == ErrorCode::impossible);
    CHECK(sample.error().place.tensor == "x");
  }
  CHECK(drawn("tensor<*xf32>", 0, 1, {.shapes = {{"x", Shape{2}}}}).shape() == Shape{2});
}

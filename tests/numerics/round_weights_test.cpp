#include "quadrant/numerics/round_weights.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "numerics/helpers.hpp"

using namespace quadrant;

namespace {

/// A weight of [rows, columns], or of the transposed shape, in some matrices one behind the other.
struct Layer {
  std::size_t matrices = 1;
  std::size_t rows = 4;
  std::size_t columns = 8;
  bool is_transposed = false;

  [[nodiscard]] std::size_t size() const { return matrices * rows * columns; }
  [[nodiscard]] Shape shape() const {
    const auto extent = [](std::size_t of) { return static_cast<std::int64_t>(of); };
    return is_transposed ? Shape{extent(matrices * columns), extent(rows)}
                         : Shape{extent(matrices * rows), extent(columns)};
  }
  [[nodiscard]] WeightMatrices layout() const {
    WeightMatrices made;
    const auto fill = [](std::vector<std::int64_t>& places, std::size_t count, std::size_t step) {
      for (std::size_t i = 0; i < count; ++i) {
        places.push_back(static_cast<std::int64_t>(i * step));
      }
    };
    fill(made.matrices, matrices, rows * columns);
    fill(made.rows, rows, is_transposed ? 1 : columns);
    fill(made.columns, columns, is_transposed ? rows : 1);
    return made;
  }
};

// Inputs that go together: each is a mixture of few. The last column has none.
SecondMoments moments_of(const Layer& layer, unsigned seed, std::size_t inputs = 64,
                         std::size_t block = SecondMoments::whole) {
  std::mt19937 random(seed);
  std::normal_distribution<double> draw;
  const std::size_t few = std::max<std::size_t>(layer.columns / 2, 1);
  SecondMoments made(layer.layout(), std::vector<double>(layer.matrices * layer.columns, 1e-3),
                     block);
  for (std::size_t matrix = 0; matrix < layer.matrices; ++matrix) {
    std::vector<double> mixture(few * layer.columns);
    std::ranges::generate(mixture, [&] { return draw(random); });
    std::vector<double> x;
    for (std::size_t i = 0; i < inputs; ++i) {
      std::vector<double> sources(few);
      std::ranges::generate(sources, [&] { return draw(random); });
      for (std::size_t column = 0; column < layer.columns; ++column) {
        double sum = 0.3 * draw(random);
        for (std::size_t k = 0; k < few; ++k)
          sum += sources[k] * mixture[k * layer.columns + column];
        x.push_back(column + 1 == layer.columns ? 0 : std::nearbyint(1000 * sum));
      }
    }
    REQUIRE(made.add(matrix, x));
  }
  return made;
}

std::vector<float> weights_of(const Layer& layer, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw;
  std::vector<float> made(layer.size());
  std::ranges::generate(made, [&] { return draw(random); });
  return made;
}

NumberFormat format_of(std::string_view text, const Layer& layer) {
  const auto format = parse_number_format(
      text, {.channel = layer.is_transposed ? 1 : 0, .block = layer.is_transposed ? 0 : 1});
  REQUIRE_MESSAGE(format, to_string(format.error()));
  return *format;
}

// e E[x x^T] e^T of one row, or of all.
double row_error(const Layer& layer, const SecondMoments& moments, std::size_t matrix,
                 std::size_t row, std::span<const float> weights, std::span<const float> reals) {
  const std::vector<double> mean = moments.mean(matrix);
  const WeightMatrices layout = layer.layout();
  std::vector<double> e(layer.columns);
  for (std::size_t c = 0; c < layer.columns; ++c) {
    const std::size_t at = layout.element(matrix, row, c);
    e[c] = static_cast<double>(weights[at]) - static_cast<double>(reals[at]);
  }
  double sum = 0;
  for (std::size_t i = 0; i < layer.columns; ++i) {
    for (std::size_t j = 0; j < layer.columns; ++j)
      sum += e[i] * mean[i * layer.columns + j] * e[j];
  }
  return sum;
}

double error_of(const Layer& layer, const SecondMoments& moments, std::span<const float> weights,
                const Encoded& encoded, const NumberFormat& format) {
  std::vector<float> reals(layer.size());
  REQUIRE(decode(encoded, layer.shape(), format, reals));
  double sum = 0;
  for (std::size_t matrix = 0; matrix < layer.matrices; ++matrix) {
    for (std::size_t row = 0; row < layer.rows; ++row) {
      sum += row_error(layer, moments, matrix, row, weights, reals);
    }
  }
  return sum;
}

Encoded encoded_as(std::span<const float> weights, const Layer& layer, const NumberFormat& format) {
  auto encoded = encode(weights, layer.shape(), format, {.search = false});
  REQUIRE_MESSAGE(encoded, to_string(encoded.error()));
  return *encoded;
}

constexpr std::string_view formats[] = {"int8",
                                        "int4",
                                        "int2",
                                        "(u4 - z) * f32[channel] : f32",
                                        "nf4",
                                        "fp8-e4m3",
                                        "mxfp4",
                                        "nvfp4",
                                        "q4_k",
                                        "codebook:8",
                                        "iq4nl",
                                        "i4 * +-f16[block=8] : f32",
                                        "i3 * f32[tensor] : f32",
                                        "codebook:4:channel"};

}  // namespace

namespace {

// Every rounding of one weight.
void check_roundings(const Layer& layer, std::string_view name, unsigned seed,
                     std::size_t block = SecondMoments::whole) {
  CAPTURE(name);
  CAPTURE(block);
  CAPTURE(to_string(layer.shape()));
  const NumberFormat format = format_of(name, layer);
  const std::vector<float> weights = weights_of(layer, seed);
  const SecondMoments moments = moments_of(layer, seed, 64, block);
  const Encoded start = encoded_as(weights, layer, format);
  double least = error_of(layer, moments, weights, start, format);
  for (const Rounding rounding :
       {Rounding::nearest, Rounding::weighted, Rounding::feedback, Rounding::descent}) {
    CAPTURE(to_string(rounding));
    Encoded found = start;
    const auto rounded =
        round_weights(weights, layer.shape(), format, moments, found, {.rounding = rounding});
    REQUIRE_MESSAGE(rounded, to_string(rounded.error()));
    const double error = error_of(layer, moments, weights, found, format);
    CHECK(rounded->error == doctest::Approx(error).epsilon(1e-6));
    CHECK(error <= least * (1 + 1e-9));
    least = error;
    if (rounding == Rounding::nearest) CHECK(found.codes == start.codes);

    Encoded again = start;
    test::TwoThreads threads;
    REQUIRE(round_weights(weights, layer.shape(), format, moments, again,
                          {.rounding = rounding, .executor = &threads}));
    CHECK(again.codes == found.codes);
    CHECK(again.scales == found.scales);
  }
}

}  // namespace

TEST_CASE("each rounding is as good as those before it, in every format and layout") {
  const Layer layers[] = {{1, 5, 40, false}, {1, 40, 33, true}, {3, 4, 9, false}, {2, 3, 16, true}};
  unsigned seed = 0;
  for (const Layer& layer : layers) {
    for (const std::string_view name : formats) check_roundings(layer, name, ++seed);
  }
}

TEST_CASE("the same of weights that are rounded in several parts") {
  for (const std::string_view name : {"int4", "i4 * f16[block=32] : f32", "q4_k"}) {
    check_roundings({1, 130, 200, false}, name, 7);
  }
}

// Groups of a scale lie in one block of the moments, in several, and across their ends.
TEST_CASE("the same by moments of blocks") {
  for (const std::size_t block : std::array<std::size_t, 4>{1, 5, 16, 100}) {
    for (const std::string_view name : formats) check_roundings({1, 9, 40, false}, name, 5, block);
    for (const std::string_view name : {"int4", "i4 * f16[block=32] : f32", "q4_k"}) {
      check_roundings({1, 70, 200, false}, name, 7, block);
      check_roundings({2, 33, 64, true}, "int4", 8, block);
    }
  }
}

// Weights of different blocks have nothing to do with one another: as of so many matrices.
TEST_CASE("blocks are rounded as matrices of their own are") {
  const Layer layer{1, 6, 32, false};
  const NumberFormat format = format_of("i4 * f32[block=8] : f32", layer);
  const std::vector<float> weights = weights_of(layer, 4);
  const SecondMoments blocks = moments_of(layer, 4, 64, 16);
  WeightMatrices halves = layer.layout();
  halves.matrices = {0, 16};
  halves.columns.resize(16);
  std::vector<std::int64_t> sums;
  const auto triangle = blocks.triangle(0);
  sums.assign(triangle.begin(), triangle.end());
  const auto matrices = SecondMoments::from_sums(halves, std::vector<double>(32, 1e-3),
                                                 {blocks.count(0), blocks.count(0)}, sums);
  REQUIRE(matrices);
  const Encoded start = encoded_as(weights, layer, format);
  Encoded by_blocks = start;
  Encoded by_matrices = start;
  // The unit of errors, the mean of the diagonal, is that of all blocks, which may round otherwise.
  const auto first = round_weights(weights, layer.shape(), format, blocks, by_blocks);
  const auto second = round_weights(weights, layer.shape(), format, *matrices, by_matrices);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->nearest == doctest::Approx(second->nearest).epsilon(1e-6));
  CHECK(first->error == doctest::Approx(second->error).epsilon(0.02));
}

// As of a transposed convolution with two groups, whose blocks run across both.
TEST_CASE("blocks that two matrices share are rounded by both") {
  check_roundings({2, 4, 48, true}, "i4 * f32[block=32] : f32", 3);
}

TEST_CASE("groups that lie differently in each row are refused") {
  const std::vector<float> weights(12, 1);
  const NumberFormat format = *parse_number_format("i4 * f32[axis=1 block=4] : f32");
  const SecondMoments moments({{0}, {0, 3, 6, 9}, {0, 1, 2}}, {1, 1, 1});
  auto encoded = encode(weights, {2, 6}, format);
  REQUIRE(encoded);
  CHECK_FALSE(round_weights(weights, {2, 6}, format, moments, *encoded));
}

TEST_CASE("symmetric codes without a sign keep their zero points, and scales their least") {
  const Layer layer{1, 6, 24, false};
  const NumberFormat format = format_of("(u4 - z) * f32[channel] : f32", layer);
  const std::vector<float> weights = weights_of(layer, 8);
  const SecondMoments moments = moments_of(layer, 8);
  const NumberFormat symmetric = format_of("i4 * f32[channel] : f32", layer);
  Encoded start = encoded_as(weights, layer, symmetric);
  for (std::byte& code : start.codes) {
    code = static_cast<std::byte>(static_cast<std::int8_t>(code) + 8);
  }
  start.offsets = {std::vector<float>(6, 8)};
  Encoded found = start;
  const auto rounded = round_weights(weights, layer.shape(), format, moments, found,
                                     {.keeps_zero_points = true, .least_scale = 0.25F});
  REQUIRE(rounded);
  CHECK(rounded->error < rounded->nearest);
  CHECK(found.offsets == start.offsets);
  CHECK(error_of(layer, moments, weights, found, format) ==
        doctest::Approx(rounded->error).epsilon(1e-6));
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(found.scales[0][i] >= std::min(0.25F, start.scales[0][i]));
  }
}

TEST_CASE("descent ends where no other code is better") {
  const Layer layer{1, 6, 20, false};
  const NumberFormat format = format_of("int4", layer);
  const std::vector<float> weights = weights_of(layer, 3);
  const SecondMoments moments = moments_of(layer, 4);
  Encoded found = encoded_as(weights, layer, format);
  REQUIRE(round_weights(weights, layer.shape(), format, moments, found, {.shrinkage = 0}));
  const double least = error_of(layer, moments, weights, found, format);
  for (std::size_t element = 0; element < layer.size(); ++element) {
    for (int code = -8; code <= 7; ++code) {
      Encoded other = found;
      other.codes[element] = static_cast<std::byte>(code);
      CHECK(error_of(layer, moments, weights, other, format) >= least * (1 - 1e-9));
    }
  }
}

TEST_CASE("what is found is near the optimum of few weights, which enumeration knows") {
  const Layer layer{1, 1, 7, false};
  const NumberFormat format = format_of("i2 * f32[channel] : f32", layer);
  double nearest = 0;
  double found = 0;
  double optimal = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const std::vector<float> weights = weights_of(layer, seed);
    const SecondMoments moments = moments_of(layer, seed + 100);
    Encoded start = encoded_as(weights, layer, format);
    const double before = error_of(layer, moments, weights, start, format);
    double best = std::numeric_limits<double>::infinity();
    Encoded tried = start;
    for (unsigned all = 0; all < 1U << 14U; ++all) {
      std::vector<float> reals(layer.size());
      for (std::size_t i = 0; i < reals.size(); ++i) {
        const auto code = static_cast<int>(all >> (2 * i) & 3U) - 2;
        reals[i] = static_cast<float>(code) * start.scales[0][0];
      }
      best = std::min(best, row_error(layer, moments, 0, 0, weights, reals));
    }
    // With the scale as it is.
    const auto rounded = round_weights(weights, layer.shape(), format, moments, start,
                                       {.rounding = Rounding::feedback, .shrinkage = 0});
    REQUIRE(rounded);
    nearest += before;
    found += rounded->error;
    optimal += best;
  }
  CHECK(optimal <= found);
  CHECK(found < optimal + 0.5 * (nearest - optimal));
}

TEST_CASE("what has no inputs keeps its codes") {
  const Layer layer{1, 4, 8, false};
  const NumberFormat format = format_of("int4", layer);
  const std::vector<float> weights = weights_of(layer, 5);
  const SecondMoments none(layer.layout(), std::vector<double>(8));
  const Encoded start = encoded_as(weights, layer, format);
  Encoded found = start;
  const auto rounded = round_weights(weights, layer.shape(), format, none, found);
  REQUIRE(rounded);
  CHECK(rounded->error == 0);
  CHECK(found.codes == start.codes);
  CHECK(found.scales == start.scales);
}

TEST_CASE("columns without inputs keep their codes where scales stay") {
  const Layer layer{1, 4, 9, false};  // of which the last column has none
  const NumberFormat format = format_of("int4", layer);
  const std::vector<float> weights = weights_of(layer, 6);
  const SecondMoments moments = moments_of(layer, 6);
  const Encoded start = encoded_as(weights, layer, format);
  Encoded found = start;
  REQUIRE(round_weights(weights, layer.shape(), format, moments, found));
  for (std::size_t row = 0; row < 4; ++row) {
    if (found.scales[0][row] != start.scales[0][row]) continue;
    CHECK(found.codes[row * 9 + 8] == start.codes[row * 9 + 8]);
  }
}

TEST_CASE("zero points that stay are the same for all groups") {
  const Layer layer{1, 4, 8, false};
  const NumberFormat format = format_of("(u4 - z) * f32[channel] : f32", layer);
  const std::vector<float> weights = weights_of(layer, 5);
  Encoded found = encoded_as(weights, layer, format);
  found.offsets.front() = {7, 8, 7, 8};
  CHECK_FALSE(round_weights(weights, layer.shape(), format, moments_of(layer, 1), found,
                            {.keeps_zero_points = true}));
}

TEST_CASE("sizes that do not fit one another are refused") {
  const Layer layer{1, 4, 8, false};
  const NumberFormat format = format_of("int4", layer);
  const std::vector<float> weights = weights_of(layer, 5);
  Encoded found = encoded_as(weights, layer, format);
  for (const std::size_t rows : {3U, 5U}) {
    const SecondMoments other = moments_of({1, rows, 8, false}, 1);
    CHECK_FALSE(round_weights(weights, layer.shape(), format, other, found));
  }
  const SecondMoments moments = moments_of(layer, 1);
  CHECK_FALSE(round_weights(std::span(weights).first(31), layer.shape(), format, moments, found));
  found.codes.pop_back();
  CHECK_FALSE(round_weights(weights, layer.shape(), format, moments, found));
}

TEST_CASE("of few inputs, and without what is off the diagonal, errors are told as they are") {
  const Layer layer{1, 70, 80, false};
  const NumberFormat format = format_of("i4 * f32[block=32] : f32", layer);
  const std::vector<float> weights = weights_of(layer, 9);
  const SecondMoments moments = moments_of(layer, 9, 4);
  for (const double shrinkage : {-1.0, 0.9, 1.0}) {
    for (const Rounding rounding : {Rounding::feedback, Rounding::descent}) {
      Encoded found = encoded_as(weights, layer, format);
      const auto rounded = round_weights(weights, layer.shape(), format, moments, found,
                                         {.rounding = rounding, .shrinkage = shrinkage});
      REQUIRE(rounded);
      CHECK(rounded->error < rounded->nearest);
      CHECK(error_of(layer, moments, weights, found, format) ==
            doctest::Approx(rounded->error).epsilon(1e-6));
    }
  }
}

TEST_CASE("rows of any magnitude are rounded alike") {
  const Layer layer{1, 3, 40, false};
  const NumberFormat format = format_of("i4 * f32[channel] : f32", layer);
  std::vector<float> weights = weights_of(layer, 10);
  for (std::size_t i = 0; i < 40; ++i) {
    weights[40 + i] = std::ldexp(weights[i], 50);
    weights[80 + i] = std::ldexp(weights[i], -50);
  }
  const SecondMoments moments = moments_of(layer, 10);
  Encoded found = encoded_as(weights, layer, format);
  REQUIRE(round_weights(weights, layer.shape(), format, moments, found));
  const auto row = [&](std::size_t of) { return std::span(found.codes).subspan(of * 40, 40); };
  CHECK(std::ranges::equal(row(0), row(1)));
  CHECK(std::ranges::equal(row(0), row(2)));
}

TEST_CASE("inputs that nearly cancel: no row is worse than with the nearest codes") {
  const Layer layer{.rows = 16, .columns = 64};
  const NumberFormat format = format_of("i4 * f32[channel] : f32", layer);
  for (unsigned seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    // All inputs are one number, and a little noise: errors that add up to nothing cost nothing.
    std::mt19937 random(seed);
    std::normal_distribution<double> draw;
    SecondMoments moments(layer.layout(), std::vector<double>(layer.columns, 1));
    std::vector<double> x;
    for (int input = 0; input < 96; ++input) {
      const double common = 7000 * draw(random);
      for (std::size_t c = 0; c < layer.columns; ++c) {
        x.push_back(std::nearbyint(common + draw(random)));
      }
    }
    REQUIRE(moments.add(0, x));
    std::vector<float> weights = weights_of(layer, seed + 50);
    for (std::size_t i = 1; i < weights.size(); i += 2) weights[i] = 1e-4F - weights[i - 1];
    const Encoded nearest = encoded_as(weights, layer, format);
    for (const Rounding rounding : {Rounding::weighted, Rounding::feedback, Rounding::descent}) {
      CAPTURE(to_string(rounding));
      Encoded encoded = nearest;
      const auto told =
          round_weights(weights, layer.shape(), format, moments, encoded, {.rounding = rounding});
      REQUIRE(told);
      std::vector<float> before(layer.size());
      std::vector<float> after(layer.size());
      REQUIRE(decode(nearest, layer.shape(), format, before));
      REQUIRE(decode(encoded, layer.shape(), format, after));
      double sum = 0;
      for (std::size_t row = 0; row < layer.rows; ++row) {
        CAPTURE(row);
        const double was = row_error(layer, moments, 0, row, weights, before);
        const double is = row_error(layer, moments, 0, row, weights, after);
        CHECK(is <= was * (1 + 1e-7));
        sum += is;
      }
      if (rounding == Rounding::descent) CHECK(told->error == doctest::Approx(sum).epsilon(1e-6));
    }
  }
}

TEST_CASE("a table that is to stay stays, and what is rounded with it is no worse") {
  const Layer layer{.rows = 8, .columns = 32};
  const NumberFormat format = format_of("table<8 x f32>[tensor] * f32[block=16] : f32", layer);
  const SecondMoments moments = moments_of(layer, 3);
  const std::vector<float> weights = weights_of(layer, 4);
  const std::vector<float> levels{-1, -0.6F, -0.3F, -0.1F, 0.1F, 0.3F, 0.6F, 1};
  const Encoded nearest = *encode(weights, layer.shape(), format, {.table = levels});
  for (const Rounding rounding : {Rounding::weighted, Rounding::feedback, Rounding::descent}) {
    Encoded encoded = nearest;
    REQUIRE(round_weights(weights, layer.shape(), format, moments, encoded,
                          {.rounding = rounding, .keeps_table = true}));
    CHECK(encoded.table == levels);
    CHECK(error_of(layer, moments, weights, encoded, format) <=
          error_of(layer, moments, weights, nearest, format) * (1 + 1e-7));
  }
}

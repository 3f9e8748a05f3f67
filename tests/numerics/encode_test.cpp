#include "quadrant/numerics/encode.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "helpers.hpp"

namespace quadrant {
namespace {

using Floats = std::vector<float>;

NumberFormat format_of(std::string_view text) { return parse_number_format(text).value(); }

Floats decoded(const Encoded& encoded, const Shape& shape, const NumberFormat& format) {
  Floats out(static_cast<std::size_t>(shape.element_count().value()));
  REQUIRE(decode(encoded, shape, format, out));
  return out;
}

// --- an oracle of its own -----------------------------------------------------------------------

// OCP's formula: (-1)^s 2^(e - bias) (1 + m / 2^mantissa), subnormal numbers for e = 0.
double small_value(int exponent_bits, int mantissa_bits, int bias, int bits) {
  const int mantissa = bits % (1 << mantissa_bits);
  const int exponent = (bits >> mantissa_bits) % (1 << exponent_bits);
  const double part = mantissa / static_cast<double>(1 << mantissa_bits);
  return exponent == 0 ? std::ldexp(part, 1 - bias) : std::ldexp(1 + part, exponent - bias);
}

Floats with_opposites(Floats values) {
  for (std::size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
  return values;
}

Floats integers(int first, int last) {
  Floats values;
  for (int i = first; i <= last; ++i) values.push_back(static_cast<float>(i));
  return values;
}

Floats e2m1() { return with_opposites({0, 0.5F, 1, 1.5F, 2, 3, 4, 6}); }
Floats e4m3() {
  Floats values;
  for (int i = 0; i < 127; ++i) values.push_back(static_cast<float>(small_value(4, 3, 7, i)));
  return values;
}
Floats e8m0() {
  Floats values;
  for (int i = -127; i <= 127; ++i) values.push_back(std::ldexp(1.0F, i));
  return values;
}
// Those that can matter to values around 1.
Floats half_scales() {
  Floats values;
  for (int i = 1; i < 1024; ++i) values.push_back(static_cast<float>(i) * 0x1p-24F);
  for (int exponent = -14; exponent <= 2; ++exponent) {
    for (int i = 0; i < 1024; ++i)
      values.push_back(std::ldexp(1 + static_cast<float>(i) / 1024, exponent));
  }
  return values;
}
Floats iq4nl() {
  return {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
}

struct Group {
  Floats values;
  Floats weights;
};

double cost_at(const Group& group, const Floats& levels, float scale) {
  double sum = 0;
  for (std::size_t i = 0; i < group.values.size(); ++i) {
    double least = std::numeric_limits<double>::infinity();
    for (const float level : levels) {
      const double error =
          static_cast<double>(group.values[i]) - static_cast<double>(scale * level);
      least = std::min(least, error * error);
    }
    sum += static_cast<double>(group.weights[i]) * least;
  }
  return sum;
}

double least_cost(const Group& group, const Floats& levels, const Floats& scales) {
  double least = std::numeric_limits<double>::infinity();
  for (const float scale : scales) least = std::min(least, cost_at(group, levels, scale));
  return least;
}

Group random_group(std::mt19937& random, std::size_t count) {
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> uniform(0.1F, 3);
  Group group;
  for (std::size_t i = 0; i < count; ++i) {
    group.values.push_back(normal(random));
    group.weights.push_back(random() % 3 == 0 ? 1 : uniform(random));
  }
  return group;
}

Shape row(std::size_t count) { return {1, static_cast<std::int64_t>(count)}; }

void check_exact(std::string_view text, const Floats& levels, const Floats& scales, int groups) {
  CAPTURE(text);
  const NumberFormat format = format_of(text);
  std::mt19937 random(7);
  for (int i = 0; i < groups; ++i) {
    const Group group = random_group(random, 1 + random() % 9);
    const Shape shape = row(group.values.size());
    const auto encoded = encode(group.values, shape, format, {.weights = group.weights});
    REQUIRE(encoded);
    const double expected = least_cost(group, levels, scales);
    const double error =
        squared_error(group.values, decoded(*encoded, shape, format), group.weights);
    CHECK(error == doctest::Approx(expected).epsilon(1e-6));
    CHECK(encoded->error == doctest::Approx(error).epsilon(1e-12));
    CHECK(encoded->bound <= error);
  }
}

// --- tests --------------------------------------------------------------------------------------

TEST_CASE("one level of scales: no scale that can be stored costs less") {
  check_exact("mxfp4", e2m1(), e8m0(), 200);
  check_exact("f4e2m1 * f8e4m3[axis=1 block=16] : f32", e2m1(), e4m3(), 200);
  check_exact("i3 * f8e4m3[axis=1 block=16] : f32", integers(-4, 3), e4m3(), 200);
  check_exact("i3 * +-f8e4m3[axis=1 block=16] : f32", integers(-4, 3), with_opposites(e4m3()), 200);
  check_exact("iq4nl * +-f16[axis=1 block=32] : f32", iq4nl(), with_opposites(half_scales()), 12);
  check_exact("iq4nl * f16[axis=1 block=32] : f32", iq4nl(), half_scales(), 12);
  check_exact("int4", integers(-8, 7), with_opposites(half_scales()), 12);
  check_exact("u3<1:6> * f16[tensor] : f32", integers(1, 6), half_scales(), 12);
  check_exact(
      "fp4-bnb * f16[tensor] : f32",
      with_opposites({0, 0.00520833333F, 0.66666667F, 1, 0.33333333F, 0.5F, 0.16666667F, 0.25F}),
      half_scales(), 12);
}

TEST_CASE("zero points: none costs less with any scale") {
  const NumberFormat format = format_of("(u3 - z) * f16[axis=1 block=16] : f32");
  std::mt19937 random(3);
  for (int i = 0; i < 12; ++i) {
    Group group = random_group(random, 2 + random() % 7);
    for (float& value : group.values) value += static_cast<float>(i % 3);
    const auto shape = row(group.values.size());
    const auto encoded = encode(group.values, shape, format, {.weights = group.weights});
    REQUIRE(encoded);
    double expected = std::numeric_limits<double>::infinity();
    for (int zero = 0; zero < 8; ++zero) {
      expected = std::min(expected, least_cost(group, integers(-zero, 7 - zero), half_scales()));
    }
    const double error =
        squared_error(group.values, decoded(*encoded, shape, format), group.weights);
    CHECK(error == doctest::Approx(expected).epsilon(1e-6));
  }
}

// Every way to cut the sorted values into intervals.
double least_of_partitions(std::vector<std::pair<float, float>> points, int clusters) {
  std::ranges::sort(points);
  const auto cost = [&](std::size_t begin, std::size_t end) {
    double h = 0;
    double hw = 0;
    for (std::size_t i = begin; i < end; ++i) {
      h += static_cast<double>(points[i].second);
      hw += static_cast<double>(points[i].second) * static_cast<double>(points[i].first);
    }
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const double error = static_cast<double>(points[i].first) - hw / h;
      sum += static_cast<double>(points[i].second) * error * error;
    }
    return sum;
  };
  const std::function<double(std::size_t, int)> best = [&](std::size_t begin, int left) {
    if (begin == points.size()) return 0.0;
    if (left == 1) return cost(begin, points.size());
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t end = begin + 1; end <= points.size(); ++end) {
      least = std::min(least, cost(begin, end) + best(end, left - 1));
    }
    return least;
  };
  return best(0, clusters);
}

TEST_CASE("a stored table is the best there is, until it is rounded") {
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    const Group group = random_group(random, 1 + random() % 13);
    const int levels = 4 + i % 3;
    const auto shape = row(group.values.size());
    std::vector<std::pair<float, float>> points;
    for (std::size_t j = 0; j < group.values.size(); ++j) {
      points.emplace_back(group.values[j], group.weights[j]);
    }
    const double expected = least_of_partitions(points, levels);
    for (const char* type : {"f32", "f16", "bf16"}) {
      const auto format =
          format_of("table<" + std::to_string(levels) + " x " + type + ">[tensor] : f32");
      const auto encoded = encode(group.values, shape, format, {.weights = group.weights});
      REQUIRE(encoded);
      CHECK(encoded->bound == doctest::Approx(expected).epsilon(1e-9).scale(1));
      CHECK(encoded->error >= encoded->bound - 1e-12);
      CHECK(std::ranges::is_sorted(encoded->table));
      if (format == format_of("table<4 x f32>[tensor] : f32")) {
        CHECK(encoded->error == doctest::Approx(expected).epsilon(1e-6).scale(1));
      }
    }
  }
}

TEST_CASE("a table that is given: the same as a format that fixes it, and no other") {
  const Shape shape{8, 64};
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Floats values(512);
  std::ranges::generate(values, [&] { return normal(random); });
  const NumberFormat fixed = format_of("nf4 * f32[axis=0 block=32] : f32");
  const NumberFormat stored = format_of("table<16 x f32>[tensor] * f32[axis=0 block=32] : f32");
  const std::span<const float> levels = table_values(FixedTable::nf4);
  const auto expected = encode(values, shape, fixed).value();
  const auto given = encode(values, shape, stored, {.table = levels}).value();
  CHECK(given.codes == expected.codes);
  CHECK(given.scales == expected.scales);
  CHECK(std::ranges::equal(given.table, levels));
  CHECK(encode(values, shape, stored).value().error < given.error);  // where it may be found

  CHECK(!encode(values, shape, fixed, {.table = levels}));
  CHECK(!encode(values, shape, stored, {.table = levels.first(15)}));
  Floats broken(levels.begin(), levels.end());
  broken[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(!encode(values, shape, stored, {.table = broken}));
}

TEST_CASE("tables of channels are those of each channel alone") {
  const Floats values = test::random_values(3 * 50, 5);
  const auto format = format_of("table<8 x f16>[axis=0] : f32");
  const auto all = encode(values, {3, 50}, format);
  REQUIRE(all);
  double error = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Floats channel(values.begin() + static_cast<std::ptrdiff_t>(50 * i),
                         values.begin() + static_cast<std::ptrdiff_t>(50 * i + 50));
    const auto one = encode(channel, {1, 50}, format);
    REQUIRE(one);
    CHECK(std::equal(one->table.begin(), one->table.end(),
                     all->table.begin() + static_cast<std::ptrdiff_t>(8 * i)));
    error += one->error;
  }
  CHECK(all->error == doctest::Approx(error));
}

TEST_CASE("more values than are exact: the bound is one, and near") {
  const Floats values = test::random_values((std::size_t{1} << 20U) + 12345, 9);
  const auto encoded =
      encode(values, row(values.size()), format_of("table<4 x f32>[tensor] : f32"));
  REQUIRE(encoded);
  // Lloyd-Max for a normal distribution and 4 levels: 0.1175 (Max 1960, table I).
  CHECK(encoded->error / static_cast<double>(values.size()) ==
        doctest::Approx(0.1175).epsilon(5e-3));
  CHECK(encoded->bound <= encoded->error);
  CHECK(encoded->bound >= 0.995 * encoded->error);
}

// With outer scales of 255 kinds all can be tried, inner ones given each of them.
TEST_CASE("two levels: inner scales are the best for the outer, the bound is below all") {
  const auto format = format_of("f4e2m1 * f8e8m0[tensor] * f8e4m3[axis=1 block=3] : f32");
  std::mt19937 random(21);
  for (int i = 0; i < 30; ++i) {
    const Group all = random_group(random, 9);
    const auto encoded = encode(all.values, row(9), format, {.weights = all.weights});
    REQUIRE(encoded);
    const auto best_with = [&](float outer) {
      Floats scales = e4m3();
      for (float& scale : scales) scale *= outer;
      double sum = 0;
      for (std::size_t b = 0; b < 3; ++b) {
        const auto part = [&](const Floats& of) {
          const auto begin = of.begin() + static_cast<std::ptrdiff_t>(3 * b);
          return Floats(begin, begin + 3);
        };
        sum += least_cost({part(all.values), part(all.weights)}, e2m1(), scales);
      }
      return sum;
    };
    CHECK(encoded->error ==
          doctest::Approx(best_with(encoded->scales[0][0])).epsilon(1e-6).scale(1));
    double least = std::numeric_limits<double>::infinity();
    for (const float outer : e8m0()) least = std::min(least, best_with(outer));
    CHECK(encoded->bound <= least * (1 + 1e-9));
    CHECK(encoded->error <= 1.5 * least + 1e-12);
  }
}

// Scales, minima and codes of Q4_K on a coarse grid, all of them.
TEST_CASE("a minimum: near what the best of all pairs gives") {
  const auto format =
      format_of("u2 * f16[tensor] * u3[axis=1 block=6] - f16[tensor] * u3[axis=1 block=6] : f32");
  std::mt19937 random(5);
  double ours = 0;
  double best = 0;
  double bound = 0;
  for (int i = 0; i < 20; ++i) {
    const Group group = random_group(random, 6);
    const auto encoded =
        encode(group.values, row(6), format, {.weights = group.weights, .prove = true});
    REQUIRE(encoded);
    double least = std::numeric_limits<double>::infinity();
    for (float scale = 0; scale < 3; scale += 0.01F) {
      for (float minimum = 0; minimum < 4; minimum += 0.01F) {
        Group moved = group;
        for (float& value : moved.values) value += minimum;
        least = std::min(least, cost_at(moved, integers(0, 3), scale));
      }
    }
    ours += encoded->error;
    best += least;
    bound += encoded->bound;
    CHECK(encoded->bound <= least);
  }
  CHECK(ours <= 1.1 * best);
  CHECK(bound >= 0.9 * best);
}

std::vector<std::string> all_formats() {
  std::vector<std::string> names;
  for (const NamedFormat& named : named_formats()) names.emplace_back(named.name);
  for (const char* text :
       {"codebook:16", "codebook:7:channel", "codebook:16:group",
        "table<16 x f16>[tensor] * f32[tensor] * +-f8e4m3[axis=1 block=16] : f32",
        "table<5 x bf16>[axis=0] * f16[axis=1 block=8] : f32", "f8e5m2 : f32", "i4 : f32",
        "i4 * bf16[axis=0] * i6<-31:31>[axis=1 block=8] : f32", "i9 * f16[axis=0] : f32",
        "(u4 - z) * f32[axis=0] * u6[axis=1 block=32] : f32", "(i4 - z) * f32[axis=1] : f32",
        "i4 * f32[tensor] * bf16[axis=0] * u4<1:16>[axis=1 block=16] : f32",
        "u4 * f16[axis=1 block=32] - +-f16[axis=1 block=32] : f32",
        "i3 * +-f16[axis=0 block=4] : f32", "f6e3m2 * f8e8m0[axis=0 block=5] : f32"}) {
    names.emplace_back(text);
  }
  return names;
}

TEST_CASE("every format: never worse than the usual rule, and what is said is so") {
  std::mt19937 random(2);
  for (const std::string& name : all_formats()) {
    const NumberFormat format = format_of(name);
    for (const Shape& shape : {Shape{3, 80}, Shape{1, 1}, Shape{5, 300}, Shape{0, 4}}) {
      CAPTURE(name);
      CAPTURE(to_string(shape));
      const auto count = static_cast<std::size_t>(shape.element_count().value());
      Floats values = test::random_values(count, static_cast<unsigned>(random()));
      if (random() % 2 == 0) {
        for (float& value : values) value *= value * value;
      }
      Floats weights(count);
      for (float& weight : weights) weight = static_cast<float>(random() % 5);
      for (const bool weighted : {false, true}) {
        EncodeOptions options;
        if (weighted) options.weights = weights;
        const auto best = encode(values, shape, format, options);
        options.search = false;
        const auto usual = encode(values, shape, format, options);
        REQUIRE(best);
        REQUIRE(usual);
        CHECK(best->error <= usual->error);
        CHECK(best->bound <= best->error);
        const double error = squared_error(values, decoded(*best, shape, format), options.weights);
        CHECK(best->error == doctest::Approx(error).epsilon(1e-9).scale(1e-9));
        CHECK(best->codes.size() == count * (bit_width(format.code) > 8 ? 2 : 1));
      }
    }
  }
}

TEST_CASE("powers of two and orders change nothing") {
  for (const char* text : {"nf4", "fp8-e4m3", "(u4 - z) * f32[axis=1 block=32] : f32",
                           "i4 * +-f32[axis=1 block=32] : f32", "nvfp4", "mxfp4", "lpbq4"}) {
    CAPTURE(text);
    const NumberFormat format = format_of(text);
    const Floats values = test::random_values(4 * 64, 17);
    const Shape shape{4, 64};
    const auto plain = encode(values, shape, format);
    REQUIRE(plain);
    Floats scaled = values;
    for (float& value : scaled) value *= 0x1p-12F;
    const auto other = encode(scaled, shape, format);
    REQUIRE(other);
    CHECK(other->codes == plain->codes);
    CHECK(other->error == doctest::Approx(std::ldexp(plain->error, -24)).epsilon(1e-9));
    if (format.offset != Offset::none) continue;
    // Rows in the opposite order: groups are the same.
    Floats turned;
    for (std::size_t i = 4; i-- > 0;) {
      turned.insert(turned.end(), values.begin() + static_cast<std::ptrdiff_t>(64 * i),
                    values.begin() + static_cast<std::ptrdiff_t>(64 * i + 64));
    }
    const auto third = encode(turned, shape, format);
    REQUIRE(third);
    CHECK(third->error == doctest::Approx(plain->error).epsilon(1e-9));
  }
}

class Backwards final : public Executor {
 public:
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override {
    while (count > 0) body(--count);
  }
};

TEST_CASE("an executor changes nothing") {
  const Floats values = test::random_values(64 * 1024, 23);
  Backwards backwards;
  for (const char* name : {"nvfp4", "q4_k", "int4", "codebook:16:channel"}) {
    const auto one = encode(values, {64, 1024}, format_of(name));
    const auto other = encode(values, {64, 1024}, format_of(name), {.executor = &backwards});
    REQUIRE(one);
    REQUIRE(other);
    CHECK(one->codes == other->codes);
    CHECK(one->scales == other->scales);
    CHECK(one->error == other->error);
  }
}

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> result;
  for (const int value : values) result.push_back(static_cast<std::byte>(value & 0xFF));
  return result;
}

TEST_CASE("decoded by hand") {
  // llama.cpp: d = 0.1 and dmin = 0.3 as float16, scale 37, minimum 11, codes 0, 5, 15, with a
  // rounding to float32 at each step, as dequantize_row_q4_K has it.
  const float d = widen_float16(round_to_float16(0.1F));
  const float dmin = widen_float16(round_to_float16(0.3F));
  Encoded k{bytes({0, 5, 15}), {{d}, {37}}, {{dmin}, {11}}, {}};
  const float d1 = d * 37.0F;
  const float m1 = dmin * 11.0F;
  CHECK(decoded(k, {1, 3}, format_of("q4_k")) ==
        Floats{0.0F - m1, d1 * 5.0F - m1, d1 * 15.0F - m1});
  // OCP Microscaling: scale 2^-1, elements 6, -0.5, 0.
  CHECK(decoded({bytes({7, 9, 8}), {{0.5F}}, {}, {}}, {1, 3}, format_of("mxfp4")) ==
        Floats{3, -0.25F, 0});
  // NF4's published levels 0, 7 and 15.
  CHECK(decoded({bytes({0, 7, 15}), {{2}}, {}, {}}, {1, 3}, format_of("nf4")) == Floats{-2, 0, 2});
  // ONNX DequantizeLinear: (x - zero point) * scale.
  CHECK(decoded({bytes({0, 3, 128, 255}), {{2}}, {{128}}, {}}, {1, 4}, format_of("uint8")) ==
        Floats{-256, -250, 0, 254});
  CHECK(decoded({bytes({-8, 7, -1}), {{0.5F}}, {}, {}}, {1, 3}, format_of("int4")) ==
        Floats{-4, 3.5F, -0.5F});
  // Sixteen bits, little-endian: -2 and 300.
  CHECK(decoded({bytes({0xFE, 0xFF, 0x2C, 0x01}), {{1}}, {}, {}}, {1, 2},
                format_of("i16 * f32[axis=0] : f32")) == Floats{-2, 300});
  CHECK(decoded({bytes({3, 0}), {}, {}, {-1, 0, 1, 2.5F}}, {1, 2}, format_of("codebook:4")) ==
        Floats{2.5F, -1});
}

TEST_CASE("zeros stay zeros, and their scales are ones that runtimes take") {
  const Floats zeros(64);
  for (const std::string& name : all_formats()) {
    CAPTURE(name);
    const NumberFormat format = format_of(name);
    const auto encoded = encode(zeros, {2, 32}, format);
    REQUIRE(encoded);
    const Floats out = decoded(*encoded, {2, 32}, format);
    if (!name.starts_with("iq4nl")) {
      CHECK(out == zeros);
    } else {
      CHECK(std::ranges::all_of(out, [](float value) { return std::fabs(value) < 1e-6F; }));
    }
    for (std::size_t i = 0; i < format.scales.size(); ++i) {
      if (std::holds_alternative<IntegerCode>(format.scales[i].type)) continue;
      CHECK(std::ranges::all_of(encoded->scales[i], [](float scale) { return scale != 0; }));
    }
  }
}

TEST_CASE("numbers of any size") {
  for (const float unit : {test::largest, test::smallest, 1e-38F, 1e30F}) {
    for (const std::string& name : all_formats()) {
      CAPTURE(name);
      CAPTURE(unit);
      const Floats values{unit, -unit, unit / 2, 0, unit / 3, unit / 7};
      const auto encoded = encode(values, {1, 6}, format_of(name));
      REQUIRE(encoded);
      CHECK(std::isfinite(encoded->error));
      const Floats out = decoded(*encoded, {1, 6}, format_of(name));
      CHECK(std::ranges::all_of(out, [](float value) { return std::isfinite(value); }));
    }
  }
}

TEST_CASE("what cannot be encoded is refused") {
  const auto refused = [](const Floats& values, const Shape& shape, std::string_view text,
                          const EncodeOptions& options = {}) {
    const auto result = encode(values, shape, format_of(text), options);
    return result ? std::string() : result.error().message;
  };
  CHECK(refused({1, test::nan}, {1, 2}, "int4") == "element 1 is nan");
  CHECK_FALSE(refused({1, test::infinity}, {1, 2}, "nf4").empty());
  CHECK_FALSE(refused({1}, {1, 2}, "int4").empty());
  CHECK_FALSE(refused({1, 2}, {2}, "int4").empty());
  CHECK_FALSE(refused({1, 2}, {1, Extent::open()}, "int4").empty());
  CHECK_FALSE(refused({1, 2}, {1, 2}, "i17 * f32[tensor] : f32").empty());
  const Floats negative{1, -1};
  const Floats one{1};
  CHECK_FALSE(refused({1, 2}, {1, 2}, "int4", {.weights = negative}).empty());
  CHECK_FALSE(refused({1, 2}, {1, 2}, "int4", {.weights = one}).empty());
  Floats out(2);
  CHECK_FALSE(decode({bytes({1}), {{1}}, {}, {}}, {1, 2}, format_of("int4"), out));
  CHECK_FALSE(decode({bytes({1, 1}), {}, {}, {}}, {1, 2}, format_of("int4"), out));
  CHECK_FALSE(decode({bytes({1, 1}), {{1}}, {}, {}}, {1, 2}, format_of("uint4"), out));
  CHECK_FALSE(decode({bytes({1, 1}), {}, {}, {1, 2}}, {1, 2}, format_of("codebook:4"), out));
}

}  // namespace
}  // namespace quadrant

#include "numerics/quantize_weights.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "ir/float16.hpp"
#include "ir/scales.hpp"
#include "numerics/helpers.hpp"
#include "numerics/kernels/targets.hpp"
#include "quadrant/numerics/encode.hpp"
#include "shortened.hpp"

namespace quadrant {
namespace {

const std::array weight_rules{
    ScaleRule{},
    ScaleRule{ElementType::int4, -8, 7},
    ScaleRule{ElementType::uint4, 0, 15, Symmetry::asymmetric, Clip::minmax},
    ScaleRule{ElementType::uint8, 0, 255, Symmetry::symmetric, Clip::minmax},
    ScaleRule{ElementType::int4, -8, 7, Symmetry::signed_scale, Clip::absmax, ElementType::float16},
    ScaleRule{ElementType::int16, -32767, 32767},
    ScaleRule{ElementType::uint16, 0, 65535, Symmetry::asymmetric, Clip::minmax},
    ScaleRule{ElementType::int4, -8, 7, Symmetry::symmetric, Clip::mse},
};

// Two at a time, in any order.
struct Made {
  ParameterScan scan;
  std::vector<std::byte> codes;
};

Made quantize(std::span<const float> weights, const Shape& shape, const Granularity& granularity,
              const ScaleRule& rule, const QuantizeWeightsOptions& options) {
  const auto width = static_cast<std::size_t>(byte_width(rule.storage));
  Made made;
  made.codes.assign(options.packed ? (weights.size() + 1) / 2 : weights.size() * width,
                    std::byte{0x55});
  made.scan = quantize_weights(weights, shape, granularity, rule, made.codes, options).value();
  return made;
}

// By scan_parameters and quantized, which look at the weights one after the other.
Made expected(const Constant& constant, const Granularity& granularity, const ScaleRule& rule) {
  Made made{scan_parameters(constant, granularity, rule).value(), {}};
  UniformType type;
  type.storage = rule.storage;
  type.storage_min = rule.storage_min;
  type.storage_max = rule.storage_max;
  type.granularity = granularity;
  type.scales = made.scan.scales;
  type.zero_points = made.scan.zero_points;
  made.codes = test::contents<std::byte>(
      quantized(constant, std::make_shared<const UniformType>(type)).value());
  return made;
}

Made expected(std::span<const float> weights, const Shape& shape, const Granularity& granularity,
              const ScaleRule& rule) {
  return expected(test::float_constant(shape, weights), granularity, rule);
}

void check_equal(const Made& made, const Made& wanted) {
  CHECK(made.scan.scales.element() == wanted.scan.scales.element());
  CHECK(test::contents<std::byte>(made.scan.scales) ==
        test::contents<std::byte>(wanted.scan.scales));
  REQUIRE(static_cast<bool>(made.scan.zero_points) == static_cast<bool>(wanted.scan.zero_points));
  if (made.scan.zero_points) {
    CHECK(test::contents<std::byte>(made.scan.zero_points) ==
          test::contents<std::byte>(wanted.scan.zero_points));
  }
  const bool equal = made.codes == wanted.codes;
  CHECK(equal);
}

std::vector<std::byte> in_pairs(const std::vector<std::byte>& codes) {
  std::vector<std::byte> packed((codes.size() + 1) / 2);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    packed[i / 2] |= (codes[i] & std::byte{15}) << (i % 2 == 0 ? 0 : 4);
  }
  return packed;
}

void check_all(const Shape& shape, const Granularity& granularity, const ScaleRule& rule,
               std::span<const float> weights) {
  const Made wanted = expected(weights, shape, granularity, rule);
  test::TwoThreads threads;
  for (Executor* const executor :
       {static_cast<Executor*>(nullptr), static_cast<Executor*>(&threads)}) {
    check_equal(quantize(weights, shape, granularity, rule, {.executor = executor}), wanted);
    if (bit_width(rule.storage) != 4) continue;
    check_equal(quantize(weights, shape, granularity, rule, {.packed = true, .executor = executor}),
                {wanted.scan, in_pairs(wanted.codes)});
  }
}

TEST_CASE("quantize_weights: what scan_parameters and quantized give, any shape and rule") {
  std::vector<Shape> shapes = test::shapes();
  shapes.push_back({0, 5});
  test::Turns turns;
  for (const Shape& shape : shapes) {
    auto granularities = test::granularities_of(shape);
    const auto odd = test::odd_blocks_of(shape);
    granularities.insert(granularities.end(), odd.begin(), odd.end());
    const auto weights =
        test::random_values(static_cast<std::size_t>(shape.element_count().value()), 1);
    for (const Granularity& granularity : granularities) {
      for (const ScaleRule& rule : weight_rules) {
        if (!turns.next()) continue;
        if (rule.clip == Clip::mse && weights.size() > 1000) continue;  // searches take long
        CAPTURE(to_string(shape));
        CAPTURE(granularity.axis);
        CAPTURE(granularity.block_size);
        CAPTURE(to_string(rule.storage));
        check_all(shape, granularity, rule, weights);
      }
    }
  }
}

TEST_CASE("quantize_weights: the same for all targets, and where tensors take many steps") {
  const ScaleRule int4 = weight_rules[1];
  struct Case {
    Shape shape;
    Granularity granularity;
    ScaleRule rule;
  };
  const std::array cases{
      Case{{300, 1025}, Granularity::per_axis(0), {}},
      Case{{300, 1024}, Granularity::per_axis(1), int4},
      Case{{301, 1023}, Granularity::per_axis(1), int4},
      // Several panels: in blocks of rows, and in one.
      Case{{150, 9000}, Granularity::per_axis(1), {}},
      Case{{150, 8450}, Granularity::per_axis(1), int4},
      Case{{10, 20000}, Granularity::per_axis(1), int4},
      Case{{640, 1000}, Granularity::per_block(0, 32), int4},
      Case{{30, 640, 32}, Granularity::per_axis(1), {}},
      Case{{1 << 20}, Granularity::per_tensor(), {}},
      Case{{1000, 1000}, Granularity::per_block(1, 32), int4},
  };
  for (const auto& [shape, granularity, rule] : cases) {
    CAPTURE(to_string(shape));
    const auto weights =
        test::random_values(static_cast<std::size_t>(shape.element_count().value()), 1);
    const bool packed = bit_width(rule.storage) == 4;
    Made wanted = expected(weights, shape, granularity, rule);
    if (packed) wanted.codes = in_pairs(wanted.codes);
    test::for_each_target([&] {
      check_equal(quantize(weights, shape, granularity, rule, {.packed = packed}), wanted);
    });
  }
}

// The values in another type, rounded, from the second byte on.
std::vector<std::byte> stored_as(ElementType element, std::span<const float> values) {
  std::vector<std::byte> bytes{std::byte{0x55}};
  const auto add = [&](auto number) {
    const auto its = std::bit_cast<std::array<std::byte, sizeof(number)>>(number);
    bytes.insert(bytes.end(), its.begin(), its.end());
  };
  for (const float value : values) {
    if (element == ElementType::float16) add(round_to_float16(value));
    if (element == ElementType::bfloat16) add(round_to_bfloat16(value));
    if (element == ElementType::float32) add(value);
    if (element == ElementType::float64) add(static_cast<double>(value) * (1 + 1e-12));
  }
  return bytes;
}

TEST_CASE("quantize_weights: weights of any float type, wherever they lie") {
  struct Case {
    Shape shape;
    Granularity granularity;
  };
  const std::array cases{
      Case{{70, 500}, Granularity::per_tensor()},
      Case{{70, 500}, Granularity::per_axis(0)},
      Case{{70, 500}, Granularity::per_axis(1)},
      Case{{70, 500}, Granularity::per_block(0, 32)},
      Case{{70, 501}, Granularity::per_block(1, 32)},
      Case{{3, test::shortened(600'000)}, Granularity::per_axis(0)},
      Case{{2, 70, 50}, Granularity::per_axis(1)},
  };
  test::TwoThreads threads;
  test::Turns turns;
  for (const auto& [shape, granularity] : cases) {
    CAPTURE(to_string(shape));
    const auto values =
        test::random_values(static_cast<std::size_t>(shape.element_count().value()), 3);
    for (const ElementType element : {ElementType::float16, ElementType::bfloat16,
                                      ElementType::float32, ElementType::float64}) {
      CAPTURE(to_string(element));
      const std::vector<std::byte> stored = stored_as(element, values);
      const auto bytes = std::span(stored).subspan(1);
      const Constant constant = Constant::from_bytes(element, shape, {bytes.begin(), bytes.end()});
      for (const ScaleRule& rule : weight_rules) {
        if (!turns.next()) continue;
        if (rule.clip == Clip::mse && values.size() > 100000) continue;  // searches take long
        CAPTURE(to_string(rule.storage));
        const auto width = static_cast<std::size_t>(byte_width(rule.storage));
        Made made{{}, std::vector<std::byte>(values.size() * width)};
        made.scan = quantize_weights(element, bytes, shape, granularity, rule, made.codes,
                                     {.executor = &threads})
                        .value();
        check_equal(made, expected(constant, granularity, rule));
      }
    }
  }
}

TEST_CASE("quantize_weights: no scale is less than the distance between two float16 numbers") {
  const std::vector<float> values(64, 0x1p-24F);
  const std::vector<std::byte> stored = stored_as(ElementType::float16, values);
  for (const Granularity& granularity :
       {Granularity::per_tensor(), Granularity::per_axis(1), Granularity::per_block(1, 4)}) {
    std::vector<std::byte> codes(values.size());
    const auto scan = quantize_weights(ElementType::float16, std::span(stored).subspan(1), {8, 8},
                                       granularity, {}, codes)
                          .value();
    CHECK(std::ranges::all_of(read_scales(scan.scales).value(),
                              [](float scale) { return scale == 0x1p-24F; }));
    CHECK(std::ranges::all_of(codes, [](std::byte code) { return code == std::byte{1}; }));
  }
}

TEST_CASE("quantize_weights: the first float16 that is not finite") {
  std::vector<float> values = test::random_values(100000, 4);
  values[70001] = std::numeric_limits<float>::infinity();
  values[90000] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::byte> stored = stored_as(ElementType::float16, values);
  std::vector<std::byte> codes(values.size());
  const auto scan = quantize_weights(ElementType::float16, std::span(stored).subspan(1),
                                     {100, 1000}, Granularity::per_axis(1), {}, codes)
                        .value();
  REQUIRE(scan.non_finite);
  CHECK(scan.non_finite->index == 70001);
}

TEST_CASE("quantize_weights: the first value that is not finite, wherever a group lies") {
  const Shape shape{70, 500};
  for (const Granularity& granularity :
       {Granularity::per_tensor(), Granularity::per_axis(0), Granularity::per_axis(1),
        Granularity::per_block(0, 32), Granularity::per_block(1, 32)}) {
    for (const ScaleRule& rule : weight_rules) {
      std::vector<float> weights = test::random_values(35000, 2);
      weights[20001] = std::numeric_limits<float>::infinity();
      weights[30000] = std::numeric_limits<float>::quiet_NaN();
      test::TwoThreads threads;
      const Made made = quantize(weights, shape, granularity, rule, {.executor = &threads});
      REQUIRE(made.scan.non_finite);
      CHECK(made.scan.non_finite->index == 20001);
      CHECK(!made.scan.scales);
    }
  }
}

TEST_CASE("quantize_weights: what does not fit is refused") {
  const std::vector<float> weights(12, 1.0F);
  std::vector<std::byte> codes(12);
  const auto message = [&](std::span<const float> values, const Shape& shape, const ScaleRule& rule,
                           std::size_t bytes, bool packed) {
    const auto made = quantize_weights(values, shape, Granularity::per_tensor(), rule,
                                       std::span(codes).first(bytes), {.packed = packed});
    REQUIRE(!made);
    CHECK(made.error().code == ErrorCode::impossible);
    return made.error().message;
  };
  CHECK(message(weights, {3, 5}, {}, 12, false) ==
        "12 numbers for a tensor of shape [3x5], which has 15");
  CHECK(message(weights, {3, 4}, {}, 11, false) == "11 bytes for codes that take 12");
  CHECK(message(weights, {3, 4}, weight_rules[1], 12, true) == "12 bytes for codes that take 6");
  CHECK(message(weights, {3, 4}, {}, 6, true) ==
        "codes of type i8 cannot be packed in pairs: they have 8 bits, not 4");
  const auto refused = [&](ElementType element, std::size_t bytes) {
    const auto made = quantize_weights(element, std::as_bytes(std::span(weights)).first(bytes),
                                       {3, 4}, Granularity::per_tensor(), {}, codes);
    REQUIRE(!made);
    CHECK(made.error().code == ErrorCode::impossible);
    return made.error().message;
  };
  CHECK(refused(ElementType::float16, 23) ==
        "23 bytes of weights of type f16, each of which has 2");
  CHECK(refused(ElementType::float16, 22) ==
        "11 numbers for a tensor of shape [3x4], which has 12");
  CHECK(refused(ElementType::int8, 12) ==
        "weights of type i8 cannot be quantized: only floats can");
  CHECK(message(weights, {3, Extent::open()}, {}, 12, false).find("size must be known") !=
        std::string::npos);
}

}  // namespace
}  // namespace quadrant

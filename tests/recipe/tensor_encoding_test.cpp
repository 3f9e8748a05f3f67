#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "ir/scales.hpp"
#include "quadrant/recipe/encodings.hpp"
#include "recipe/text.hpp"

namespace quadrant {
namespace {

using test::mentions;

using Spread = TensorEncoding::Spread;

TensorEncoding of_one(int bits, double scale, std::int64_t zero_point) {
  TensorEncoding encoding;
  encoding.bits = bits;
  encoding.scales = {scale};
  encoding.zero_points = {zero_point};
  return encoding;
}

// Scales 1, 2, ... channel by channel, as files without axes have them.
TensorEncoding blocks_by_channel(std::size_t count, std::int64_t size) {
  TensorEncoding encoding;
  encoding.bits = 4;
  encoding.spread = Spread::blocks;
  encoding.block_size = size;
  encoding.scales.resize(count);
  std::iota(encoding.scales.begin(), encoding.scales.end(), 1.0);
  encoding.zero_points.assign(count, 8);
  return encoding;
}

std::string refused_tensor_encoding(const TensorEncoding& encoding) {
  const Expected<void> status = check(encoding);
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().code == ErrorCode::impossible);
  return status.error().message;
}

TEST_CASE("ends and offset follow from scale and zero point") {
  const Encoding one = of_one(8, 0.04, 128).encoding(0);
  CHECK(one.offset() == -128);
  CHECK(one.min == doctest::Approx(-5.12));
  CHECK(one.max == doctest::Approx(5.08));
  TensorEncoding strict = of_one(8, 0.04, 127);
  strict.symmetry = EncodingSymmetry::symmetric_strict;
  CHECK(strict.encoding(0).steps == 254);
  CHECK(strict.encoding(0).max == -strict.encoding(0).min);
  const Encoding bias = of_one(32, 1e-6, std::int64_t{1} << 31U).encoding(0);
  CHECK(bias.steps == 4294967295);
  CHECK(bias.min == doctest::Approx(-2147.483648).epsilon(1e-12));
}

TEST_CASE("what has no meaning is refused") {
  CHECK(mentions(refused_tensor_encoding(of_one(1, 1, 0)), "1 bits: 2 to 32"));
  CHECK(mentions(refused_tensor_encoding(of_one(33, 1, 0)), "33 bits"));
  CHECK(mentions(refused_tensor_encoding(of_one(8, 0, 0)), "scale 0 is 0: scales must be above 0"));
  CHECK(mentions(refused_tensor_encoding(of_one(8, -1, 0)), "scale 0 is -1"));
  CHECK(mentions(refused_tensor_encoding(of_one(8, 1e-38, 0)), "at least 1e-37"));
  CHECK(mentions(refused_tensor_encoding(of_one(8, std::nan(""), 0)), "scale 0 is nan"));
  CHECK(
      mentions(refused_tensor_encoding(of_one(8, 1e36, 0)), "the range then reaches beyond 1e+38"));
  CHECK(mentions(refused_tensor_encoding(of_one(8, std::numeric_limits<double>::infinity(), 0)),
                 "beyond"));
  CHECK(mentions(refused_tensor_encoding(of_one(8, 1, -1)),
                 "zero point 0 is -1: it must lie in 0 to 255"));
  CHECK(mentions(refused_tensor_encoding(of_one(8, 1, 256)), "zero point 0 is 256"));
  TensorEncoding encoding = of_one(8, 1, 100);
  encoding.symmetry = EncodingSymmetry::symmetric;
  CHECK(
      mentions(refused_tensor_encoding(encoding), "it is symmetric, but a zero point is not 128"));
  encoding = of_one(8, 1, 0);
  encoding.scales.push_back(1);
  CHECK(mentions(refused_tensor_encoding(encoding), "2 scales and 1 zero points"));
  encoding.zero_points.push_back(0);
  CHECK(mentions(refused_tensor_encoding(encoding), "2 scales, where the tensor shares one"));
  encoding.spread = Spread::blocks;
  CHECK(mentions(refused_tensor_encoding(encoding), "block size 0"));
  encoding.block_size = 4;
  encoding.axis = 0;
  CHECK(mentions(refused_tensor_encoding(encoding), "an axis and a grid, or neither"));
  encoding.grid = {3};
  CHECK(mentions(refused_tensor_encoding(encoding), "2 scales do not fill the grid of blocks 3"));
  encoding.grid = {std::numeric_limits<std::int64_t>::max(), 2};
  CHECK(mentions(refused_tensor_encoding(encoding), "do not fill"));
  encoding.grid = {1, 2};
  encoding.axis = 2;
  CHECK(mentions(refused_tensor_encoding(encoding), "axis 2 is none of the 2"));
  encoding.axis = 1;
  CHECK(check(encoding).has_value());
  encoding.low_power = LowPowerScales{8, {1}, {1, 1}};
  CHECK(mentions(refused_tensor_encoding(encoding), "must be symmetric"));
  encoding.symmetry = EncodingSymmetry::symmetric;
  encoding.zero_points = {128, 128};
  CHECK(check(encoding).has_value());
  encoding.low_power->blocks[1] = 2;
  CHECK(mentions(refused_tensor_encoding(encoding),
                 "scale 1 is not that of its channel times an integer"));
  encoding.low_power->channels = {1, 1};
  CHECK(mentions(refused_tensor_encoding(encoding),
                 "2 scales of channels are not those of the grid"));
  TensorEncoding real;
  real.kind = TensorEncoding::Kind::floating;
  CHECK(mentions(refused_tensor_encoding(real), "floats of 8 bits"));
}

TEST_CASE("a type of one scale") {
  const TensorEncoding encoding = of_one(8, 0.25, 100);
  const UniformType plain =
      to_uniform_type(encoding, Shape{2, 3}, {}, CodeSign::unsigned_codes).value();
  CHECK(to_string(plain) == "!quant.uniform<u8:f32, 0.25:100>");
  const UniformType moved =
      to_uniform_type(encoding, Shape{2, 3}, {}, CodeSign::signed_codes).value();
  CHECK(to_string(moved) == "!quant.uniform<i8:f32, 0.25:-28>");
  CHECK(to_tensor_encoding(plain, Shape{2, 3}).value() == encoding);
  TensorEncoding again = to_tensor_encoding(moved, Shape{2, 3}).value();
  CHECK(again.sign == CodeSign::signed_codes);
  again.sign = CodeSign::unsigned_codes;
  CHECK(again == encoding);
}

TEST_CASE("biases have 32 bits") {
  TensorEncoding encoding = of_one(32, 0.5, std::int64_t{1} << 31U);
  encoding.symmetry = EncodingSymmetry::symmetric;
  encoding.sign = CodeSign::signed_codes;
  const UniformType type = to_uniform_type(encoding, Shape{4}, {}, CodeSign::signed_codes).value();
  CHECK(to_string(type) == "!quant.uniform<i32:f32, 0.5>");
  CHECK(to_tensor_encoding(type, Shape{4}).value() == encoding);
  encoding.bits = 20;
  encoding.zero_points = {1 << 19};
  const auto refused_type = to_uniform_type(encoding, Shape{4}, {}, CodeSign::signed_codes);
  REQUIRE_FALSE(refused_type.has_value());
  CHECK(mentions(refused_type.error().message, "has 20 bits"));
}

TEST_CASE("channels lie along the axis that is known, or given") {
  TensorEncoding encoding = of_one(8, 1, 0);
  encoding.spread = Spread::channels;
  encoding.scales = {1, 2, 3};
  encoding.zero_points = {0, 1, 2};
  const auto type_along = [&](std::optional<std::int64_t> axis) {
    return to_uniform_type(encoding, Shape{2, 3}, axis, CodeSign::unsigned_codes);
  };
  CHECK(to_string(type_along(1).value()) == "!quant.uniform<u8:f32:1, {1.0, 2.0:1, 3.0:2}>");
  CHECK(type_along(-1).value().granularity == Granularity::per_axis(1));
  CHECK(mentions(type_along({}).error().message, "give the axis"));
  CHECK(
      mentions(type_along(0).error().message, "3 encodings, where a tensor of shape [2x3] has 2"));
  CHECK(mentions(type_along(2).error().message, "has no axis 2"));
  CHECK(mentions(type_along(-3).error().message, "has no axis -3"));
  encoding.axis = -1;
  CHECK(type_along(0).value().granularity == Granularity::per_axis(1));
  CHECK(mentions(to_uniform_type(encoding, Shape{Extent::open(), 3}, {}, CodeSign::unsigned_codes)
                     .error()
                     .message,
                 "not known in full"));
}

// Of a weight whose scales are listed channel by channel, the scale of channel c and block b is
// c * blocks + b + 1, wherever they lie in the tensor.
TEST_CASE("blocks without an axis lie along the input") {
  struct Layout {
    Shape shape;
    std::int64_t channel_axis = 0;
    std::int64_t block_axis = 0;
  };
  for (const Layout& layout : {Layout{{3, 8}, 0, 1}, Layout{{8, 3}, 1, 0}, Layout{{1, 7, 3}, 2, 1},
                               Layout{{3, 8, 1, 1}, 0, 1}, Layout{{7, 3, 1, 1}, 1, 0}}) {
    CAPTURE(to_string(layout.shape));
    const TensorEncoding encoding = blocks_by_channel(6, 4);
    const auto type =
        to_uniform_type(encoding, layout.shape, layout.channel_axis, CodeSign::signed_codes);
    REQUIRE_MESSAGE(type.has_value(), (type ? "" : to_string(type.error())));
    CHECK(type->granularity == Granularity::per_block(layout.block_axis, 4));
    const std::vector<float> scales = read_scales(type->scales).value();
    const std::vector<std::int64_t> strides = type->scales.shape().strides();
    for (std::int64_t channel = 0; channel < 3; ++channel) {
      for (std::int64_t block = 0; block < 2; ++block) {
        const std::int64_t at = channel * strides[static_cast<std::size_t>(layout.channel_axis)] +
                                block * strides[static_cast<std::size_t>(layout.block_axis)];
        CHECK(scales[static_cast<std::size_t>(at)] == static_cast<float>(channel * 2 + block + 1));
      }
    }
  }
  const auto message = [](const Shape& shape, std::int64_t axis) {
    return to_uniform_type(blocks_by_channel(6, 4), shape, axis, CodeSign::signed_codes)
        .error()
        .message;
  };
  CHECK(mentions(message({3, 16}, 0), "have scales of shape [3x4]; the encoding has 6"));
  CHECK(mentions(message({3, 8, 2}, 0), "spread over two axes"));
  CHECK(mentions(message({24}, 0), "no axis of blocks beside that of its channels"));
}

TEST_CASE("blocks with a grid must fit the tensor") {
  TensorEncoding encoding = blocks_by_channel(6, 4);
  encoding.axis = 1;
  encoding.grid = {3, 2};
  const UniformType type =
      to_uniform_type(encoding, Shape{3, 8}, {}, CodeSign::signed_codes).value();
  CHECK(read_scales(type.scales).value() == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(mentions(to_uniform_type(encoding, Shape{3, 9}, {}, CodeSign::signed_codes).error().message,
                 "have scales of shape [3x3], not [3x2]"));
  CHECK(mentions(
      to_uniform_type(encoding, Shape{3, 8, 1}, {}, CodeSign::signed_codes).error().message,
      "not [3x2]"));
}

// The real value of each code, by the type and by the encoding.
TEST_CASE("random types keep what each code means") {
  std::mt19937 random(3);
  const auto below = [&random](std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random);
  };
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const Shape shape{1 + below(4), 1 + below(9)};
    const std::int64_t axis = below(2);
    Granularity granularity = Granularity::per_block(axis, 1 + below(5));
    if (below(2) == 0) granularity = Granularity::per_axis(axis);
    if (below(3) == 0) granularity = Granularity::per_tensor();
    const Shape parameters = parameter_shape(shape, granularity);
    const auto count = static_cast<std::size_t>(parameters.element_count().value());
    const int bits = 2 + static_cast<int>(below(15));
    const bool is_strict = below(4) == 0;
    const CodeSign sign = below(2) == 0 ? CodeSign::signed_codes : CodeSign::unsigned_codes;
    const std::int64_t steps =
        (std::int64_t{1} << static_cast<unsigned>(bits)) - (is_strict ? 2 : 1);
    std::vector<Encoding> encodings(count);
    for (Encoding& encoding : encodings) {
      encoding.bits = bits;
      encoding.steps = steps;
      encoding.scale = static_cast<double>(
          std::ldexp(1.0F + static_cast<float>(below(100)), -static_cast<int>(below(20))));
      encoding.zero_point = is_strict ? steps / 2 : below(steps + 1);
    }
    const UniformType type = uniform_type(encodings, shape, granularity, sign).value();
    const Expected<TensorEncoding> found = to_tensor_encoding(type, shape);
    REQUIRE_MESSAGE(found.has_value(), (found ? "" : to_string(found.error())));
    REQUIRE(found->scales.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      const Encoding one = found->encoding(i);
      CHECK(one.steps == steps);
      for (const std::int64_t code : {std::int64_t{0}, std::int64_t{1}, steps}) {
        CHECK(dequantize_value(code, one) == dequantize_value(code, encodings[i]));
      }
    }
    CHECK(found->sign == sign);
    const UniformType again = to_uniform_type(*found, shape, {}, sign).value();
    CHECK(to_string(again) == to_string(type));
    CHECK(read_scales(again.scales).value() == read_scales(type.scales).value());
  }
}

TEST_CASE("types that files have no words for are refused") {
  const auto message = [](const UniformType& type, const Shape& shape) {
    const auto encoding = to_tensor_encoding(type, shape);
    REQUIRE_FALSE(encoding.has_value());
    CHECK(encoding.error().code == ErrorCode::impossible);
    return encoding.error().message;
  };
  UniformType type;
  type.scales = make_scales(ElementType::float32, Shape::scalar(), {-0.5F});
  CHECK(mentions(message(type, {3}), "scale 0 is -0.5"));
  type.scales = make_scales(ElementType::float32, Shape::scalar(), {0.5F});
  CHECK(to_tensor_encoding(type, Shape{3}).has_value());
  type.storage_min = -100;
  CHECK(mentions(message(type, {3}), "codes from -100 to 127 are not all of a number of bits"));
  type.storage_min = -127;
  CHECK(to_tensor_encoding(type, Shape{3})->symmetry == EncodingSymmetry::symmetric_strict);
  type.zero_points =
      make_zero_points(ElementType::int8, Shape::scalar(), std::vector<std::int64_t>{3});
  CHECK(mentions(message(type, {3}), "zero is not in the middle"));
  type.granularity = Granularity::per_axis(0);
  CHECK(mentions(message(type, {3}), "not those of a tensor of shape [3]"));
  type.granularity = Granularity::per_axis(1);
  CHECK_FALSE(to_tensor_encoding(type, Shape{3}).has_value());
}

}  // namespace
}  // namespace quadrant

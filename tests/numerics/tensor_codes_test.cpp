#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "ir/scales.hpp"
#include "numerics/affine.hpp"
#include "numerics/helpers.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/encoding.hpp"

namespace quadrant {
namespace {

using Values = std::vector<float>;
using TensorCodes = std::vector<std::int32_t>;

std::shared_ptr<const UniformType> shared(UniformType type) {
  return std::make_shared<const UniformType>(std::move(type));
}

std::shared_ptr<const UniformType> random_type(const Shape& shape, const Granularity& granularity,
                                               CodeSign sign, int bits, unsigned seed) {
  std::mt19937 random(seed);
  const std::int64_t steps = (std::int64_t{1} << bits) - 1;
  std::vector<Encoding> encodings;
  const auto count = parameter_shape(shape, granularity).element_count().value();
  for (std::int64_t i = 0; i < count; ++i) {
    const double scale = std::exp2(std::uniform_int_distribution<int>(-6, 2)(random));
    encodings.push_back(
        {.bits = bits,
         .steps = steps,
         .scale = i % 2 == 0 ? scale : scale * .7,
         .zero_point = std::uniform_int_distribution<std::int64_t>(0, steps)(random)});
  }
  return shared(uniform_type(encodings, shape, granularity, sign).value());
}

TEST_CASE("tensor codes: the documentation's example") {
  const Values data{-1.8F, -1, 0, .5F};
  const Encoding encoding = find_encoding(data, EncodingRule::snpe()).value();
  const UniformType type =
      uniform_type(std::vector{encoding}, {4}, Granularity::per_tensor(), CodeSign::unsigned_codes)
          .value();
  const TensorCodes codes = quantize_values(data, {4}, type, RoundingProfile::snpe()).value();
  CHECK(codes == TensorCodes{0, 89, 200, 255});
  const Values back = dequantize_values(codes, {4}, type).value();
  const Values expected{-1.8039F, -1.0011F, 0, .4961F};
  for (std::size_t i = 0; i < back.size(); ++i) CHECK(std::fabs(back[i] - expected[i]) < 1e-4F);

  const Tensor tensor = Tensor::from_values<float>(ElementType::float32, {4}, data);
  const Tensor as_tensor = quantize_tensor(tensor, shared(type), RoundingProfile::snpe()).value();
  CHECK(as_tensor.element() == ElementType::uint8);
  CHECK(as_tensor.shape() == Shape{4});
  CHECK(std::ranges::equal(as_tensor.as<std::uint8_t>(), codes));
  const Tensor real = dequantize_tensor(as_tensor, shared(type)).value();
  CHECK(std::ranges::equal(real.as<float>(), back));
}

TEST_CASE("tensor codes: ties go where the profile says") {
  UniformType type;
  type.storage = ElementType::uint8;
  type.storage_min = 0;
  type.storage_max = 255;
  type.scales = make_scales(ElementType::float32, Shape::scalar(), {2});
  type.zero_points =
      make_zero_points(ElementType::uint8, Shape::scalar(), std::vector<std::int64_t>{11});
  const Values data{5, -5, 7, -7, 1000, -1000};  // 2.5, -2.5, 3.5, -3.5
  CHECK(quantize_values(data, {6}, type).value() == TensorCodes{13, 9, 15, 7, 255, 0});
  CHECK(quantize_values(data, {6}, type, RoundingProfile::mlir()).value() ==
        TensorCodes{13, 9, 15, 7, 255, 0});
  CHECK(quantize_values(data, {6}, type, RoundingProfile::snpe()).value() ==
        TensorCodes{14, 9, 15, 8, 255, 0});
}

template <class Code>
TensorCodes codes_of(const Tensor& tensor) {
  const auto codes = tensor.as<Code>();
  return {codes.begin(), codes.end()};
}

TensorCodes codes_of(const Tensor& tensor) {
  switch (tensor.element()) {
    case ElementType::int4:
    case ElementType::int8:
      return codes_of<std::int8_t>(tensor);
    case ElementType::uint4:
    case ElementType::uint8:
      return codes_of<std::uint8_t>(tensor);
    case ElementType::int16:
      return codes_of<std::int16_t>(tensor);
    default:
      return codes_of<std::uint16_t>(tensor);
  }
}

TEST_CASE("tensor codes: per tensor, axis and block, each element by its own scale") {
  unsigned seed = 0;
  for (const Shape& shape : test::shapes()) {
    const auto count = static_cast<std::size_t>(shape.element_count().value());
    if (count > 40000 || count == 0) continue;
    Values values = test::random_values(count, 41);
    for (float& value : values) value = std::round(value * 64) / 32;  // ties
    const Tensor tensor = Tensor::from_values<float>(ElementType::float32, shape, values);
    for (const Granularity& granularity : test::granularities_of(shape)) {
      const auto groups = test::groups_of(shape, granularity);
      for (const int bits : {4, 8, 16}) {
        const CodeSign sign = ++seed % 2 == 0 ? CodeSign::signed_codes : CodeSign::unsigned_codes;
        const auto type = random_type(shape, granularity, sign, bits, seed);
        const auto scales = read_scales(type->scales).value();
        std::vector<std::int64_t> zero_points(scales.size(), 0);
        if (type->zero_points) {
          zero_points = read_integers(type->zero_points, 1 << 20).value();
        }
        for (const RoundingProfile& rounding : {RoundingProfile::onnx(), RoundingProfile::snpe()}) {
          TensorCodes expected;
          Values expected_back;
          for (std::size_t i = 0; i < count; ++i) {
            const float scale = scales[groups[i]];
            const std::int64_t zero_point = zero_points[groups[i]];
            const std::int64_t code =
                quantize_value(static_cast<double>(values[i]), static_cast<double>(scale),
                               zero_point, type->storage_min, type->storage_max, rounding);
            expected.push_back(static_cast<std::int32_t>(code));
            expected_back.push_back(dequantize_value(code, scale, zero_point));
          }
          const TensorCodes codes = quantize_values(values, shape, *type, rounding).value();
          CHECK(codes == expected);
          const Tensor as_tensor = quantize_tensor(tensor, type, rounding).value();
          CHECK(as_tensor.element() == type->storage);
          CHECK(as_tensor.shape() == shape);
          CHECK(codes_of(as_tensor) == expected);
          CHECK(dequantize_values(codes, shape, *type).value() == expected_back);
          const Tensor back = dequantize_tensor(as_tensor, type).value();
          CHECK(std::ranges::equal(back.as<float>(), expected_back));
        }
      }
    }
  }
}

TEST_CASE("tensor codes: other floats, empty tensors, what is not finite") {
  const auto type = random_type({4}, Granularity::per_tensor(), CodeSign::unsigned_codes, 8, 3);
  const Tensor doubles =
      Tensor::from_values<double>(ElementType::float64, {2}, std::vector<double>{.25, -.5});
  const Tensor floats = Tensor::from_values<float>(ElementType::float32, {2}, Values{.25F, -.5F});
  CHECK(codes_of(quantize_tensor(doubles, type).value()) ==
        codes_of(quantize_tensor(floats, type).value()));
  const Tensor empty = Tensor::from_values<float>(ElementType::float32, {0, 3}, Values{});
  CHECK(quantize_tensor(empty, type)->element_count() == 0);
  CHECK(quantize_values({}, {0, 3}, *type)->empty());

  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::int32_t zero = quantize_values(Values{0}, {1}, *type)->front();
  for (const RoundingProfile& rounding : {RoundingProfile::onnx(), RoundingProfile::snpe()}) {
    CHECK(quantize_values(Values{nan, infinity, -infinity}, {3}, *type, rounding).value() ==
          TensorCodes{zero, 255, 0});
  }
}

TEST_CASE("tensor codes: what cannot be") {
  const auto type = random_type({4}, Granularity::per_axis(0), CodeSign::unsigned_codes, 8, 4);
  const auto message = [](const auto& result) {
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::impossible);
    return result.error().message;
  };
  const auto contains = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(contains(message(quantize_values(Values{1, 2}, {4}, *type)),
                 "2 values do not fill a tensor of shape [4]"));
  CHECK(contains(message(quantize_values(Values{1, 2}, Shape{}, *type)), "2 values do not fill"));
  CHECK(contains(message(dequantize_values(TensorCodes{1}, {4}, *type)), "1 values do not fill"));
  CHECK(contains(message(dequantize_values(TensorCodes{0, 1, 256, 3}, {4}, *type)),
                 "element 2 is 256, where u8 holds 0 to 255"));
  CHECK(contains(message(dequantize_values(TensorCodes{0, 1, -1, 3}, {4}, *type)),
                 "element 2 is -1"));
  // Four scales do not fit five elements.
  CHECK(!quantize_values(Values(5), {5}, *type));
  CHECK(!quantize_tensor(Tensor::from_values<float>(ElementType::float32, {5}, Values(5)), type));
  CHECK(contains(message(quantize_tensor(Tensor(), type)), "no tensor"));
  CHECK(contains(message(dequantize_tensor(Tensor(), type)), "no tensor"));
  const Tensor integers =
      Tensor::from_values<std::int32_t>(ElementType::int32, {4}, TensorCodes(4));
  CHECK(contains(message(quantize_tensor(integers, type)), "only floats can"));
  CHECK(contains(message(dequantize_tensor(integers, type)), "codes of type i32"));
  UniformType wide = *type;
  wide.storage = ElementType::int32;
  CHECK(contains(message(quantize_values(Values(4), {4}, wide)), "at most 16"));
}

}  // namespace
}  // namespace quadrant

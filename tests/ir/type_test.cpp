#include "quadrant/ir/type.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "build.hpp"
#include "quadrant/ir/number_format.hpp"

using namespace quadrant;

TEST_CASE("parameter_shape") {
  const Shape shape{4, 10, 6};
  CHECK(parameter_shape(shape, Granularity::per_tensor()) == Shape(std::vector<std::int64_t>{}));
  CHECK(parameter_shape(shape, Granularity::per_axis(1)) == Shape{10});
  CHECK(parameter_shape(shape, Granularity::per_block(1, 5)) == Shape{4, 2, 6});
  CHECK(parameter_shape(shape, Granularity::per_block(1, 4)) == Shape{4, 3, 6});
  CHECK(parameter_shape(shape, Granularity::per_block(1, 100)) == Shape{4, 1, 6});
  CHECK(parameter_shape(shape, Granularity::per_block(1, INT64_MAX)) == Shape{4, 1, 6});
}

TEST_CASE("parameter_shape of extents that are unknown or zero") {
  const Shape shape{Extent::open(), 64};
  CHECK(parameter_shape(shape, Granularity::per_axis(0)) == Shape{Extent::open()});
  CHECK(parameter_shape(shape, Granularity::per_block(0, 32)) == Shape{Extent::open(), 64});
  CHECK(parameter_shape(shape, Granularity::per_block(1, 32)) == Shape{Extent::open(), 2});
  CHECK(parameter_shape({0, 64}, Granularity::per_block(0, 32)) == Shape{0, 64});
}

TEST_CASE("parameter_shape of a shape of which nothing is known") {
  CHECK(parameter_shape(Shape(), Granularity::per_tensor()) == Shape::scalar());
  CHECK(parameter_shape(Shape(), Granularity::per_axis(3)) == Shape{Extent::open()});
  CHECK(parameter_shape(Shape(), Granularity::per_block(3, 32)) == Shape());
  for (const std::string_view text :
       {"f8e4m3 * f32[axis=1] : f32", "f8e4m3 * f32[axis=1 block=2] : f32",
        "table<4 x f16>[axis=1] : f32", "table<4 x f16>[axis=1 block=2] : f32"}) {
    const auto format = parse_number_format(text);
    REQUIRE(format);
    const std::vector<FormatPart> parts = parts_of(*format);
    for (const FormatPart& part : parts) {
      CHECK_FALSE(shape_of(part, Shape()).is_static());
    }
  }
}

TEST_CASE("the expressed type of a tensor") {
  const TensorType plain = build::f32({2, 3});
  CHECK(plain.expressed() == plain);
  auto type = build::uniform({0.5F});
  type->expressed = ElementType::bfloat16;
  const TensorType codes = build::quantized({2, 3}, type);
  CHECK(codes.is_quantized());
  CHECK(codes.expressed() == build::tensor(ElementType::bfloat16, {2, 3}));
}

TEST_CASE("types compare by contents of the quantized type, whose constants compare by identity") {
  const auto type = build::uniform({0.5F});
  const auto copy = std::make_shared<UniformType>(*type);
  CHECK(build::quantized({2}, type) == build::quantized({2}, copy));
  CHECK(build::quantized({2}, type) != build::quantized({3}, type));
  CHECK(build::quantized({2}, type) != build::tensor(ElementType::int8, {2}));
  copy->storage_min = -127;
  CHECK(build::quantized({2}, type) != build::quantized({2}, copy));
  CHECK(build::quantized({2}, type) != build::quantized({2}, build::uniform({0.5F})));
}

TEST_CASE("text is MLIR's") {
  CHECK(to_string(build::f32({4, 8})) == "tensor<4x8xf32>");
  CHECK(to_string(build::f32(Shape(std::vector<std::int64_t>{}))) == "tensor<f32>");
  CHECK(to_string(build::f32(Shape())) == "tensor<*xf32>");
  CHECK(to_string(build::tensor(ElementType::int8, Shape())) == "tensor<*xi8>");
  CHECK(to_string(build::tensor(ElementType::int8, {Extent::open()})) == "tensor<?xi8>");

  auto type = build::uniform({0.1F, 2.0F}, Granularity::per_axis(0));
  CHECK(to_string(*type) == "!quant.uniform<i8:f32:0, {0.1, 2.0}>");
  type->storage_min = -127;
  type->zero_points =
      Constant::from_values<std::int8_t>(ElementType::int8, {2}, std::vector<std::int8_t>{0, -3});
  CHECK(to_string(*type) == "!quant.uniform<i8<-127:127>:f32:0, {0.1, 2.0:-3}>");
  CHECK(to_string(build::quantized({2, 5}, type)) ==
        "tensor<2x5x!quant.uniform<i8<-127:127>:f32:0, {0.1, 2.0:-3}>>");
  CHECK(to_string(*build::uniform({0.25F})) == "!quant.uniform<i8:f32, 0.25>");
  CHECK(to_string(*build::uniform({-2.0F, 0.5F}, Granularity::per_axis(0))) ==
        "!quant.uniform<i8:f32:0, {-2.0, 0.5}>");
}

TEST_CASE("text leaves out what is deferred or long") {
  auto type = build::uniform({0.25F});
  type->scales = build::deferred(ElementType::float32, Shape(std::vector<std::int64_t>{}));
  CHECK(to_string(*type) == "!quant.uniform<i8:f32, {...}>");
  const std::vector<float> many(1000, 1.0F);
  CHECK(to_string(*build::uniform(many, Granularity::per_axis(0))) ==
        "!quant.uniform<i8:f32:0, {...}>");
  // Scales without the zero points that belong to them would be another type.
  auto offset = build::uniform({0.25F, 0.5F}, Granularity::per_axis(0));
  offset->zero_points = build::deferred(ElementType::int8, {2});
  CHECK(to_string(*offset) == "!quant.uniform<i8:f32:0, {...}>");
}

TEST_CASE("symmetric codes are made and known again") {
  const TensorType codes =
      symmetric_type(ElementType::int8, {2, 5}, Granularity::per_axis(0), {0.5F, 2.0F});
  CHECK(to_string(codes) == "tensor<2x5x!quant.uniform<i8<-127:127>:f32:0, {0.5, 2.0}>>");
  const TensorType blocks = symmetric_type(ElementType::int4, {2, 4}, Granularity::per_block(1, 2),
                                           {0.5F, 2.0F, 1.0F, 4.0F});
  CHECK(blocks.uniform()->scales.shape() == Shape{2, 2});
  CHECK(blocks.uniform()->storage_min == -7);

  using Kind = Granularity::Kind;
  CHECK(is_symmetric(codes, ElementType::int8, Kind::axis));
  CHECK(is_symmetric(blocks, ElementType::int4, Kind::block));
  CHECK_FALSE(is_symmetric(codes, ElementType::int8, Kind::tensor));
  CHECK_FALSE(is_symmetric(codes, ElementType::int4, Kind::axis));
  CHECK_FALSE(is_symmetric(codes.expressed(), ElementType::float32, Kind::axis));
  UniformType other = *codes.uniform();
  other.zero_points = Constant::from_vector(ElementType::int8, {2}, std::vector<std::int8_t>(2));
  CHECK_FALSE(is_symmetric(build::quantized({2, 5}, std::make_shared<UniformType>(other)),
                           ElementType::int8, Kind::axis));
  other = *codes.uniform();
  other.expressed = ElementType::float16;
  CHECK_FALSE(is_symmetric(build::quantized({2, 5}, std::make_shared<UniformType>(other)),
                           ElementType::int8, Kind::axis));
}

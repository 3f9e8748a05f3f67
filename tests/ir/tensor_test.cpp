#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "quadrant/ir/type.hpp"
#include "tensor_values.hpp"

using namespace quadrant;
using test::floats;
using test::values_of;

TEST_CASE("a tensor holds its elements row by row") {
  const Tensor tensor = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(tensor);
  CHECK(tensor.element() == ElementType::float32);
  CHECK(tensor.rank() == 2);
  CHECK(tensor.extent(1) == 3);
  CHECK(tensor.element_count() == 6);
  CHECK(tensor.bytes().size() == 24);
  CHECK(tensor.as<float>()[4] == 5);
}

TEST_CASE("an absent tensor is false and has no elements") {
  const Tensor none;
  CHECK_FALSE(none);
  CHECK(none.bytes().empty());
  CHECK(none.as<float>().empty());
}

TEST_CASE("a scalar has one element, a tensor with an extent of 0 none") {
  CHECK(Tensor::make(ElementType::int64, Shape::scalar())->element_count() == 1);
  const auto empty = Tensor::make(ElementType::float32, {3, 0});
  REQUIRE(empty.has_value());
  CHECK(*empty);
  CHECK(empty->as<float>().empty());
}

TEST_CASE("4-bit integers take a byte each") {
  CHECK(Tensor::make(ElementType::int4, {5})->bytes().size() == 5);
}

TEST_CASE("what cannot be made is refused") {
  CHECK(Tensor::make(ElementType::float32, {2, Extent::open()}).error().code ==
        ErrorCode::impossible);
  CHECK(Tensor::make(ElementType::opaque, {2}).error().code == ErrorCode::impossible);
  CHECK(Tensor::make(ElementType::undefined, {2}).error().code == ErrorCode::impossible);
}

TEST_CASE("no more bytes than the limit") {
  CHECK(Tensor::make(ElementType::float32, {4}, 16).has_value());
  CHECK(Tensor::make(ElementType::float32, {4}, 15).error().code == ErrorCode::impossible);
  // By default, however large the shape: the product of these extents fits into 63 bits.
  const std::int64_t large = std::int64_t{1} << 30;
  CHECK(Tensor::make(ElementType::int8, {large, large}).error().code == ErrorCode::impossible);
}

TEST_CASE("copies and other shapes share the elements") {
  const Tensor tensor = floats({2, 2}, {1, 2, 3, 4});
  const Tensor row = tensor.reshaped({1, 4});
  CHECK(row.shape() == Shape{1, 4});
  CHECK(row.bytes().data() == tensor.bytes().data());
  CHECK(tensor.shape() == Shape{2, 2});
}

TEST_CASE("to a constant and back") {
  const Tensor tensor = test::tensor_of<std::int16_t>(ElementType::int16, {3}, {-1, 0, 1});
  const auto again = Tensor::from_constant(tensor.to_constant());
  REQUIRE(again.has_value());
  CHECK(test::same(*again, tensor));
}

TEST_CASE("a constant's elements are shared, and outlive it") {
  const std::vector<float> values{1, 2};
  auto constant = Constant::from_values<float>(ElementType::float32, {2}, values);
  const auto tensor = Tensor::from_constant(constant);
  REQUIRE(tensor.has_value());
  CHECK(tensor->bytes().data() == Tensor::from_constant(constant)->bytes().data());
  constant = {};
  CHECK(values_of<float>(*tensor) == values);
}

TEST_CASE("any byte but 0 is true") {
  const std::array<std::uint8_t, 4> bytes{0, 1, 2, 255};
  const auto constant = Constant::from_values<std::uint8_t>(ElementType::boolean, {4}, bytes);
  const auto tensor = Tensor::from_constant(constant);
  REQUIRE(tensor.has_value());
  CHECK(values_of<std::uint8_t>(*tensor) == std::vector<std::uint8_t>{0, 1, 1, 1});
}

#include "quadrant/ir/shape.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace quadrant;

TEST_CASE("unranked, scalar and dynamic shapes differ") {
  const Shape unranked;
  const Shape scalar(std::vector<std::int64_t>{});
  const Shape dynamic{Shape::dynamic};
  CHECK(!unranked.is_ranked());
  CHECK(!unranked.is_static());
  CHECK(scalar.is_ranked());
  CHECK(scalar.is_static());
  CHECK(dynamic.is_ranked());
  CHECK(!dynamic.is_static());
  CHECK(unranked != scalar);
  CHECK(unranked.rank() == 0);
  CHECK(scalar.rank() == 0);
  CHECK(dynamic.rank() == 1);
  CHECK(Shape{2, 3} == Shape(std::vector<std::int64_t>{2, 3}));
  CHECK(Shape{2, 3} != Shape{3, 2});
}

TEST_CASE("element counts are products, as long as those exist") {
  CHECK(Shape{2, 3, 4}.element_count() == 24);
  CHECK(Shape(std::vector<std::int64_t>{}).element_count() == 1);
  CHECK(!Shape().element_count());
  CHECK(!Shape{2, Shape::dynamic}.element_count());
  constexpr std::int64_t large = std::int64_t{1} << 32;
  CHECK(!Shape{large, large}.element_count());
  CHECK(Shape{large, large / 4}.element_count() == large * (large / 4));
  CHECK(Shape{std::numeric_limits<std::int64_t>::max()}.element_count() ==
        std::numeric_limits<std::int64_t>::max());
  // The product is zero in either order.
  CHECK(Shape{large, large, 0}.element_count() == 0);
  CHECK(Shape{0, large, large}.element_count() == 0);
}

TEST_CASE("strides count the elements that an index steps over") {
  const Shape shape{2, 3, 4};
  const auto strides = shape.strides();
  std::int64_t expected = 0;
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      for (std::int64_t k = 0; k < 4; ++k) {
        CHECK(i * strides[0] + j * strides[1] + k * strides[2] == expected++);
      }
    }
  }
  CHECK(Shape(std::vector<std::int64_t>{}).strides().empty());
  CHECK(Shape{2, Shape::dynamic}.strides().empty());
  CHECK(Shape{5}.strides() == std::vector<std::int64_t>{1});
  // No index steps anywhere, and the product of the other extents leaves 63 bits.
  constexpr std::int64_t large = std::int64_t{1} << 40U;
  CHECK(Shape{0, 2, large, large}.strides().size() == 4);
  CHECK(Shape{0, 2, large, large}.strides()[2] == large);
}

TEST_CASE("text") {
  CHECK(to_string(Shape{4, Shape::dynamic, 8}) == "4x?x8");
  CHECK(to_string(Shape()) == "*");
  CHECK(to_string(Shape(std::vector<std::int64_t>{})).empty());
}

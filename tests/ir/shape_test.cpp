#include "quadrant/ir/shape.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <type_traits>
#include <vector>

using namespace quadrant;

TEST_CASE("extents: a count, or open") {
  constexpr Extent open = Extent::open();
  constexpr Extent three = 3;
  static_assert(three.is_known() && !open.is_known());
  static_assert(three.value() == 3 && three.known() == 3 && !open.known());
  static_assert(three.value_or(7) == 3 && open.value_or(7) == 7);
  static_assert(!std::is_convertible_v<Extent, std::int64_t>);
  const auto twice = [](std::int64_t extent) { return 2 * extent; };
  CHECK(three.transformed(twice).known() == 6);
  CHECK(!open.transformed(twice).is_known());
  CHECK(to_string(three) == "3");
  CHECK(to_string(open) == "?");
}

TEST_CASE("extents are the same surely, or may be") {
  constexpr Extent open = Extent::open();
  static_assert(surely_equal(Extent(3), 3) && may_equal(Extent(3), 3));
  static_assert(!surely_equal(Extent(3), 4) && !may_equal(Extent(3), 4));
  static_assert(!surely_equal(open, 3) && may_equal(open, 3));
  static_assert(!surely_equal(open, open) && may_equal(open, open));
  CHECK(known_one(open, 3).known() == 3);
  CHECK(known_one(3, open).known() == 3);
  CHECK(!known_one(open, open).is_known());
}

TEST_CASE("negative numbers are no extents, and -1 is not an open one") {
  for (const std::int64_t number : {std::int64_t{-1}, std::int64_t{-5}}) {
    const Shape shape{2, number};
    CHECK(shape[1].is_negative());
    CHECK(!shape[1].is_known());
    CHECK(!shape.is_static());
    CHECK(!shape.element_count());
    CHECK(shape != Shape{2, Extent::open()});
  }
  CHECK(!Extent::open().is_negative());
  CHECK(!Extent(0).is_negative());
  // Of no tensor, whatever the other one is.
  CHECK(!may_equal(Extent(5), -3));
  CHECK(may_equal(Extent::open(), -3));
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  CHECK(Extent(lowest).is_negative());
  CHECK(Extent::of(lowest).is_negative());
  CHECK(Extent::of(std::nullopt).is_open());
}

TEST_CASE("what two shapes tell of one tensor") {
  const Extent open = Extent::open();
  CHECK(merged(Shape(), Shape{2, open}) == Shape{2, open});
  CHECK(merged(Shape{open, 3}, Shape{2, open}) == Shape{2, 3});
  CHECK(!merged(Shape{2}, Shape{3}));
  CHECK(!merged(Shape{2}, Shape{2, 1}));
  CHECK(!merged(Shape{5}, Shape{-3}));
  CHECK(may_equal(Shape{open, 3}, Shape{2, open}));
  CHECK(!may_equal(Shape{open}, Shape::scalar()));
}

TEST_CASE("a static shape's extents are integers") {
  const Shape shape{2, 0, 4};
  const auto extents = shape.known_extents();
  CHECK(std::vector<std::int64_t>(extents.begin(), extents.end()) ==
        std::vector<std::int64_t>{2, 0, 4});
  CHECK(Shape::scalar().known_extents().empty());
}

TEST_CASE("unranked, scalar and dynamic shapes differ") {
  const Shape unranked;
  const Shape scalar(std::vector<std::int64_t>{});
  const Shape dynamic{Extent::open()};
  CHECK(dynamic == Shape{Extent::open()});
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
  CHECK(!Shape{2, Extent::open()}.element_count());
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
  CHECK(Shape{2, Extent::open()}.strides().empty());
  CHECK(Shape{5}.strides() == std::vector<std::int64_t>{1});
  // No index steps anywhere, and the product of the other extents leaves 63 bits.
  constexpr std::int64_t large = std::int64_t{1} << 40U;
  CHECK(Shape{0, 2, large, large}.strides().size() == 4);
  CHECK(Shape{0, 2, large, large}.strides()[2] == large);
}

TEST_CASE("text") {
  CHECK(to_string(Shape{4, Extent::open(), 8}) == "4x?x8");
  CHECK(to_string(Shape()) == "*");
  CHECK(to_string(Shape(std::vector<std::int64_t>{})).empty());
}

// Row-major reshapes against groups that are compared element by element.
#include "ir/reshaped_granularity.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "ir/groups.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

// A shape with all groups that it can have; equal partitions have equal numbers, whatever the
// shape.
struct Partitioned {
  Shape shape;
  std::vector<std::pair<Granularity, int>> groups;
  std::vector<bool> has;  // by number: in another way than as blocks of one element
};

bool is_block_of_one(const Shape& shape, const Granularity& groups) {
  const Granularity& granularity = groups;
  return granularity.kind == Granularity::Kind::block &&
         std::min(granularity.block_size, shape[granularity.axis].value()) == 1;
}

class Partitions {
 public:
  // All shapes of `count` elements and at most `most_axes` axes, those of extent 1 included.
  Partitions(std::int64_t count, std::size_t most_axes) { add_shapes(count, {}, most_axes); }

  [[nodiscard]] const std::vector<Partitioned>& shapes() const { return shapes_; }

 private:
  void add_shapes(std::int64_t count, std::vector<std::int64_t> extents, std::size_t most_axes) {
    if (count == 1) add_shape(Shape(extents));
    if (extents.size() == most_axes) return;
    for (std::int64_t extent = 1; extent <= count; ++extent) {
      if (count % extent != 0) continue;
      extents.push_back(extent);
      add_shapes(count / extent, extents, most_axes);
      extents.pop_back();
    }
  }

  void add_shape(Shape shape) {
    Partitioned made{std::move(shape), {}, {}};
    for (const Granularity& groups : groups::all(made.shape)) {
      const auto partition = groups::renumbered(groups::partition(made.shape, groups));
      const int found =
          numbers_.emplace(partition, static_cast<int>(numbers_.size())).first->second;
      made.groups.emplace_back(groups, found);
      if (made.has.size() <= static_cast<std::size_t>(found)) {
        made.has.resize(static_cast<std::size_t>(found) + 1);
      }
      if (!is_block_of_one(made.shape, groups)) made.has[static_cast<std::size_t>(found)] = true;
    }
    shapes_.push_back(std::move(made));
  }

  std::map<std::vector<int>, int> numbers_;
  std::vector<Partitioned> shapes_;
};

// Sound: the groups that are found are the wanted sets of elements. Complete: where none are found,
// the operand has none that are, but for blocks of one.
bool is_right(const Partitioned& from, const Partitioned& to, const Granularity& wanted,
              int number) {
  const auto found = reshaped_granularity(from.shape, to.shape, wanted);
  const auto index = static_cast<std::size_t>(number);
  if (!found) return index >= from.has.size() || !from.has[index];
  if (is_block_of_one(from.shape, *found)) return false;
  return std::ranges::find(from.groups, std::pair(*found, number)) != from.groups.end();
}

}  // namespace

TEST_CASE("reshape: groups are found exactly when the operand has the same sets of elements") {
  struct Case {
    std::int64_t count;
    std::size_t most_axes;
    std::size_t shapes;  // counted by hand: ordered factorizations, with 1s
  };
  test::Turns turns;
  // Of 12 = 2^2 3 into k axes C(k + 1, 2) k, of 72 = 2^3 3^2 C(k + 2, 3) C(k + 1, 2): into 1 to 3
  // axes 1 + 12 + 60.
  for (const Case& each : {Case{1, 4, 5}, Case{2, 4, 10}, Case{5, 3, 6}, Case{12, 4, 65},
                           Case{24, 3, 39}, Case{36, 3, 46}, Case{72, 3, 73}}) {
    const Partitions partitions(each.count, each.most_axes);
    CHECK(partitions.shapes().size() == each.shapes);
    for (const Partitioned& from : partitions.shapes()) {
      if (!turns.next()) continue;
      for (const Partitioned& to : partitions.shapes()) {
        for (const auto& [wanted, number] : to.groups) {
          if (is_right(from, to, wanted, number)) continue;
          FAIL_CHECK(to_string(from.shape)
                     << " to " << to_string(to.shape) << ", " << wanted.print());
        }
      }
    }
  }
}

TEST_CASE("reshape: what the header says") {
  const auto source = [](const Shape& from, const Shape& to, const Granularity& wanted) {
    return reshaped_granularity(from, to, wanted);
  };
  CHECK(source({16, 8, 3}, {128, 3}, Granularity::per_axis(0)) == Granularity::per_block(2, 3));
  CHECK(source({128, 3}, {16, 8, 3}, Granularity::per_block(2, 3)) == Granularity::per_axis(0));
  CHECK_FALSE(source({16, 8}, {16, 2, 4}, Granularity::per_axis(2)).has_value());
  CHECK(source({4, 9}, {6, 6}, Granularity::per_tensor()) == Granularity::per_tensor());
  CHECK_FALSE(source({4, 9}, {6, 6}, Granularity::per_axis(0)).has_value());
}

TEST_CASE("reshape: shapes of other counts, without elements, unknown ones and axes outside") {
  const auto none = [](const Shape& from, const Shape& to, const Granularity& wanted) {
    return !reshaped_granularity(from, to, wanted).has_value();
  };
  CHECK(none({4, 3}, {5, 2}, Granularity::per_axis(0)));
  CHECK(none({0, 3}, {3, 0}, Granularity::per_axis(0)));
  CHECK(none({4, 3}, {12}, Granularity::per_axis(1)));
  CHECK(none({4, 3}, {12}, Granularity::per_block(7, 2)));
  CHECK(none({4, Extent::open()}, {12}, Granularity::per_axis(0)));
  CHECK(none({4, 3}, Shape(), Granularity::per_axis(0)));
  // 2^40 * 2^40 elements: the count leaves 63 bits.
  constexpr std::int64_t large = std::int64_t{1} << 40U;
  CHECK(none({large, large}, {large, large}, Granularity::per_axis(0)));
}

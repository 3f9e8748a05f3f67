#include "numerics/groups.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "numerics/helpers.hpp"
#include "shortened.hpp"

namespace quadrant {
namespace {

std::vector<Granularity> all_granularities(const Shape& shape) {
  auto result = test::granularities_of(shape);
  const auto odd = test::odd_blocks_of(shape);
  result.insert(result.end(), odd.begin(), odd.end());
  return result;
}

// Groups as for_each_batch names them, over a part of the tensor; batches must follow each other.
std::vector<std::size_t> runs(const Groups& groups, std::size_t first, std::size_t count) {
  std::vector<std::size_t> result;
  groups.for_each_batch(static_cast<std::int64_t>(first), count, [&](const RunBatch& batch) {
    if (batch.position != result.size() || batch.length == 0 || batch.runs == 0) {
      FAIL("batches with gaps");
    }
    for (std::size_t run = 0; run < batch.runs; ++run) {
      for (std::size_t i = 0; i < batch.length; ++i) {
        result.push_back(batch.group + (groups.interleaved() ? i : run));
      }
    }
  });
  return result;
}

TEST_CASE("groups: any part of any tensor, against coordinates") {
  test::Turns turns;
  std::mt19937 random(1);
  for (const Shape& shape : test::shapes()) {
    for (const Granularity& granularity : all_granularities(shape)) {
      if (!turns.next()) continue;
      CAPTURE(to_string(shape));
      CAPTURE(granularity.axis);
      CAPTURE(granularity.block_size);
      const auto expected = test::groups_of(shape, granularity);
      const auto groups = Groups::of(shape, granularity);
      REQUIRE(groups);
      CHECK(groups->element_count() == shape.element_count().value());
      CHECK(groups->group_count() == parameter_shape(shape, granularity).element_count().value());
      const bool equal = runs(*groups, 0, expected.size()) == expected;
      CHECK(equal);
      for (int i = 0; i < 6 && !expected.empty(); ++i) {
        const auto first =
            std::uniform_int_distribution<std::size_t>(0, expected.size() - 1)(random);
        const auto count = std::min<std::size_t>(expected.size() - first, 2000);
        const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(first);
        const bool part_equal = runs(*groups, first, count) ==
                                std::vector(begin, begin + static_cast<std::ptrdiff_t>(count));
        CHECK(part_equal);
      }
    }
  }
}

TEST_CASE("groups: members are the elements of the group, in order") {
  test::Turns turns;
  for (const Shape& shape : test::shapes()) {
    for (const Granularity& granularity : all_granularities(shape)) {
      if (!turns.next()) continue;
      CAPTURE(to_string(shape));
      CAPTURE(granularity.axis);
      CAPTURE(granularity.block_size);
      const auto expected = test::groups_of(shape, granularity);
      const Groups groups = Groups::of(shape, granularity).value();
      std::size_t seen = 0;
      int wrong = 0;
      std::int64_t first = 0;
      std::int64_t end = 0;
      for (std::int64_t group = 0; group < groups.group_count(); ++group) {
        const Members members = groups.members(group);
        std::int64_t previous = -1;
        for (std::int64_t i = 0; i < members.count; ++i) {
          for (std::int64_t k = 0; k < members.length; ++k) {
            const std::int64_t element = members.first + i * members.stride + k;
            wrong += element <= previous || element >= members.end() ? 1 : 0;
            wrong +=
                expected.at(static_cast<std::size_t>(element)) != static_cast<std::size_t>(group)
                    ? 1
                    : 0;
            previous = element;
            ++seen;
          }
        }
        if (!expected.empty()) wrong += members.end() == previous + 1 ? 0 : 1;
        // What a reader relies on that goes forward only.
        wrong += members.first < first || members.end() < end ? 1 : 0;
        first = members.first;
        end = members.end();
      }
      CHECK(wrong == 0);
      CHECK(seen == expected.size());
    }
  }
}

TEST_CASE("groups: long runs") {
  const auto lengths = [](const Shape& shape, const Granularity& granularity) {
    std::vector<std::size_t> result;
    const Groups groups = Groups::of(shape, granularity).value();
    groups.for_each_run(
        0, static_cast<std::size_t>(groups.element_count()),
        [&](std::size_t, std::size_t, std::size_t length) { result.push_back(length); });
    return result;
  };
  using Lengths = std::vector<std::size_t>;
  CHECK(lengths({2, 7}, Granularity::per_block(1, 4)) == Lengths{4, 3, 4, 3});
  CHECK(lengths({2, 7}, Granularity::per_block(1, 100)) == Lengths{7, 7});
  CHECK(lengths({2, 7}, Granularity::per_block(1, 1)) == Lengths{14});
  CHECK(lengths({3, 7}, Granularity::per_block(0, 2)) == Lengths{7, 7, 7});
  CHECK(lengths({3, 7}, Granularity::per_axis(1)) == Lengths{7, 7, 7});
  CHECK(lengths({3, 7}, Granularity::per_axis(0)) == Lengths{7, 7, 7});
  CHECK(lengths({1, 7, 2}, Granularity::per_axis(0)) == Lengths{14});
}

TEST_CASE("groups: shapes that take no part") {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  // Without elements there are no blocks, however long the other axes are.
  CHECK(Groups::of({0, huge, huge}, Granularity::per_block(1, 32)).value().group_count() == 0);
  CHECK(Groups::of({huge, 0}, Granularity::per_block(1, 32)).value().group_count() == 0);
  CHECK(Groups::of({0, 3}, Granularity::per_axis(1)).value().group_count() == 3);
  CHECK(!Groups::of({0, huge}, Granularity::per_axis(1)));
  CHECK(!Groups::of({huge, huge}, Granularity::per_block(1, 32)));
  CHECK(!Groups::of(Shape(), Granularity::per_tensor()));
  CHECK(!Groups::of(Shape(), Granularity::per_block(0, 32)));
  CHECK(!Groups::of({Extent::open(), 3}, Granularity::per_block(1, 32)));
  CHECK(!Groups::of(test::scalar_shape(), Granularity::per_block(0, 32)));
  // Shapes alone say how many groups there are; nothing of that size is touched.
  const Groups blocks = Groups::of({huge, 1 << 20}, Granularity::per_block(0, 1 << 10)).value();
  CHECK(blocks.group_count() == (huge >> 10) << 20);
  const Members last = blocks.members(blocks.group_count() - 1);
  CHECK(last.end() == blocks.element_count());
  CHECK(last.count == 1 << 10);
}

}  // namespace
}  // namespace quadrant

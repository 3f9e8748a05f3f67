#include "runtime/broadcast.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "shortened.hpp"

using namespace quadrant;

namespace {

// By coordinates: where each element of `shape`, in order, lies in an operand of shape `from`, some
// of whose extents are 1.
std::vector<std::int64_t> places(const Shape& from, const Shape& shape) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < shape.element_count().value(); ++i) {
    std::int64_t rest = i;
    std::int64_t place = 0;
    std::int64_t stride = 1;
    for (std::int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
      const std::int64_t at = rest % shape[axis].value();
      rest /= shape[axis].value();
      place += surely_equal(from[axis], 1) ? 0 : at * stride;
      stride *= from[axis].value();
    }
    found.push_back(place);
  }
  return found;
}

using Strides = std::array<std::vector<std::int64_t>, 2>;
using Places = std::array<std::vector<std::int64_t>, 2>;

Places by_blocks(const Shape& shape, const Strides& strides) {
  Places found;
  for_each_block(
      shape, strides,
      [&](std::int64_t position, const std::array<std::int64_t, 2>& offsets,
          const Block<2>& block) {
        CHECK(static_cast<std::int64_t>(found[0].size()) == position);
        for (std::int64_t row = 0; row < block.rows; ++row) {
          for (std::int64_t i = 0; i < block.length; ++i) {
            for (std::size_t k = 0; k < 2; ++k) {
              found[k].push_back(offsets[k] + row * block.row_steps[k] + i * block.steps[k]);
            }
          }
        }
      });
  return found;
}

Places by_runs(const Shape& shape, const Strides& strides) {
  Places found;
  for_each_run(shape, strides,
               [&](std::int64_t position, const std::array<std::int64_t, 2>& offsets,
                   std::int64_t length, const std::array<std::int64_t, 2>& steps) {
                 CHECK(static_cast<std::int64_t>(found[0].size()) == position);
                 for (std::int64_t i = 0; i < length; ++i) {
                   for (std::size_t k = 0; k < 2; ++k)
                     found[k].push_back(offsets[k] + i * steps[k]);
                 }
               });
  return found;
}

}  // namespace

TEST_CASE("blocks and runs come by each element once, in order, of operands of any shapes") {
  std::mt19937 random(20261126);
  for (int round = 0; round < test::shortened(5000); ++round) {
    std::array<std::vector<std::int64_t>, 2> extents;
    std::vector<std::int64_t> all;
    for (auto rank = random() % 6; rank > 0; --rank) {
      all.push_back(static_cast<std::int64_t>(random() % 16 == 0 ? 0 : 1 + random() % 4));
      for (auto& of_operand : extents) of_operand.push_back(random() % 2 == 0 ? 1 : all.back());
    }
    const Shape shape(all);
    const std::array operands{Shape(extents[0]), Shape(extents[1])};
    const Strides strides{broadcast_strides(operands[0], shape),
                          broadcast_strides(operands[1], shape)};
    const Places expected{places(operands[0], shape), places(operands[1], shape)};
    CAPTURE(to_string(shape));
    CAPTURE(to_string(operands[0]));
    CAPTURE(to_string(operands[1]));
    CHECK(by_blocks(shape, strides) == expected);
    CHECK(by_runs(shape, strides) == expected);
  }
}

TEST_CASE("blocks are as large as the operands' steps allow") {
  const auto count = [](const Shape& a, const Shape& b, const Shape& shape) {
    int blocks = 0;
    for_each_block(
        shape, std::array{broadcast_strides(a, shape), broadcast_strides(b, shape)},
        [&](std::int64_t, const std::array<std::int64_t, 2>&, const Block<2>&) { ++blocks; });
    return blocks;
  };
  CHECK(count({6, 5, 4}, {6, 5, 4}, {6, 5, 4}) == 1);
  CHECK(count({6, 5, 4}, {4}, {6, 5, 4}) == 1);
  CHECK(count({6, 5, 4}, {6, 1, 4}, {6, 5, 4}) == 6);
}

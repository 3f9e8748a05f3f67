// Sums of two products in 16 bits, against the instruction as Intel's manual defines it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "numerics/affine.hpp"
#include "numerics/helpers.hpp"
#include "quadrant/numerics/second_moments.hpp"

namespace quadrant {
namespace {

// VPMADDUBSW on one pair of lanes.
std::int64_t saturated_sum(std::uint8_t a0, std::int8_t w0, std::uint8_t a1, std::int8_t w1) {
  const int sum = int{a0} * int{w0} + int{a1} * int{w1};
  return std::clamp(sum, -32768, 32767);
}

TEST_CASE("a pair is exact if no data saturate it") {
  constexpr std::array<std::uint8_t, 6> data{0, 1, 127, 128, 254, 255};
  for (int first = -128; first <= 127; ++first) {
    for (int second = -128; second <= 127; ++second) {
      bool is_exact = true;
      for (const std::uint8_t a0 : data) {
        for (const std::uint8_t a1 : data) {
          is_exact = is_exact && saturated_sum(a0, static_cast<std::int8_t>(first), a1,
                                               static_cast<std::int8_t>(second)) ==
                                     int{a0} * first + int{a1} * second;
        }
      }
      if (is_exact != is_exact_pair(first, second)) FAIL_CHECK(first << ' ' << second);
    }
  }
}

// Positions of each pair, by walking over coordinates.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const Shape& shape,
                                                          const PairOrder& order) {
  std::map<std::vector<std::int64_t>,
           std::vector<std::pair<std::vector<std::int64_t>, std::size_t>>>
      sums;
  const auto count = static_cast<std::size_t>(shape.element_count().value());
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> at(static_cast<std::size_t>(shape.rank()));
    auto rest = static_cast<std::int64_t>(i);
    for (std::int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
      at[static_cast<std::size_t>(axis)] = rest % shape[axis].value();
      rest /= shape[axis].value();
    }
    std::vector<std::int64_t> place;
    for (const std::int64_t axis : order.along) {
      place.push_back(std::exchange(at[static_cast<std::size_t>(axis)], 0));
    }
    sums[at].emplace_back(place, i);
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (auto& [start, members] : sums) {
    std::ranges::sort(members);
    for (std::size_t i = 0; i + 1 < members.size(); i += 2) {
      pairs.emplace_back(members[i].second, members[i + 1].second);
    }
  }
  return pairs;
}

struct Case {
  Shape shape;
  Granularity granularity;
  std::vector<PairOrder> orders;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {{6, 5}, Granularity::per_axis(1), {{{0}}}},
      {{7, 5}, Granularity::per_axis(1), {{{0}}}},
      {{5, 7}, Granularity::per_axis(0), {{{1}}}},
      {{5, 8}, Granularity::per_tensor(), {{{1}}}},
      {{3, 4, 6}, Granularity::per_axis(2), {{{1}}}},
      {{4, 3, 3, 3}, Granularity::per_axis(0), {{{2, 3, 1}}, {{1}}}},
      {{4, 1, 3, 3}, Granularity::per_axis(0), {{{2, 3, 1}}}},
      {{4, 6, 2, 2}, Granularity::per_axis(1), {{{2, 3, 0}}}},
      {{1, 1}, Granularity::per_axis(1), {{{0}}}},
      {{0, 3}, Granularity::per_axis(1), {{{0}}}},
      {{4, 0}, Granularity::per_axis(1), {{{0}}}},
      {{0, std::int64_t{1} << 40}, Granularity::per_tensor(), {{{0}}}},
  };
  return all;
}

std::size_t scale_index(const Case& each, std::size_t element) {
  if (each.granularity.kind == Granularity::Kind::tensor) return 0;
  return test::groups_of(each.shape, each.granularity)[element];
}

TEST_CASE("scales make pairs exact, and none could be smaller by more than .1 %") {
  std::mt19937 random(20261126);
  for (const Case& each : cases()) {
    CAPTURE(to_string(each.shape));
    const auto count = static_cast<std::size_t>(each.shape.element_count().value());
    for (const float start : {0.0F, 0.5F, 0.9F}) {
      const auto values = test::random_values(count, static_cast<unsigned>(random()));
      const Constant weights = test::float_constant(each.shape, values);
      const auto number = static_cast<std::size_t>(
          parameter_shape(each.shape, each.granularity).element_count().value());
      std::vector<float> largest(number);
      for (std::size_t i = 0; i < count; ++i) {
        float& most = largest[scale_index(each, i)];
        most = std::max(most, std::abs(values[i]));
      }
      // Of nothing clipped; and of a search that clips.
      std::vector<float> scales;
      for (const float most : largest) {
        scales.push_back(std::max((start == 0 ? 1 : start) * most / 127, 1e-30F));
      }
      const std::vector<float> found =
          exact_pair_scales(weights, each.granularity, scales, -127, 127, each.orders).value();
      REQUIRE(found.size() == number);
      std::vector<bool> is_needed(number);
      for (const PairOrder& order : each.orders) {
        for (const auto& [first, second] : pairs_of(each.shape, order)) {
          const std::size_t group = scale_index(each, first);
          const auto is_exact = [&](float scale) {
            return is_exact_pair(quantize_value(values[first], scale, 0, -127, 127),
                                 quantize_value(values[second], scale, 0, -127, 127));
          };
          CHECK(is_exact(found[group]));
          if (!is_exact(found[group] * 0.998F)) is_needed[group] = true;
        }
      }
      for (std::size_t i = 0; i < number; ++i) {
        CHECK(found[i] >= scales[i]);
        if (found[i] > scales[i]) CHECK((is_needed[i] || found[i] == largest[i] / 64));
      }
    }
  }
}

TEST_CASE("where the order is not known, any two are exact") {
  for (const Granularity& granularity : {Granularity::per_tensor(), Granularity::per_axis(1)}) {
    const Case each{{9, 5}, granularity, {}};
    const auto values = test::random_values(45, 7);
    const std::vector<PairOrder> unknown(1);
    const std::size_t number = granularity.kind == Granularity::Kind::tensor ? 1 : 5;
    const std::vector<float> found =
        exact_pair_scales(test::float_constant(each.shape, values), granularity,
                          std::vector<float>(number, 0.01F), -127, 127, unknown)
            .value();
    std::vector<bool> is_needed(number);
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        const std::size_t group = scale_index(each, i);
        if (scale_index(each, k) != group) continue;
        const auto is_exact = [&](float scale) {
          return is_exact_pair(quantize_value(values[i], scale, 0, -127, 127),
                               quantize_value(values[k], scale, 0, -127, 127));
        };
        CHECK(is_exact(found[group]));
        if (!is_exact(found[group] * 0.998F)) is_needed[group] = true;
      }
    }
    for (std::size_t i = 0; i < number; ++i) {
      float largest = 0;
      for (std::size_t k = 0; k < values.size(); ++k) {
        if (scale_index(each, k) == i) largest = std::max(largest, std::abs(values[k]));
      }
      CHECK((found[i] == 0.01F || is_needed[i] || found[i] == largest / 64));
    }
  }
}

TEST_CASE("of few values, half of the range may lose nothing") {
  const std::vector<float> values{1, -1, 1, 1, -1, -1, -1, 1};
  const std::vector<PairOrder> rows{{{0}}};
  const std::vector<float> scales{1.0F / 127};
  const auto found = exact_pair_scales(test::float_constant(Shape{8, 1}, values),
                                       Granularity::per_tensor(), scales, -127, 127, rows);
  CHECK(found.value() == std::vector<float>{1.0F / 64});
}

TEST_CASE("inexact pairs are counted") {
  std::mt19937 random(3);
  for (const Case& each : cases()) {
    CAPTURE(to_string(each.shape));
    std::vector<std::int8_t> codes(static_cast<std::size_t>(each.shape.element_count().value()));
    for (std::int8_t& code : codes) code = static_cast<std::int8_t>(random());
    const Constant constant = Constant::from_vector(ElementType::int8, each.shape, codes);
    for (const PairOrder& order : each.orders) {
      PairCount expected;
      for (const auto& [first, second] : pairs_of(each.shape, order)) {
        ++expected.pairs;
        expected.inexact += is_exact_pair(codes[first], codes[second]) ? 0U : 1U;
      }
      CHECK(count_inexact_pairs(constant, order).value() == expected);
    }
  }
}

TEST_CASE("what has no pairs of one scale is refused") {
  const Constant weights = test::float_constant({4, 4}, test::random_values(16, 1));
  const std::vector<PairOrder> rows{{{0}}};
  const auto refused = [&](const Granularity& granularity, std::size_t scales,
                           const std::vector<PairOrder>& orders) {
    const auto result = exact_pair_scales(weights, granularity, std::vector<float>(scales, 1.0F),
                                          -127, 127, orders);
    return !result && result.error().code == ErrorCode::impossible;
  };
  CHECK(refused(Granularity::per_axis(0), 4, rows));
  CHECK(refused(Granularity::per_axis(2), 4, rows));
  CHECK(refused(Granularity::per_axis(1), 3, rows));
  CHECK(refused(Granularity::per_block(0, 2), 8, rows));
  CHECK(refused(Granularity::per_axis(1), 4, {{{2}}}));
  CHECK(refused(Granularity::per_tensor(), 1, {{{0, 0}}}));
  CHECK_FALSE(refused(Granularity::per_axis(1), 4, rows));
  CHECK_FALSE(count_inexact_pairs(weights, rows.front()).has_value());
}

TEST_CASE("weights that are not finite are left alone") {
  const Constant weights = test::float_constant(Shape{2, 1}, std::vector<float>{std::nanf(""), 3});
  const std::vector<PairOrder> rows{{{0}}};
  CHECK(exact_pair_scales(weights, Granularity::per_tensor(), {1e-3F}, -127, 127, rows).value() ==
        std::vector<float>{1e-3F});
}

}  // namespace
}  // namespace quadrant

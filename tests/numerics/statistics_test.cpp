#include "quadrant/numerics/statistics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "numerics/helpers.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "tensor_values.hpp"

namespace quadrant {
namespace {

using test::floats;
using test::infinity;

Tensor random_tensor(Shape shape, unsigned seed) {
  const auto count = static_cast<std::size_t>(shape.element_count().value());
  return Tensor::from_values<float>(ElementType::float32, std::move(shape),
                                    test::random_values(count, seed));
}

// Part `i` of `n` along the first axis.
Tensor batch(const Tensor& tensor, std::int64_t i) {
  std::vector<std::int64_t> extents(tensor.extents().begin(), tensor.extents().end());
  const auto size = static_cast<std::size_t>(tensor.element_count() / extents[0]);
  extents[0] = 1;
  return Tensor::from_values<float>(
      ElementType::float32, Shape(extents),
      tensor.as<float>().subspan(static_cast<std::size_t>(i) * size, size));
}

TensorStatistics statistics_of(const std::vector<Tensor>& tensors,
                               std::optional<std::int64_t> axis = {}) {
  TensorStatistics statistics(axis);
  for (const Tensor& tensor : tensors) statistics.add(tensor);
  return statistics;
}

TEST_CASE("statistics: by hand") {
  const TensorStatistics statistics = statistics_of({floats({2}, {1, -3}), floats({2}, {0, 8})});
  CHECK(statistics.samples == 2);
  CHECK(statistics.histogram.finite_count() == 4);
  CHECK(statistics.histogram.min() == -3);
  CHECK(statistics.histogram.max() == 8);
  CHECK(statistics.mean() == 1.5);
  CHECK_FALSE(statistics.by_channel.has_value());
  CHECK(TensorStatistics().mean() == 0);
}

TEST_CASE("statistics: of a range that is known") {
  const auto known = TensorStatistics::from_range(-1.5F, 4);
  REQUIRE(known.has_value());
  CHECK(known->histogram.min() == -1.5F);
  CHECK(known->histogram.max() == 4);
  CHECK(known->mean() == 1.25);
  CHECK(known->histogram.memory() == 0);
  // An encoding by range is that of the data of which these are the ends.
  const auto seen = statistics_of({floats(Shape{4}, {-1.5F, 0.25F, 1, 4})});
  const auto of_known =
      find_encoding(known->histogram.min(), known->histogram.max(), EncodingRule::onnx());
  const auto of_seen = find_encoding(seen.histogram.values(), -1.5, 4, EncodingRule::onnx());
  REQUIRE(of_known.has_value());
  CHECK(of_known->scale == doctest::Approx(5.5 / 255));
  CHECK(*of_known == *of_seen);
  CHECK(TensorStatistics::from_range(2, 2).has_value());
  for (const auto& [low, high] : {std::pair(2.F, 1.F), {-infinity, 1.F}, {0.F, std::nanf("")}}) {
    const auto refused = TensorStatistics::from_range(low, high);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::usage);
  }
}

TEST_CASE("statistics: NaN and infinity spoil nothing else") {
  const TensorStatistics statistics =
      statistics_of({floats({1, 4}, {1, std::nanf(""), infinity, 2})}, 1);
  CHECK(statistics.mean() == 1.5);
  CHECK(statistics.histogram.max() == 2);
  REQUIRE(statistics.by_channel->channels.size() == 4);
  CHECK(statistics.by_channel->channels[0].mean() == 1);
  CHECK(statistics.by_channel->channels[1] == ChannelStatistics());
  CHECK(statistics.by_channel->channels[2] == ChannelStatistics());
  CHECK(statistics.by_channel->channels[3].mean() == 2);
}

TEST_CASE("statistics: a mean never lies outside of the range") {
  for (const float value : {0.1F, -0.1F, 1e-45F, 3e38F}) {
    for (const std::size_t count : {3U, 7U, 49U, 1000U}) {
      TensorStatistics statistics;
      statistics.add(Tensor::from_values<float>(
          ElementType::float32, {static_cast<std::int64_t>(count)}, std::vector(count, value)));
      CHECK(statistics.mean() == static_cast<double>(value));
    }
  }
}

TEST_CASE("statistics: every float type") {
  const std::vector<float> values{-1.5F, 0.0F, 0.25F, 3.0F};  // exact in all of them
  const TensorStatistics expected =
      statistics_of({Tensor::from_values<float>(ElementType::float32, {4}, values)}, 0);
  for (const ElementType element :
       {ElementType::float16, ElementType::bfloat16, ElementType::float64}) {
    const Constant constant = test::float_constant(element, {4}, values);
    CHECK(statistics_of({Tensor::from_constant(constant).value()}, 0) == expected);
  }
}

TEST_CASE("statistics: a batch of samples is the samples") {
  for (const std::optional<std::int64_t> axis :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(1),
        std::optional<std::int64_t>(-1)}) {
    const Tensor whole = random_tensor({7, 3, 5, 11}, 1);
    TensorStatistics parts(axis);
    for (const std::int64_t i : {3, 0, 6, 5, 1, 2, 4}) parts.add(batch(whole, i));
    CHECK(parts.samples == 7);
    parts.samples = 1;
    CHECK(parts == statistics_of({whole}, axis));
  }
}

TEST_CASE("statistics: neither order nor parts matter") {
  std::mt19937 random(3);
  std::vector<Tensor> tensors;
  for (unsigned i = 0; i < 20; ++i) tensors.push_back(random_tensor({2, 4, 6}, i));
  const TensorStatistics whole = statistics_of(tensors, 1);
  for (int round = 0; round < 10; ++round) {
    std::ranges::shuffle(tensors, random);
    CHECK(statistics_of(tensors, 1) == whole);
    const auto cut = tensors.begin() + static_cast<std::ptrdiff_t>(random() % tensors.size());
    TensorStatistics last = statistics_of({cut, tensors.end()}, 1);
    last.merge(statistics_of({tensors.begin(), cut}, 1));
    CHECK(last == whole);
  }
}

TEST_CASE("channels: as loops over all indices count") {
  // Many and few channels, long and short runs, on each axis.
  for (const Shape& shape : {Shape{3, 4, 5}, Shape{1, 3, 40, 50}, Shape{50, 40, 2}, Shape{6}}) {
    const Tensor tensor = random_tensor(shape, 8);
    const auto values = tensor.as<float>();
    const std::vector<std::int64_t> strides = shape.strides();
    for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
      CAPTURE(to_string(shape));
      CAPTURE(axis);
      const TensorStatistics statistics = statistics_of({tensor}, axis);
      CHECK(statistics_of({tensor}, axis - shape.rank()).by_channel->channels ==
            statistics.by_channel->channels);
      REQUIRE(statistics.by_channel->channels.size() ==
              static_cast<std::size_t>(shape[axis].value()));
      for (std::int64_t channel = 0; channel < shape[axis].value(); ++channel) {
        std::vector<float> expected;
        for (std::size_t i = 0; i < values.size(); ++i) {
          const std::int64_t index = static_cast<std::int64_t>(i) /
                                     strides[static_cast<std::size_t>(axis)] % shape[axis].value();
          if (index == channel) expected.push_back(values[i]);
        }
        const ChannelStatistics& actual =
            statistics.by_channel->channels[static_cast<std::size_t>(channel)];
        CHECK(actual.count == expected.size());
        CHECK(actual.min == std::ranges::min(expected));
        CHECK(actual.max == std::ranges::max(expected));
        const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
        CHECK(actual.sum.value() == doctest::Approx(sum).epsilon(1e-12));
        CHECK(actual.mean() ==
              doctest::Approx(sum / static_cast<double>(expected.size())).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("channels: an extent that varies leaves none, in any order") {
  const Tensor two = random_tensor({4, 2}, 1);
  const Tensor three = random_tensor({4, 3}, 2);
  const Tensor flat = random_tensor({4}, 3);
  std::vector<Tensor> tensors{two, three, two};
  const TensorStatistics expected = statistics_of(tensors, 1);
  CHECK(expected.by_channel->is_varying);
  CHECK(expected.by_channel->channels.empty());
  CHECK(expected.samples == 3);
  CHECK(statistics_of({three, two, two}, 1) == expected);
  TensorStatistics merged = statistics_of({two, two}, 1);
  merged.merge(statistics_of({three}, 1));
  CHECK(merged == expected);
  CHECK(statistics_of({two, flat}, 1).by_channel->is_varying);
  CHECK(statistics_of({flat, two}, 1).by_channel->is_varying);
  CHECK_FALSE(statistics_of({two, two}, 1).by_channel->is_varying);
  // Nothing is no other extent.
  TensorStatistics none(1);
  none.merge(statistics_of({two}, 1));
  CHECK(none == statistics_of({two}, 1));
  none.merge(TensorStatistics(1));
  CHECK(none == statistics_of({two}, 1));
}

TEST_CASE("channels: of different axes are not mixed") {
  const Tensor tensor = random_tensor({3, 3}, 1);
  TensorStatistics statistics = statistics_of({tensor}, 1);
  statistics.merge(statistics_of({tensor}, 0));
  CHECK_FALSE(statistics.by_channel.has_value());
  CHECK(statistics == statistics_of({tensor, tensor}));
}

TEST_CASE("channels: of a tensor without elements") {
  const TensorStatistics statistics = statistics_of({random_tensor({0, 3, 2}, 1)}, 1);
  CHECK(statistics.samples == 1);
  CHECK(statistics.histogram == Histogram());
  REQUIRE(statistics.by_channel->channels.size() == 3);
  CHECK(statistics.by_channel->channels[2] == ChannelStatistics());
}

TEST_CASE("tables: merged by name") {
  StatisticsTable first{"a model", 1, {}};
  first.values.emplace("x", statistics_of({floats({1}, {1})}));
  first.values.emplace("y", statistics_of({floats({1}, {2})}));
  StatisticsTable second{"another", 2, {}};
  second.values.emplace("y", statistics_of({floats({1}, {4}), floats({1}, {6})}));
  second.values.emplace("z", statistics_of({floats({1}, {5})}));
  first.merge(second);
  CHECK(first.model == "a model");
  CHECK(first.samples == 3);
  REQUIRE(first.find("y") != nullptr);
  CHECK(first.find("y")->mean() == 4);
  CHECK(first.find("z")->mean() == 5);
  CHECK(first.find("none") == nullptr);
  StatisticsTable empty;
  empty.merge(second);
  CHECK(empty == second);
}

}  // namespace
}  // namespace quadrant

#include <doctest/doctest.h>

#include "calibration/helpers.hpp"
#include "quadrant/calibration/compare.hpp"

using namespace quadrant;
using test::not_a_number;

namespace {

Tensor scores(Shape shape, const std::vector<float>& values) {
  return Tensor::from_values<float>(ElementType::float32, std::move(shape), values);
}

}  // namespace

TEST_CASE("the class on top, and among the five") {
  const Tensor tensor = scores({2, 6}, {0, 1, 2, 3, 4, 5, 9, 8, 7, 6, 5, 4});
  ClassificationScore score;
  REQUIRE(add_scores(score, tensor, std::vector<std::int64_t>{5, 1}));
  CHECK(score == ClassificationScore{.rows = 2, .top1 = 1, .top5 = 2});
  REQUIRE(add_scores(score, tensor, std::vector<std::int64_t>{0, 5}));  // both sixth
  CHECK(score == ClassificationScore{.rows = 4, .top1 = 1, .top5 = 2});
  CHECK(score.top1_share() == 0.25);
  CHECK(score.top5_share() == 0.5);
}

TEST_CASE("of equal scores the first is the higher, and NaN is the lowest") {
  const Tensor tensor = scores({1, 3}, {2, 2, not_a_number});
  CHECK(*top_classes(tensor) == std::vector<std::int64_t>{0});
  ClassificationScore second;
  REQUIRE(add_scores(second, tensor, std::vector<std::int64_t>{1}));
  CHECK(second.top1 == 0);
  CHECK(*top_classes(scores({2, 2}, {not_a_number, 1, not_a_number, not_a_number})) ==
        std::vector<std::int64_t>{1, -1});
}

TEST_CASE("negative labels are passed over") {
  ClassificationScore score;
  REQUIRE(add_scores(score, scores({2, 2}, {1, 0, 1, 0}), std::vector<std::int64_t>{-1, 0}));
  CHECK(score == ClassificationScore{.rows = 1, .top1 = 1, .top5 = 1});
}

TEST_CASE("labels that do not fit are refused") {
  ClassificationScore score;
  const Tensor tensor = scores({2, 2}, {1, 0, 1, 0});
  const auto few = add_scores(score, tensor, std::vector<std::int64_t>{0});
  REQUIRE(!few);
  CHECK(few.error().code == ErrorCode::usage);
  CHECK(few.error().message == "1 labels for 2 rows of scores of shape [2x2]");
  const auto beyond = add_scores(score, tensor, std::vector<std::int64_t>{0, 2});
  REQUIRE(!beyond);
  CHECK(beyond.error().message == "label 2, where the scores are of classes 0 to 1");
}

TEST_CASE("rows lie along the last axis") {
  CHECK(row_count(scores({2, 3, 4}, std::vector<float>(24))) == 6);
  CHECK(row_count(scores({2, 0}, {})) == 0);
  CHECK(row_count(scores(Shape::scalar(), {1})) == 0);
}

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "quadrant/calibration/compare.hpp"

using namespace quadrant;

namespace {

Detection at(std::size_t sample, double x, double score = 1, std::int64_t label = 0) {
  return {sample, label, score, {x, 0, x + 10, 10}};
}

}  // namespace

TEST_CASE("overlap is intersection by union") {
  CHECK(intersection_over_union({0, 0, 2, 2}, {0, 0, 2, 2}) == 1);
  CHECK(intersection_over_union({0, 0, 2, 2}, {1, 0, 3, 2}) == doctest::Approx(1.0 / 3));
  CHECK(intersection_over_union({0, 0, 2, 2}, {2, 0, 4, 2}) == 0);
  CHECK(intersection_over_union({0, 0, 0, 2}, {0, 0, 0, 2}) == 0);
}

TEST_CASE("of those that overlap the best stays, for each sample and label") {
  const std::vector<Detection> all{at(0, 0, 0.5), at(0, 1, 0.9), at(0, 20, 0.1), at(1, 0, 0.2),
                                   at(0, 0, 0.3, 7)};
  const auto kept = suppress_overlaps(all, 0.5);
  std::vector<double> scores;
  for (const Detection& detection : kept) scores.push_back(detection.score);
  CHECK(scores == std::vector<double>{0.9, 0.1, 0.2, 0.3});
  CHECK(suppress_overlaps(all, 1).size() == 5);
}

TEST_CASE("precision of a detector that finds all, half, and what is not there") {
  const std::vector<Detection> objects{at(0, 0), at(1, 0)};
  CHECK(mean_average_precision(objects, objects, 0.5) == 1);
  CHECK(mean_average_precision(objects, objects) == 1);
  // Recall 0.5 is reached: 51 of the 101 recalls (0 to 0.5) have precision 1.
  CHECK(mean_average_precision(objects, std::vector{at(0, 0)}, 0.5) == doctest::Approx(51.0 / 101));
  // A false one in front: precisions 1/2 and 2/3 behind it; the monotone curve is 2/3 throughout.
  const std::vector<Detection> detections{at(0, 50, 0.9), at(0, 0, 0.8), at(1, 0, 0.7)};
  CHECK(mean_average_precision(objects, detections, 0.5) == doctest::Approx(2.0 / 3));
  CHECK(mean_average_precision(objects, {}, 0.5) == 0);
  CHECK(mean_average_precision({}, detections, 0.5) == 0);
}

TEST_CASE("an object is found once, by the better one") {
  const std::vector<Detection> objects{at(0, 0)};
  // Precisions 1, 1/2: recall 1 is reached with the first.
  CHECK(mean_average_precision(objects, std::vector{at(0, 0, 0.9), at(0, 1, 0.8)}, 0.5) == 1);
}

TEST_CASE("a detection counts where it overlaps enough") {
  const std::vector<Detection> objects{at(0, 0)};
  const std::vector<Detection> shifted{at(0, 2)};  // overlap 8 / 12
  CHECK(mean_average_precision(objects, shifted, 0.65) == 1);
  CHECK(mean_average_precision(objects, shifted, 0.7) == 0);
  CHECK(mean_average_precision(objects, shifted) == doctest::Approx(0.4));  // at 0.5 0.55 0.6 0.65
}

TEST_CASE("labels count alike, and others' detections do not") {
  const std::vector<Detection> objects{at(0, 0, 1, 3), at(0, 20, 1, 4)};
  CHECK(mean_average_precision(objects, std::vector{at(0, 0, 1, 3)}, 0.5) == 0.5);
  CHECK(mean_average_precision(objects, std::vector{at(0, 0, 1, 3), at(0, 20, 1, 5)}, 0.5) == 0.5);
}

TEST_CASE("scores matter by their order alone, and the order of detections does not") {
  std::mt19937 random(7);
  std::vector<Detection> objects;
  std::vector<Detection> detections;
  for (std::size_t i = 0; i < 60; ++i) {
    const auto x = static_cast<double>(random() % 200);
    objects.push_back(at(i % 5, x, 1, static_cast<std::int64_t>(i % 3)));
    detections.push_back(at(i % 5, x + static_cast<double>(random() % 6),
                            static_cast<double>(i) / 60, static_cast<std::int64_t>(i % 3)));
  }
  const double before = mean_average_precision(objects, detections);
  CHECK(before > 0);
  CHECK(before < 1);
  std::shuffle(detections.begin(), detections.end(), random);
  for (Detection& detection : detections) detection.score = detection.score * detection.score;
  CHECK(mean_average_precision(objects, detections) == doctest::Approx(before));
}

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "calibration/memory_data.hpp"
#include "quadrant/calibration/calibrate.hpp"

using namespace quadrant;

TEST_CASE("each sample is in one part, and parts are of about one size") {
  for (const std::size_t size : std::array<std::size_t, 4>{0, 1, 5, 24}) {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < size; ++i) {
      samples.push_back(sample_of(Shape{1}, {static_cast<float>(i)}));
    }
    const MemoryData data(std::move(samples));
    for (std::size_t count = 1; count <= 7; ++count) {
      std::vector<std::string> names;
      for (std::size_t index = 0; index < count; ++index) {
        const auto part = part_of(data, {index, count});
        CHECK(part->size() >= size / count);
        CHECK(part->size() <= (size + count - 1) / count);
        for (std::size_t i = 0; i < part->size(); ++i) {
          names.push_back(part->name(i));
          const float value = part->sample(i)->inputs[0].as<float>()[0];
          CHECK("sample " + std::to_string(static_cast<int>(value)) == names.back());
        }
      }
      std::ranges::sort(names);
      CHECK(std::ranges::adjacent_find(names) == names.end());
      CHECK(names.size() == size);
    }
  }
}

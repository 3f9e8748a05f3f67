#include "pipeline/sample_parts.hpp"

#include <array>
#include <numeric>
#include <utility>

namespace quadrant::inline v0 {

std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

SampleParts part_samples(std::size_t count) {
  if (count < 2) return {.folds = {{all_of(count), all_of(count)}}};
  std::vector<std::size_t> one;
  std::vector<std::size_t> other;
  std::vector<std::size_t> held_back;
  const std::array turns{&one, &other, &one, &held_back, &other, &one, &other, &held_back};
  for (std::size_t i = 0; i < count; ++i) turns[i % turns.size()]->push_back(i);
  return {.folds = {{one, other}, {other, one}}, .held_back = std::move(held_back)};
}

std::optional<std::vector<std::int64_t>> labels_of(const std::vector<std::int64_t>& labels,
                                                   std::size_t samples,
                                                   const std::vector<std::size_t>& chosen) {
  if (samples == 0 || labels.size() % samples != 0) return std::nullopt;
  const std::size_t each = labels.size() / samples;
  std::vector<std::int64_t> made;
  made.reserve(chosen.size() * each);
  for (const std::size_t sample : chosen) {
    const auto first = labels.begin() + static_cast<std::ptrdiff_t>(sample * each);
    made.insert(made.end(), first, first + static_cast<std::ptrdiff_t>(each));
  }
  return made;
}

}  // namespace quadrant::inline v0

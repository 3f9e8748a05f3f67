#include "numerics/magnitudes.hpp"

#include <algorithm>

namespace quadrant::inline v0 {

void Magnitudes::clear() noexcept {
  magnitudes_.clear();
  tails_.clear();
}

// The count waits where its tail will be.
void Magnitudes::append(double magnitude, double count) {
  magnitudes_.push_back(magnitude);
  tails_.push_back({.count = count});
}

void Magnitudes::finish() {
  tails_.emplace_back();
  Tail tail;
  for (std::size_t i = magnitudes_.size(); i-- > 0;) {
    const double count = tails_[i].count;
    const double magnitude = magnitudes_[i];
    tail.count += count;
    tail.sum += count * magnitude;
    tail.power += count * magnitude * magnitude;
    tails_[i] = tail;
  }
}

std::size_t Magnitudes::first_above(double bound, std::size_t start) const noexcept {
  std::size_t low = start;
  std::size_t step = 1;
  while (low + step <= magnitudes_.size() && magnitudes_[low + step - 1] <= bound) {
    low += step;
    step *= 2;
  }
  const auto from = magnitudes_.begin() + static_cast<std::ptrdiff_t>(low);
  const auto to = magnitudes_.begin() +
                  static_cast<std::ptrdiff_t>(std::min(low + step - 1, magnitudes_.size()));
  return static_cast<std::size_t>(std::upper_bound(from, to, bound) - magnitudes_.begin());
}

Magnitudes::Moments Magnitudes::moments(double scale, std::int64_t limit) const noexcept {
  const auto levels = static_cast<double>(limit);
  Moments moments;
  constexpr std::size_t cost_of_a_look = 8;
  if (static_cast<std::size_t>(limit) * cost_of_a_look < magnitudes_.size()) {
    // Above the bound between codes k and k + 1, each value's code has grown by one.
    std::size_t at = 0;
    for (double code = 0; code < levels && at < magnitudes_.size(); ++code) {
      at = first_above(scale * (code + 0.5), at);
      moments.a += tails_[at].sum;
      moments.b += (2 * code + 1) * tails_[at].count;
    }
    return moments;
  }
  const double inverse = 1 / scale;
  for (std::size_t i = 0; i < magnitudes_.size(); ++i) {
    const double nearest = std::min(magnitudes_[i] * inverse + 0.5, levels);
    const auto code = static_cast<double>(static_cast<std::int32_t>(nearest));
    const double weighted = code * (tails_[i].count - tails_[i + 1].count);
    moments.a += weighted * magnitudes_[i];
    moments.b += weighted * code;
  }
  return moments;
}

}  // namespace quadrant::inline v0

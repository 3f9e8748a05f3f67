// Softmax of a few numbers, in place.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace quadrant::inline v0::interpreted {

/// e^x / sum of e^x. Nothing overflows: the largest becomes e^0.
template <class T>
void to_softmax(std::span<T> x) {
  if (x.empty()) return;
  const T largest = *std::ranges::max_element(x);
  double sum = 0;
  for (T& value : x) {
    value = std::exp(value - largest);
    sum += value;
  }
  for (T& value : x) value = static_cast<T>(value / sum);
}

/// The logarithm of that.
template <class T>
void to_log_softmax(std::span<T> x) {
  if (x.empty()) return;
  const T largest = *std::ranges::max_element(x);
  double sum = 0;
  for (const T value : x) sum += std::exp(value - largest);
  const double log_sum = std::log(sum);
  for (T& value : x) value = static_cast<T>(value - largest - log_sum);
}

}  // namespace quadrant::inline v0::interpreted

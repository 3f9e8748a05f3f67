#include "quadrant/numerics/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quadrant/support/assert.hpp"

namespace quadrant::inline v0 {

namespace {

template <class T>
void add_pairs(Agreement& sums, std::span<const T> signal, std::span<const T> approximation) {
  QUADRANT_ASSERT(signal.size() == approximation.size());
  for (std::size_t i = 0; i < signal.size(); ++i) {
    const auto s = static_cast<double>(signal[i]);
    const auto a = static_cast<double>(approximation[i]);
    ++sums.elements;
    if (s == a || (std::isnan(s) && std::isnan(a))) ++sums.equal;
    if (!std::isfinite(s) || !std::isfinite(a)) {
      if (s != a && !(std::isnan(s) && std::isnan(a))) ++sums.non_finite;
      continue;
    }
    sums.signal += s * s;
    sums.approximation += a * a;
    sums.product += s * a;
    sums.noise += (s - a) * (s - a);
    sums.largest_error = std::max(sums.largest_error, std::abs(s - a));
  }
}

}  // namespace

void Agreement::add(std::span<const float> signal_values, std::span<const float> approximations) {
  add_pairs(*this, signal_values, approximations);
}

void Agreement::add(std::span<const double> signal_values, std::span<const double> approximations) {
  add_pairs(*this, signal_values, approximations);
}

void Agreement::merge(const Agreement& other) {
  elements += other.elements;
  equal += other.equal;
  non_finite += other.non_finite;
  signal += other.signal;
  approximation += other.approximation;
  product += other.product;
  noise += other.noise;
  largest_error = std::max(largest_error, other.largest_error);
}

double Agreement::sqnr_db() const noexcept {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (noise == 0) return infinity;
  return signal == 0 ? -infinity : 10 * std::log10(signal / noise);
}

double Agreement::cosine() const noexcept {
  if (signal == 0 && approximation == 0) return 1;
  if (signal == 0 || approximation == 0) return 0;
  return product / (std::sqrt(signal) * std::sqrt(approximation));
}

}  // namespace quadrant::inline v0

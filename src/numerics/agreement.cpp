#include <algorithm>
#include <cmath>
#include <limits>

#include "quadrant/numerics/statistics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

namespace {

template <class T>
void add_pairs(Agreement& sums, std::span<const T> signal, std::span<const T> approximation) {
  QUADRANT_ASSERT(signal.size() == approximation.size());
  for (std::size_t i = 0; i < signal.size(); ++i) {
    const auto s = static_cast<double>(signal[i]);
    const auto a = static_cast<double>(approximation[i]);
    ++sums.elements;
    if (std::isnan(s)) ++sums.nan;
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

double non_finite_share(const Agreement& sums) {
  if (sums.non_finite == 0) return 0;
  return static_cast<double>(sums.non_finite) / static_cast<double>(sums.elements);
}

// Of doubles whose squares overflow nothing is known: the worst.
double known_sqnr(const Agreement& sums) {
  const double value = sums.sqnr_db();
  return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
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
  nan += other.nan;
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

bool Agreement::is_possible() const noexcept {
  constexpr double slack = 1e-6;  // enough for the sums of any tensor
  constexpr double least = std::numeric_limits<double>::min();
  if (equal > elements || non_finite > elements - equal) return false;
  if (nan > equal + non_finite) return false;
  if (signal < 0 || approximation < 0 || noise < 0 || largest_error < 0) return false;
  const double powers = signal + approximation;
  if (std::isinf(powers)) return true;
  // (s - a)^2 = s^2 + a^2 - 2 s a
  if (std::abs(powers - 2 * product - noise) > slack * powers + least) return false;
  const double largest = largest_error * largest_error;
  const auto differing = static_cast<double>(elements - equal - non_finite);
  return largest <= noise && noise <= differing * largest * (1 + slack);
}

bool worse_than(const Agreement& a, const Agreement& b) noexcept {
  const double a_share = non_finite_share(a);
  const double b_share = non_finite_share(b);
  return a_share != b_share ? a_share > b_share : known_sqnr(a) < known_sqnr(b);
}

}  // namespace quadrant::inline v0

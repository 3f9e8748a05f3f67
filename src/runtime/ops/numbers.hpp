// Arithmetic of elements that is defined for all numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace quadrant::inline v0::interpreted {

/// False for integers.
template <class T>
[[nodiscard]] constexpr bool is_nan(T value) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return value != value;
  } else {
    return false;
  }
}

// --- sums and products ---------------------------------------------------------------------------

// Integers wrap around, as ONNX Runtime's and numpy's do: computed as unsigned numbers, where that
// is defined, and wide enough that nothing is promoted to a signed type.
template <class T>
using Unsigned = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <class T>
[[nodiscard]] constexpr T wrapping_add(T a, T b) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  }
}

template <class T>
[[nodiscard]] constexpr T wrapping_subtract(T a, T b) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return a - b;
  } else {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  }
}

template <class T>
[[nodiscard]] constexpr T wrapping_multiply(T a, T b) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else {
    return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
  }
}

/// What sums and products of many elements are accumulated in: double for reals, so that a float32
/// result is rounded about once; 64 bits for integers, whose lower bits are those of a narrow
/// result that wraps around.
template <class T>
using Wide =
    std::conditional_t<std::is_floating_point_v<T>, double,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

template <class T>
[[nodiscard]] T magnitude(T value) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fabs(value);
  } else {
    return value < 0 ? wrapping_subtract<T>(0, value) : value;
  }
}

// --- the larger of two ---------------------------------------------------------------------------

/// NaN where either is.
template <class T>
[[nodiscard]] constexpr T larger(T a, T b) noexcept {
  return a < b || is_nan(b) ? b : a;
}

/// NaN where either is.
template <class T>
[[nodiscard]] constexpr T smaller(T a, T b) noexcept {
  return b < a || is_nan(b) ? b : a;
}

// --- from one type to another --------------------------------------------------------------------

/// As ONNX casts: reals to integers towards zero, integers to narrower ones modulo their range.
/// What is undefined there saturates, and NaN becomes 0.
template <class To, class From>
[[nodiscard]] constexpr To converted(From value) noexcept {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Limits = std::numeric_limits<To>;
    // One above the largest is a power of 2, which every float holds; the largest may not be.
    constexpr auto half = Limits::max() / 2 + 1;
    constexpr From above = static_cast<From>(half) * 2;
    if (is_nan(value)) return 0;
    if (value >= above) return Limits::max();
    if (value <= static_cast<From>(Limits::min())) return Limits::min();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace quadrant::inline v0::interpreted

#include "calibration/data_set_convert.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "calibration/reals.hpp"
#include "ir/float16.hpp"

namespace quadrant::inline v0::data_set {
namespace {

/// Up to here doubles count one by one.
constexpr double last_counted = 0x1p53;

/// The float32 next to `value` that is exact, or has an odd last bit: rounded again, to a type of
/// 16 bits, it gives what rounding `value` in one step would.
float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;
  return std::bit_cast<float>(bits | 1U);
}

// How each type holds a number: `round` gives the nearest that it has, `widen` is what that means.

struct Float64 {
  using Held = double;
  static Held round(double value) { return value; }
  static double widen(Held held) { return held; }
};

struct Float32 {
  using Held = float;
  static Held round(double value) { return static_cast<float>(value); }
  static double widen(Held held) { return held; }
};

struct Float16 {
  using Held = std::uint16_t;
  static Held round(double value) { return round_to_float16(round_to_odd(value)); }
  static double widen(Held held) { return widen_float16(held); }
};

struct Bfloat16 {
  using Held = std::uint16_t;
  static Held round(double value) { return round_to_bfloat16(round_to_odd(value)); }
  static double widen(Held held) { return widen_bfloat16(held); }
};

template <class T, std::int64_t min, std::int64_t max>
struct Integer {
  using Held = T;
  static Held round(double value) {
    if (std::isnan(value)) return 0;
    return static_cast<T>(std::clamp(value, static_cast<double>(min), static_cast<double>(max)));
  }
  static double widen(Held held) { return static_cast<double>(held); }
};
constexpr auto most = static_cast<std::int64_t>(last_counted);

template <class To>
Expected<Tensor> rounded(const Tensor& tensor, std::span<const double> values,
                         ElementType element) {
  QUADRANT_TRY(Tensor result, Tensor::make(element, tensor.shape()));
  const auto out = result.fill<typename To::Held>();
  const bool may_round = is_float(tensor.element()) && is_float(element);
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = To::round(values[i]);
    const double kept = To::widen(out[i]);
    const bool fits = may_round ? std::isfinite(kept) || !std::isfinite(values[i])
                                : kept == values[i] && std::abs(kept) < last_counted;
    if (fits) continue;
    return fail(
        ErrorCode::invalid_model,
        fmt::format("{} at {} cannot be kept as {}", values[i],
                    index_text(tensor.shape(), static_cast<std::int64_t>(i)), to_string(element)));
  }
  return result;
}

}  // namespace

Expected<Tensor> converted(const Tensor& tensor, ElementType element) {
  QUADRANT_TRY(const std::vector<double> values, to_doubles(tensor));
  switch (element) {
    case ElementType::boolean:
      return rounded<Integer<std::uint8_t, 0, 1>>(tensor, values, element);
    case ElementType::int4:
      return rounded<Integer<std::int8_t, -8, 7>>(tensor, values, element);
    case ElementType::uint4:
      return rounded<Integer<std::uint8_t, 0, 15>>(tensor, values, element);
    case ElementType::int8:
      return rounded<Integer<std::int8_t, INT8_MIN, INT8_MAX>>(tensor, values, element);
    case ElementType::uint8:
      return rounded<Integer<std::uint8_t, 0, UINT8_MAX>>(tensor, values, element);
    case ElementType::int16:
      return rounded<Integer<std::int16_t, INT16_MIN, INT16_MAX>>(tensor, values, element);
    case ElementType::uint16:
      return rounded<Integer<std::uint16_t, 0, UINT16_MAX>>(tensor, values, element);
    case ElementType::int32:
      return rounded<Integer<std::int32_t, INT32_MIN, INT32_MAX>>(tensor, values, element);
    case ElementType::uint32:
      return rounded<Integer<std::uint32_t, 0, UINT32_MAX>>(tensor, values, element);
    case ElementType::int64:
      return rounded<Integer<std::int64_t, -most, most>>(tensor, values, element);
    case ElementType::uint64:
      return rounded<Integer<std::uint64_t, 0, most>>(tensor, values, element);
    case ElementType::float16:
      return rounded<Float16>(tensor, values, element);
    case ElementType::bfloat16:
      return rounded<Bfloat16>(tensor, values, element);
    case ElementType::float32:
      return rounded<Float32>(tensor, values, element);
    case ElementType::float64:
      return rounded<Float64>(tensor, values, element);
    default:
      break;
  }
  return fail(ErrorCode::impossible,
              fmt::format("elements of type {} are no numbers", to_string(element)));
}

std::string index_text(const Shape& shape, std::int64_t i) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
  for (std::size_t axis = index.size(); axis-- > 0;) {
    const std::int64_t extent = shape.known_extents()[axis];
    index[axis] = i % extent;
    i /= extent;
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

}  // namespace quadrant::inline v0::data_set

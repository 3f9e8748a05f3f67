#include "quadrant/numerics/scales.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "numerics/groups.hpp"
#include "numerics/pieces.hpp"

namespace quadrant::inline v0 {
namespace {

// Magnitudes are compared as integers: with the sign bit cleared, IEEE 754 bit patterns order as
// their values do, and infinity and NaN are above all others. Unlike a maximum of floats, one of
// integers may be reordered, so that compilers vectorise it.
constexpr std::int32_t infinity_bits = 0x7f800000;

std::int32_t magnitude_bits(float value) { return std::bit_cast<std::int32_t>(value) & 0x7fffffff; }

std::int32_t largest_magnitude(std::span<const float> values) {
  std::int32_t largest = 0;
  for (const float value : values) largest = std::max(largest, magnitude_bits(value));
  return largest;
}

void raise_each(std::span<const float> values, std::int32_t* __restrict largest) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest[i] = std::max(largest[i], magnitude_bits(values[i]));
  }
}

std::optional<NonFinite> first_non_finite(std::span<const float> values, std::int64_t first) {
  if (largest_magnitude(values) < infinity_bits) return std::nullopt;
  const auto found = std::ranges::find_if(
      values, [](float value) { return magnitude_bits(value) >= infinity_bits; });
  return NonFinite{first + (found - values.begin()), *found};
}

float symmetric_scale(std::int32_t largest_bits, std::int64_t storage_max) {
  const auto largest_code = static_cast<float>(storage_max);
  const float scale = std::bit_cast<float>(largest_bits) / largest_code;
  if (scale < std::numeric_limits<float>::min()) return 1.0F;
  // Near float32's end the quotient, rounded up, would turn the largest code into infinity.
  return std::isinf(scale * largest_code) ? std::nextafter(scale, 0.0F) : scale;
}

}  // namespace

Expected<ScaleScan> scan_symmetric_scales(const Constant& weights, const Granularity& granularity,
                                          std::int64_t storage_max) {
  if (!is_float(weights.element())) {
    return fail(ErrorCode::impossible,
                fmt::format("weights of type {} cannot be quantized: only floats can",
                            to_string(weights.element())));
  }
  if (storage_max <= 0) {
    return fail(ErrorCode::impossible,
                fmt::format("a largest code of {} leaves no symmetric range", storage_max));
  }
  QUADRANT_TRY(const Groups groups, Groups::of(weights.shape(), granularity));

  std::vector<std::int32_t> largest(static_cast<std::size_t>(groups.group_count()));
  FloatReader reader(weights);
  const std::int64_t count = groups.element_count();
  for (std::int64_t first = 0; first < count; first += std::int64_t{piece_elements}) {
    QUADRANT_TRY(const std::span<const float> values, reader.read(first, piece_size(first, count)));
    if (const auto found = first_non_finite(values, first)) return ScaleScan{{}, found};
    groups.for_each_run(first, values.size(),
                        [&](std::size_t group, std::size_t position, std::size_t length) {
                          const auto run = values.subspan(position, length);
                          if (groups.interleaved()) {
                            raise_each(run, largest.data() + group);
                          } else {
                            largest[group] = std::max(largest[group], largest_magnitude(run));
                          }
                        });
  }

  std::vector<float> scales(largest.size());
  std::ranges::transform(largest, scales.begin(), [storage_max](std::int32_t bits) {
    return symmetric_scale(bits, storage_max);
  });
  return ScaleScan{Constant::from_values<float>(
                       ElementType::float32, parameter_shape(weights.shape(), granularity), scales),
                   std::nullopt};
}

}  // namespace quadrant::inline v0

#include "numerics/found_parameters.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "ir/scales.hpp"

namespace quadrant::inline v0 {
namespace {

// Whether scales are a magnitude by a number of codes, with a sign perhaps.
bool is_magnitude_by_codes(const ScaleRule& rule) noexcept {
  return rule.symmetry != Symmetry::asymmetric && rule.clip == Clip::absmax &&
         rule.scale == ElementType::float32;
}

// What a scale is of the largest magnitude of a group.
struct MagnitudeRule {
  float factor;
  float divisor;
  std::int32_t least;  // the bits of a scale: as integers those without a sign order as they do
  std::int32_t sign;   // of scales where the shorter side of the codes reaches further
};

// unsearched_parameters where nothing is near the ends of float32, in a form that vectorises: the
// quotient of floats, which is what rounding the double's twice gives, since that has more than
// twice the digits. False where it is not so: then nothing can be said of the scales.
bool set_moderate(const float* __restrict longer, const float* __restrict shorter,
                  float* __restrict scales, std::size_t count, MagnitudeRule rule) {
  constexpr auto most = std::bit_cast<std::int32_t>(0x1p90F);
  std::int32_t outside = 0;  // negative where some scale is
  for (std::size_t i = 0; i < count; ++i) {
    const float magnitude = longer[i] < shorter[i] ? shorter[i] : longer[i];
    const std::int32_t sign = longer[i] < shorter[i] ? rule.sign : 0;
    const auto bits = std::bit_cast<std::int32_t>(rule.factor * magnitude / rule.divisor);
    outside |= (bits - rule.least) | (most - bits);
    scales[i] = std::bit_cast<float>(bits | sign);
  }
  return outside >= 0;
}

// The zero point of each group, as constants have them. As blocks are many, not by way of numbers
// of 64 bits.
std::vector<std::byte> zero_point_bytes(const FoundParameters& found, ElementType storage) {
  const auto width = static_cast<std::size_t>(byte_width(storage));
  std::vector<std::byte> bytes(found.scales.size() * width);
  for (std::size_t i = 0; i < found.scales.size(); ++i) {
    const std::int32_t value = found.zero_points.empty() ? found.zero_point : found.zero_points[i];
    std::memcpy(bytes.data() + i * width, &value, width);  // little-endian, as constants are
  }
  return bytes;
}

}  // namespace

bool needs_magnitudes_alone(const ScaleRule& rule) noexcept {
  return rule.symmetry == Symmetry::symmetric && rule.clip == Clip::absmax;
}

FoundParameters::FoundParameters(const ScaleRule& rule, std::size_t groups)
    : scales(groups),
      zero_points(rule.symmetry == Symmetry::asymmetric ? groups : 0),
      zero_point(static_cast<std::int32_t>(fixed_zero_point(rule))) {}

kernels::Affine FoundParameters::from(const ScaleRule& rule, std::size_t first) const noexcept {
  return {.scales = scales.data() + first,
          .zero_points = zero_points.empty() ? nullptr : zero_points.data() + first,
          .zero_point = zero_point,
          .min = static_cast<std::int32_t>(rule.storage_min),
          .max = static_cast<std::int32_t>(rule.storage_max)};
}

void FoundParameters::set_unsearched(const ScaleRule& rule, std::size_t first,
                                     std::span<const float> above, std::span<const float> below) {
  constexpr std::size_t few = 64;
  const CodeRange codes = codes_around(rule, fixed_zero_point(rule));
  const bool has_sign = rule.symmetry == Symmetry::signed_scale && !codes.is_balanced();
  const std::int64_t divisor = has_sign ? std::max(-codes.lo, codes.hi) : codes.hi - codes.lo;
  const MagnitudeRule moderate{
      .factor = has_sign ? 1.0F : 2.0F,
      .divisor = static_cast<float>(divisor),
      .least = std::bit_cast<std::int32_t>(std::max(rule.least, 0x1p-100F)),
      .sign = has_sign ? INT32_MIN : 0};
  const bool is_longer_below = -codes.lo > codes.hi;
  const float* const longer = (is_longer_below ? below : above).data();
  const float* const shorter = (is_longer_below ? above : below).data();
  const bool may_be_moderate = is_magnitude_by_codes(rule);
  for (std::size_t done = 0; done < above.size(); done += few) {
    const std::size_t count = std::min(few, above.size() - done);
    const std::size_t group = first + done;
    if (may_be_moderate &&
        set_moderate(longer + done, shorter + done, scales.data() + group, count, moderate)) {
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) {
      set(group + i, unsearched_parameters(rule, rule.clip, {-below[done + i], above[done + i]}));
    }
  }
}

ParameterScan FoundParameters::constants(const ScaleRule& rule, const Shape& shape) && {
  ParameterScan scan;
  if (!zero_points.empty() || zero_point != 0) {
    scan.zero_points =
        Constant::from_vector(rule.storage, shape, zero_point_bytes(*this, rule.storage));
  }
  const bool fits_rule =
      rule.scale == ElementType::float32 || std::ranges::all_of(scales, is_normal_half);
  scan.scales =
      make_scales(fits_rule ? rule.scale : ElementType::float32, shape, std::move(scales));
  return scan;
}

}  // namespace quadrant::inline v0

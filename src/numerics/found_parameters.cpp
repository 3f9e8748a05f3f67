#include "numerics/found_parameters.hpp"

#include <algorithm>

#include "quadrant/ir/scales.hpp"

namespace quadrant::inline v0 {
namespace {

// unsearched_parameters where nothing is near the ends of float32, in a form that vectorises: the
// quotient of floats, which is what rounding the double's twice gives, since that has more than
// twice the digits. False where it is not so: then nothing can be said of the scales.
bool set_moderate(const ScaleRule& rule, std::span<const float> magnitudes,
                  std::span<float> scales) {
  const auto codes = static_cast<float>(rule.storage_max - rule.storage_min);
  const float least = std::max(rule.least, 0x1p-100F);
  float smallest = 1;
  float largest = 1;
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    const float scale = 2 * magnitudes[i] / codes;
    scales[i] = scale;
    smallest = scale < smallest ? scale : smallest;
    largest = scale > largest ? scale : largest;
  }
  return smallest >= least && largest <= 0x1p90F;
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
  const bool may_be_moderate = needs_magnitudes_alone(rule) && rule.scale == ElementType::float32;
  for (std::size_t done = 0; done < above.size(); done += few) {
    const std::size_t count = std::min(few, above.size() - done);
    const std::size_t group = first + done;
    if (may_be_moderate) {
      std::array<float, few> magnitudes{};
      for (std::size_t i = 0; i < count; ++i) {
        magnitudes[i] = std::max(above[done + i], below[done + i]);
      }
      if (set_moderate(rule, std::span(magnitudes).first(count),
                       std::span(scales).subspan(group, count))) {
        continue;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      set(group + i, unsearched_parameters(rule, rule.clip, {-below[done + i], above[done + i]}));
    }
  }
}

ParameterScan FoundParameters::constants(const ScaleRule& rule, const Shape& shape) const {
  ParameterScan scan;
  const bool fits_rule =
      rule.scale == ElementType::float32 || std::ranges::all_of(scales, is_normal_half);
  scan.scales = make_scales(fits_rule ? rule.scale : ElementType::float32, shape, scales);
  if (!zero_points.empty() || zero_point != 0) {
    std::vector<std::int64_t> wide(scales.size(), zero_point);
    std::ranges::copy(zero_points, wide.begin());
    scan.zero_points = make_zero_points(rule.storage, shape, wide);
  }
  return scan;
}

}  // namespace quadrant::inline v0

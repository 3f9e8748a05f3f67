#include "io/tflite/resampling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "io/tflite/failure.hpp"

namespace quadrant::inline v0::tflite {
namespace {

/// The place of pixel `at` of the result in the operand.
float place_of(const Resampling& how, const ResizedAxis& axis, std::int64_t at) {
  const auto x = static_cast<float>(at);
  const auto from = static_cast<float>(axis.from);
  const auto to = static_cast<float>(axis.to);
  if (how.coordinates == "half_pixel") return (x + 0.5F) / axis.scale - 0.5F;
  if (how.coordinates == "pytorch_half_pixel") {
    return axis.to > 1 ? (x + 0.5F) / axis.scale - 0.5F : 0.0F;
  }
  if (how.coordinates == "asymmetric") return x / axis.scale;
  if (how.coordinates == "align_corners") {
    return axis.to > 1 ? x * (from - 1.0F) / (to - 1.0F) : 0.0F;
  }
  if (how.coordinates == "tf_half_pixel_for_nn") return (x + 0.5F) / axis.scale;
  if (how.coordinates == "half_pixel_symmetric") {
    const float adjustment = to / (axis.scale * from);
    const float center = from / 2.0F;
    return center * (1.0F - adjustment) + (x + 0.5F) / axis.scale - 0.5F;
  }
  impossible(fmt::format("coordinates {}", how.coordinates));
}

std::int32_t inside(float pixel, const ResizedAxis& axis) {
  return static_cast<std::int32_t>(std::clamp(pixel, 0.0F, static_cast<float>(axis.from - 1)));
}

float rounded(const std::string& rounding, float place) {
  if (rounding == "floor") return std::floor(place);
  if (rounding == "ceil") return std::ceil(place);
  // Halves go down or up; std::round takes those of negative places, which are clamped, away from
  // 0.
  const bool is_half = place - std::floor(place) == 0.5F;
  if (rounding == "round_prefer_floor") return is_half ? std::floor(place) : std::round(place);
  if (rounding == "round_prefer_ceil") return is_half ? std::ceil(place) : std::round(place);
  impossible(fmt::format("rounding {}", rounding));
}

std::vector<Tap> nearest(const Resampling& how, const ResizedAxis& axis) {
  Tap tap;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    tap.pixels.push_back(inside(rounded(how.rounding, place_of(how, axis, i)), axis));
  }
  return {std::move(tap)};
}

std::vector<Tap> linear(const Resampling& how, const ResizedAxis& axis) {
  std::vector<Tap> taps(2);
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const float place = std::clamp(place_of(how, axis, i), 0.0F, static_cast<float>(axis.from - 1));
    const float first = std::floor(place);
    taps[0].pixels.push_back(inside(first, axis));
    taps[1].pixels.push_back(inside(first + 1.0F, axis));
    taps[0].factors.push_back(1.0F - (place - first));
    taps[1].factors.push_back(place - first);
  }
  return taps;
}

/// Keys, "Cubic Convolution Interpolation for Digital Image Processing" (1981).
std::vector<Tap> cubic(const Resampling& how, const ResizedAxis& axis) {
  std::vector<Tap> taps(4);
  const float a = how.cubic;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const float place = place_of(how, axis, i);
    const float first = std::floor(place);
    const float t = place - first;
    const auto outer = [a](float d) { return ((a * d - 5.0F * a) * d + 8.0F * a) * d - 4.0F * a; };
    const auto inner = [a](float d) { return ((a + 2.0F) * d - (a + 3.0F)) * d * d + 1.0F; };
    const std::array factors{outer(t + 1.0F), inner(t), inner(1.0F - t), outer(2.0F - t)};
    for (std::size_t k = 0; k < taps.size(); ++k) {
      taps[k].pixels.push_back(inside(first + static_cast<float>(k) - 1.0F, axis));
      taps[k].factors.push_back(factors[k]);
    }
  }
  return taps;
}

}  // namespace

Resampling resampling_of(const NodeRef& node, bool has_modes) {
  Resampling how{.mode = node.attribute_or<std::string>("mode", "nearest"),
                 .coordinates = node.attribute_or<std::string>(
                     "coordinate_transformation_mode", has_modes ? "half_pixel" : "asymmetric"),
                 .rounding = node.attribute_or<std::string>(
                     "nearest_mode", has_modes ? "round_prefer_floor" : "floor"),
                 .cubic = static_cast<float>(node.attribute_or<double>("cubic_coeff_a", -0.75))};
  if (how.mode == "bilinear") how.mode = "linear";
  if (node.attribute_or<std::int64_t>("antialias", 0) != 0) impossible("antialias");
  if (how.mode == "cubic" && node.attribute_or<std::int64_t>("exclude_outside", 0) != 0) {
    impossible("mode cubic with exclude_outside");
  }
  return how;
}

std::vector<Tap> taps_of(const Resampling& how, const ResizedAxis& axis) {
  constexpr std::int64_t largest = std::numeric_limits<std::int16_t>::max() * std::int64_t{256};
  if (axis.to > largest) impossible("an image that large");
  if (how.mode == "nearest") return nearest(how, axis);
  if (how.mode == "linear") return linear(how, axis);
  if (how.mode == "cubic") return cubic(how, axis);
  impossible(fmt::format("mode {}", how.mode));
}

}  // namespace quadrant::inline v0::tflite

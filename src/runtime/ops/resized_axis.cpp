#include "runtime/ops/resized_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "quadrant/runtime/interpreter.hpp"
#include "runtime/ops/curves.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

float half_pixel(const ResizedAxis& axis, float i) { return (i + 0.5f) / axis.scale - 0.5f; }

float half_pixel_symmetric(const ResizedAxis& axis, float i) {
  // The part of a pixel that rounding the extent took away or added is shared by both ends.
  const float unrounded = axis.scale * static_cast<float>(axis.from);
  const float adjustment = static_cast<float>(axis.to) / unrounded;
  const float center = static_cast<float>(axis.from) / 2;
  return center * (1 - adjustment) + (i + 0.5f) / axis.scale - 0.5f;
}

float pytorch_half_pixel(const ResizedAxis& axis, float i) {
  return axis.to > 1 ? half_pixel(axis, i) : 0;
}

float align_corners(const ResizedAxis& axis, float i) {
  return axis.to == 1 ? 0 : i * static_cast<float>(axis.from - 1) / static_cast<float>(axis.to - 1);
}

float asymmetric(const ResizedAxis& axis, float i) { return i / axis.scale; }

float tf_half_pixel_for_nn(const ResizedAxis& axis, float i) { return (i + 0.5f) / axis.scale; }

float tf_crop_and_resize(const ResizedAxis& axis, float i) {
  const auto last = static_cast<float>(axis.from - 1);
  if (axis.to <= 1) return 0.5f * (axis.roi_start + axis.roi_end) * last;
  return axis.roi_start * last +
         i * (axis.roi_end - axis.roi_start) * last / static_cast<float>(axis.to - 1);
}

template <class Function>
struct Named {
  std::string_view name;
  Function function;
};

constexpr std::array coordinates{
    Named<Coordinate>{"half_pixel", half_pixel},
    Named<Coordinate>{"half_pixel_symmetric", half_pixel_symmetric},
    Named<Coordinate>{"pytorch_half_pixel", pytorch_half_pixel},
    Named<Coordinate>{"align_corners", align_corners},
    Named<Coordinate>{"asymmetric", asymmetric},
    Named<Coordinate>{"tf_half_pixel_for_nn", tf_half_pixel_for_nn},
    Named<Coordinate>{"tf_crop_and_resize", tf_crop_and_resize},
};

// The nearest integers, apart from halves. Exact, which `floor(x + 0.5)` is not.
float half_down(float x, bool /*shrinks*/) {
  const float below = std::floor(x);
  return x - below <= 0.5f ? below : below + 1;
}
float half_up(float x, bool /*shrinks*/) {
  const float below = std::floor(x);
  return x - below < 0.5f ? below : below + 1;
}

constexpr std::array nearests{
    Named<Nearest>{"",
                   [](float x, bool shrinks) { return shrinks ? std::ceil(x) : std::floor(x); }},
    Named<Nearest>{"round_prefer_floor", half_down},
    Named<Nearest>{"round_prefer_ceil", half_up},
    Named<Nearest>{"floor", [](float x, bool /*shrinks*/) { return std::floor(x); }},
    Named<Nearest>{"ceil", [](float x, bool /*shrinks*/) { return std::ceil(x); }},
};

template <class Table>
auto find(const Table& table, std::string_view name) -> Expected<decltype(table.front().function)> {
  for (const auto& entry : table) {
    if (entry.name == name) return entry.function;
  }
  return KernelCall::refuse(fmt::format("the mode '{}'", name));
}

// Coordinates far outside are as good as some that are less far, and so is what is no number.
float bounded(float x, float reach, const ResizedAxis& axis) {
  const float lowest = -reach - 1;
  return x > lowest ? std::min(x, static_cast<float>(axis.from) + reach) : lowest;
}

// Those of one element of the result, at `x`, from `weights` and `sources` on.
void set_taps(const Filter& filter, float x, float width, const ResizedAxis& axis, std::size_t at,
              Taps& taps) {
  const std::int64_t last = axis.from - 1;
  const auto reach = static_cast<std::int64_t>(taps.count / 2);
  const auto nearest = static_cast<std::int64_t>(std::floor(x));
  float sum = 0;
  for (std::int64_t k = 0; k < taps.count; ++k) {
    const std::int64_t source = nearest - reach + 1 + k;
    const float distance = std::abs(static_cast<float>(source) - x) / width;
    float weight = filter.cubic ? cubic_curve(distance, filter.cubic_a) : linear_curve(distance);
    if (filter.exclude_outside && (source < 0 || source > last)) weight = 0;
    const std::size_t i = at + static_cast<std::size_t>(k);
    taps.sources[i] = std::clamp(source, std::int64_t{0}, last);
    taps.weights[i] = weight;
    sum += weight;
  }
  // The curves' own weights have a sum of 1, apart from rounding, unless they are cut or stretched.
  if ((!filter.exclude_outside && width == 1) || sum == 0) return;
  for (std::int64_t k = 0; k < taps.count; ++k)
    taps.weights[at + static_cast<std::size_t>(k)] /= sum;
}

}  // namespace

Expected<Coordinate> coordinate_named(std::string_view name) { return find(coordinates, name); }

Expected<Nearest> nearest_named(std::string_view name) { return find(nearests, name); }

std::int64_t nearest_source(const ResizedAxis& axis, Coordinate coordinate, Nearest nearest,
                            std::int64_t i) {
  const float x = bounded(coordinate(axis, static_cast<float>(i)), 1, axis);
  const auto source = static_cast<std::int64_t>(nearest(x, axis.scale < 1));
  return std::clamp(source, std::int64_t{0}, axis.from - 1);
}

Expected<Taps> taps_of(const ResizedAxis& axis, Coordinate coordinate, const Filter& filter) {
  const float width = filter.antialias && axis.scale < 1 ? 1 / axis.scale : 1;
  const float reach = std::ceil((filter.cubic ? 2.0f : 1.0f) * width);
  Taps taps{.count = 2 * static_cast<std::int64_t>(reach), .sources = {}, .weights = {}};
  const auto total = static_cast<std::size_t>(axis.to * taps.count);
  QUADRANT_TRY(ScratchMemory memory,
               ScratchMemory::take(total * (sizeof(std::int64_t) + sizeof(float))));
  taps.memory.emplace(std::move(memory));
  taps.sources.resize(total);
  taps.weights.resize(total);
  for (std::int64_t i = 0; i < axis.to; ++i) {
    set_taps(filter, bounded(coordinate(axis, static_cast<float>(i)), reach, axis), width, axis,
             static_cast<std::size_t>(i * taps.count), taps);
  }
  return taps;
}

}  // namespace quadrant::inline v0::interpreted

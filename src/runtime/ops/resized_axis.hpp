// One axis of a tensor that is resized: which elements an element of the result is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/tensor_memory.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::interpreted {

struct ResizedAxis {
  std::int64_t from = 0;  ///< extent of the operand
  std::int64_t to = 0;    ///< extent of the result
  float scale = 1;        ///< to / from, before it was rounded
  float roi_start = 0;    ///< the part of the operand that is taken, as a fraction of it
  float roi_end = 1;
};

/// Where an element of the result lies among those of the operand. Computed in float32, as ONNX
/// Runtime does: rounding to the nearest element depends on it.
using Coordinate = float (*)(const ResizedAxis& axis, float i);
/// By the attribute `coordinate_transformation_mode`.
[[nodiscard]] Expected<Coordinate> coordinate_named(std::string_view name);

/// Rounds a coordinate; `shrinks`: the axis becomes shorter.
using Nearest = float (*)(float x, bool shrinks);
/// By the attribute `nearest_mode`. The empty name is what there was before the attribute.
[[nodiscard]] Expected<Nearest> nearest_named(std::string_view name);

/// The element of the operand that is nearest to element `i` of the result. `axis.from` must not
/// be 0.
[[nodiscard]] std::int64_t nearest_source(const ResizedAxis& axis, Coordinate coordinate,
                                          Nearest nearest, std::int64_t i);

/// A curve that weights elements by their distance from a coordinate.
struct Filter {
  bool cubic = false;            ///< else linear
  float cubic_a = -0.75f;        ///< the cubic curve's coefficient
  bool antialias = false;        ///< made wider where the axis becomes shorter
  bool exclude_outside = false;  ///< no weight for what lies outside; else the edge counts there
};

/// For each element of the result, `count` elements of the operand and their weights.
struct Taps {
  std::int64_t count = 0;
  std::vector<std::int64_t> sources;  ///< inside of the operand
  std::vector<float> weights;
  std::optional<ScratchMemory> memory{};  ///< what they take
};

/// `axis.from` must not be 0. Fails where there is no memory for them.
[[nodiscard]] Expected<Taps> taps_of(const ResizedAxis& axis, Coordinate coordinate,
                                     const Filter& filter);

}  // namespace quadrant::inline v0::interpreted

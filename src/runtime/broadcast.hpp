// Operands of different shapes, element by element (numpy's rules).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "quadrant/ir/tensor.hpp"

namespace quadrant::inline v0 {

/// The shape that both broadcast to; refused where two extents differ and neither is 1.
[[nodiscard]] Expected<Shape> broadcast_shape(const Shape& a, const Shape& b);
/// The shape that all of these broadcast to.
[[nodiscard]] Expected<Shape> broadcast_shape(std::span<const Tensor> operands);

/// Strides of a tensor of shape `from`, in elements, along the axes of `to`, which it broadcasts
/// to: 0 along those that repeat it.
[[nodiscard]] std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to);

/// Walks over `shape` row by row: `body(position, offsets, length, steps)` is called for each run
/// of `length` elements along the last axis, from `position` on; operand k's first element is at
/// `offsets[k]`, and the next ones `steps[k]` further on. `strides[k]`: of operand k. Axes that all
/// operands walk alike are one to it, so runs are long.
template <std::size_t N, class Body>
void for_each_run(const Shape& shape, const std::array<std::vector<std::int64_t>, N>& strides,
                  Body body) {
  if (shape.element_count().value_or(0) == 0) return;
  // Neighbouring axes over which every operand steps evenly are merged; outermost first.
  std::vector<std::int64_t> extents;
  std::vector<std::array<std::int64_t, N>> steps;
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    std::array<std::int64_t, N> step{};
    for (std::size_t k = 0; k < N; ++k) step[k] = strides[k][static_cast<std::size_t>(axis)];
    bool even = !extents.empty();
    for (std::size_t k = 0; even && k < N; ++k) even = steps.back()[k] == step[k] * shape[axis];
    if (even) {
      extents.back() *= shape[axis];
      steps.back() = step;
    } else {
      extents.push_back(shape[axis]);
      steps.push_back(step);
    }
  }
  if (extents.empty()) {
    extents.push_back(1);
    steps.push_back({});
  }
  const std::int64_t length = extents.back();
  const std::array<std::int64_t, N> inner = steps.back();
  extents.pop_back();
  steps.pop_back();

  std::vector<std::int64_t> index(extents.size(), 0);
  std::array<std::int64_t, N> offsets{};
  for (std::int64_t position = 0;; position += length) {
    body(position, offsets, length, inner);
    std::size_t axis = extents.size();
    for (; axis > 0; --axis) {
      for (std::size_t k = 0; k < N; ++k) offsets[k] += steps[axis - 1][k];
      if (++index[axis - 1] < extents[axis - 1]) break;
      for (std::size_t k = 0; k < N; ++k) offsets[k] -= steps[axis - 1][k] * extents[axis - 1];
      index[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace quadrant::inline v0

// Operands of different shapes, element by element (numpy's rules).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0 {

/// The shape that both broadcast to; refused where two extents differ and neither is 1.
[[nodiscard]] Expected<Shape> broadcast_shape(const Shape& a, const Shape& b);
/// The shape that all of these broadcast to.
[[nodiscard]] Expected<Shape> broadcast_shape(std::span<const Tensor> operands);

/// Strides of a tensor of shape `from`, in elements, along the axes of `to`, which it broadcasts
/// to: 0 along those that repeat it.
[[nodiscard]] std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to);

/// Axes to walk over, outermost first: how far, and how far apart neighbours lie in each of N
/// operands.
template <std::size_t N>
struct Walk {
  std::vector<std::int64_t> extents;
  std::vector<std::array<std::int64_t, N>> steps;
};

/// Neighbouring axes of `shape` over which every operand steps evenly are one; at least one axis.
/// `strides[k]`: of operand k.
template <std::size_t N>
[[nodiscard]] Walk<N> merge_axes(const Shape& shape,
                                 const std::array<std::vector<std::int64_t>, N>& strides) {
  Walk<N> walk;
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t extent = shape[axis].value();
    if (extent == 1) continue;
    std::array<std::int64_t, N> step{};
    for (std::size_t k = 0; k < N; ++k) step[k] = strides[k][static_cast<std::size_t>(axis)];
    bool even = !walk.extents.empty();
    for (std::size_t k = 0; even && k < N; ++k) {
      even = walk.steps.back()[k] == step[k] * extent;
    }
    if (even) {
      walk.extents.back() *= extent;
      walk.steps.back() = step;
    } else {
      walk.extents.push_back(extent);
      walk.steps.push_back(step);
    }
  }
  if (walk.extents.empty()) {
    walk.extents.push_back(1);
    walk.steps.push_back({});
  }
  return walk;
}

/// Rows that lie evenly, of elements that do: how many there are, and how far apart neighbours lie
/// in each of N operands.
template <std::size_t N>
struct Block {
  std::int64_t rows = 1;
  std::array<std::int64_t, N> row_steps{};
  std::int64_t length = 1;
  std::array<std::int64_t, N> steps{};
};

/// Walks over `shape` by its last two axes: `body(position, offsets, block)` is called for each
/// block of elements from `position` on, one behind the other; operand k's first element is at
/// `offsets[k]`. `strides[k]`: of operand k. Axes that all operands walk alike are one to it, so
/// blocks are large.
template <std::size_t N, class Body>
void for_each_block(const Shape& shape, const std::array<std::vector<std::int64_t>, N>& strides,
                    Body body) {
  if (shape.element_count().value_or(0) == 0) return;
  Walk<N> walk = merge_axes(shape, strides);
  Block<N> block;
  block.length = walk.extents.back();
  block.steps = walk.steps.back();
  walk.extents.pop_back();
  walk.steps.pop_back();
  if (!walk.extents.empty()) {
    block.rows = walk.extents.back();
    block.row_steps = walk.steps.back();
    walk.extents.pop_back();
    walk.steps.pop_back();
  }

  std::vector<std::int64_t> index(walk.extents.size(), 0);
  std::array<std::int64_t, N> offsets{};
  for (std::int64_t position = 0;; position += block.rows * block.length) {
    body(position, offsets, block);
    std::size_t axis = index.size();
    for (; axis > 0; --axis) {
      const std::array<std::int64_t, N>& step = walk.steps[axis - 1];
      const std::int64_t extent = walk.extents[axis - 1];
      for (std::size_t k = 0; k < N; ++k) offsets[k] += step[k];
      if (++index[axis - 1] < extent) break;
      for (std::size_t k = 0; k < N; ++k) offsets[k] -= step[k] * extent;
      index[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

/// The same, row by row: `body(position, offsets, length, steps)`.
template <std::size_t N, class Body>
void for_each_run(const Shape& shape, const std::array<std::vector<std::int64_t>, N>& strides,
                  Body body) {
  for_each_block(
      shape, strides,
      [&](std::int64_t position, std::array<std::int64_t, N> offsets, const Block<N>& block) {
        for (std::int64_t row = 0; row < block.rows; ++row) {
          body(position, offsets, block.length, block.steps);
          position += block.length;
          for (std::size_t k = 0; k < N; ++k) offsets[k] += block.row_steps[k];
        }
      });
}

}  // namespace quadrant::inline v0

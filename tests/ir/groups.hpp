// Groups of elements, spelled out: which element is in which group, from the definition in type.hpp
// and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "quadrant/ir/type.hpp"

namespace groups {

using namespace quadrant;

using Index = std::vector<std::int64_t>;

/// The index of the element at `position` in row-major order.
inline Index index_of(std::int64_t position, const Shape& shape) {
  Index index(static_cast<std::size_t>(shape.rank()));
  for (std::size_t axis = index.size(); axis-- > 0;) {
    const std::int64_t extent = shape[static_cast<std::int64_t>(axis)].value();
    index[axis] = position % extent;
    position /= extent;
  }
  return index;
}

inline std::int64_t position_of(const Index& index, const Shape& shape) {
  std::int64_t position = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    position = position * shape[static_cast<std::int64_t>(axis)].value() + index[axis];
  }
  return position;
}

/// What tells the element's group from others.
inline Index key_of(Index index, const Granularity& groups) {
  const auto axis = static_cast<std::size_t>(groups.axis);
  switch (groups.kind) {
    case Granularity::Kind::tensor:
      return {};
    case Granularity::Kind::axis:
      return {index[axis]};
    case Granularity::Kind::block:
      index[axis] /= groups.block_size;
      return index;
  }
  return {};
}

/// For each element in row-major order the number of its group. Groups are numbered as the scales
/// lie: by their keys.
inline std::vector<int> partition(const Shape& shape, const Granularity& groups) {
  std::vector<Index> keys;
  std::map<Index, int> numbers;
  for (std::int64_t i = 0; i < *shape.element_count(); ++i) {
    keys.push_back(key_of(index_of(i, shape), groups));
    numbers.emplace(keys.back(), 0);
  }
  int next = 0;
  for (auto& [key, number] : numbers) number = next++;
  std::vector<int> result;
  result.reserve(keys.size());
  for (const Index& key : keys) result.push_back(numbers[key]);
  return result;
}

/// The same with the groups numbered as they come, so that equal sets have equal numbers.
inline std::vector<int> renumbered(const std::vector<int>& partition) {
  std::map<int, int> numbers;
  std::vector<int> result;
  result.reserve(partition.size());
  for (const int group : partition) {
    result.push_back(numbers.emplace(group, static_cast<int>(numbers.size())).first->second);
  }
  return result;
}

/// Tensor, each axis, and blocks of 1 to one more than the extent.
inline std::vector<Granularity> all(const Shape& shape) {
  std::vector<Granularity> found{Granularity::per_tensor()};
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    found.push_back(Granularity::per_axis(axis));
    for (std::int64_t size = 1; size <= shape[axis].value() + 1; ++size) {
      found.push_back(Granularity::per_block(axis, size));
    }
  }
  return found;
}

}  // namespace groups

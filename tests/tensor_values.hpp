// Tensors from and to plain lists, for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "quadrant/ir/type.hpp"

namespace quadrant::test {

/// `T` has the width of `element`.
template <class T>
Tensor tensor_of(ElementType element, Shape shape, std::initializer_list<T> values) {
  return Tensor::from_values<T>(element, std::move(shape), {values.begin(), values.size()});
}

inline Tensor floats(Shape shape, std::initializer_list<float> values) {
  return tensor_of(ElementType::float32, std::move(shape), values);
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

/// The same for a seed.
inline std::vector<float> normal_numbers(std::int64_t count, unsigned seed, float mean = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw(mean);
  std::vector<float> made(static_cast<std::size_t>(count));
  for (float& value : made) value = draw(random);
  return made;
}

/// Whether they have the same type, shape and bytes.
inline bool same(const Tensor& a, const Tensor& b) {
  return a.element() == b.element() && a.shape() == b.shape() &&
         std::ranges::equal(a.bytes(), b.bytes());
}

}  // namespace quadrant::test

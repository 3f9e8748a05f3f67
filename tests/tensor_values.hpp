// Tensors from and to plain lists, for tests.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "quadrant/ir/tensor.hpp"

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

/// Whether they have the same type, shape and bytes.
inline bool same(const Tensor& a, const Tensor& b) {
  return a.element() == b.element() && a.shape() == b.shape() &&
         std::ranges::equal(a.bytes(), b.bytes());
}

}  // namespace quadrant::test

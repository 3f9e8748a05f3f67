// Data of several attention heads, in the two ways in which it is laid out.
#pragma once

#include <cstdint>

#include "runtime/matrix_parts.hpp"
#include "runtime/ops/lanes.hpp"

namespace quadrant::inline v0::interpreted {

/// `[batch, heads, sequence, size]`, or `[batch, sequence, heads * size]`.
struct Heads {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t sequence = 0;
  std::int64_t size = 0;
  bool merged = false;  ///< the second

  [[nodiscard]] Shape shape() const {
    return merged ? Shape{batch, sequence, heads * size} : Shape{batch, heads, sequence, size};
  }
  /// Where the head's first element is, and how far apart its rows are.
  [[nodiscard]] std::int64_t offset(std::int64_t sample, std::int64_t head) const {
    return merged ? (sample * sequence * heads + head) * size
                  : (sample * heads + head) * sequence * size;
  }
  [[nodiscard]] std::int64_t stride() const { return merged ? heads * size : size; }
  /// One head of one sample, `[sequence, size]`.
  template <class T>
  [[nodiscard]] MatrixView<T> head(T* data, std::int64_t sample, std::int64_t head) const {
    return {data + offset(sample, head), sequence, size, stride(), false};
  }
};

/// `heads`: how many there are where they are merged.
[[nodiscard]] inline Expected<Heads> heads_of(const Tensor& tensor, std::int64_t heads) {
  const auto shape = tensor.extents();
  if (tensor && shape.size() == 4) {
    return Heads{.batch = shape[0], .heads = shape[1], .sequence = shape[2], .size = shape[3]};
  }
  if (tensor && shape.size() == 3 && heads > 0 && shape[2] % heads == 0) {
    return Heads{.batch = shape[0],
                 .heads = heads,
                 .sequence = shape[1],
                 .size = shape[2] / heads,
                 .merged = true};
  }
  return KernelCall::refuse(
      fmt::format("an operand of shape [{}], where [batch, heads, sequence, size] is wanted, or "
                  "[batch, sequence, heads * size] and the number of heads ({})",
                  to_string(tensor.shape()), heads));
}

}  // namespace quadrant::inline v0::interpreted

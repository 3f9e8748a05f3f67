// What tensors of indices say.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::interpreted {

/// The elements of `indices`, each below `extent`; those that are negative count from the end.
[[nodiscard]] Expected<std::vector<std::int64_t>> indices_below(const Tensor& indices,
                                                                std::int64_t extent);

/// A tensor's shape with that of the indices in the place of `axis`.
[[nodiscard]] Shape gathered_shape(const Shape& shape, std::int64_t axis, const Shape& indices);

/// For each element of `indices`, which has as many axes as `shape`: where the element of a tensor
/// of that shape lies that is at the same position, but along `axis` at the index that it says.
[[nodiscard]] Expected<std::vector<std::int64_t>> offsets_along(const Shape& shape,
                                                                const Tensor& indices,
                                                                std::int64_t axis);

/// The slices of a tensor that tuples of indices name.
struct Slices {
  std::vector<std::int64_t> offsets;  ///< where they begin, in elements
  std::vector<std::int64_t> extents;  ///< of the axes that the tuples do not index
  std::int64_t size = 0;              ///< elements of one
};

/// The tuples lie along the last axis of `indices`. The first `batch_axes` axes of both tensors are
/// of the same extents, and the tuples index what lies below the same position.
[[nodiscard]] Expected<Slices> slices_of(const Shape& shape, const Tensor& indices,
                                         std::int64_t batch_axes);

}  // namespace quadrant::inline v0::interpreted

// Elements that are moved in boxes: from where one layout says to where another does.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// Where the elements of a box lie in a tensor: the first one, and how far it is to the next along
/// each axis of the box. In elements; a step may be 0 or negative.
struct Layout {
  std::int64_t offset = 0;
  std::vector<std::int64_t> steps;
};

/// Copies a box of elements of `from` into `to`, which is of the same element type and was just
/// made. The layouts must not leave the tensors.
void copy_box(const Shape& box, const Tensor& from, const Layout& from_layout, Tensor& to,
              const Layout& to_layout);

/// A box of elements as a tensor of their own.
[[nodiscard]] Expected<Tensor> take_box(Shape box, const Tensor& from, const Layout& layout);

/// A tensor of `shape`, which has as many axes as `from`: along each axis, index `i` of the result
/// takes index `source(axis, i)`, which must be inside.
[[nodiscard]] Expected<Tensor> take_indices(
    const Tensor& from, Shape shape,
    FunctionRef<std::int64_t(std::int64_t axis, std::int64_t i)> source);

/// A tensor of elements that are all `value`, the only element of a tensor of that type; of zeros
/// where that is empty.
[[nodiscard]] Expected<Tensor> filled(ElementType element, Shape shape, const Tensor& value = {});

}  // namespace quadrant::inline v0

// A tensor in memory: what a model is run on, and what it gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/element_type.hpp"
#include "quadrant/ir/shape.hpp"
#include "quadrant/support/assert.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Elements of one type, row by row, under a static shape; laid out as in a Constant (4-bit
/// integers take a byte each). A handle: copies share the elements, which nobody changes any more
/// once there are copies. A default-made one is empty (`!tensor`): an operand that is absent.
class Tensor {
 public:
  Tensor() = default;

  /// Elements that are not yet set: `fill<T>()` is where to. `impossible` for a shape that is not
  /// static, an element type that is not read (`opaque`), and for more than `limit` bytes, or,
  /// where this thread has a TensorMemory, than that has left: a hostile model cannot ask for them.
  [[nodiscard]] static Expected<Tensor> make(ElementType element, Shape shape,
                                             std::uint64_t limit = default_limit);
  /// Copies `values`, as many as the shape has; `T` must have the element's width.
  template <class T>
  [[nodiscard]] static Tensor from_values(ElementType element, Shape shape,
                                          std::span<const T> values) {
    return from_bytes(element, std::move(shape), std::as_bytes(values));
  }
  /// Copies `bytes`, whose size must be that of the shape. Those of booleans are 0 and 1.
  [[nodiscard]] static Tensor from_bytes(ElementType element, Shape shape,
                                         std::span<const std::byte> bytes);
  /// Reads the constant; one that lies in memory is shared. Bytes of booleans that are not 0
  /// become 1.
  [[nodiscard]] static Expected<Tensor> from_constant(const Constant& constant);
  /// A constant of the same elements, copied.
  [[nodiscard]] Constant to_constant() const;

  /// The same elements under a shape of as many; shared.
  [[nodiscard]] Tensor reshaped(Shape shape) const;

  explicit operator bool() const noexcept { return element_ != ElementType::undefined; }

  [[nodiscard]] ElementType element() const noexcept { return element_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::int64_t rank() const noexcept { return shape_.rank(); }
  [[nodiscard]] std::int64_t extent(std::int64_t axis) const noexcept {
    return shape_[axis].value();
  }
  [[nodiscard]] std::span<const std::int64_t> extents() const noexcept {
    return shape_.known_extents();
  }
  [[nodiscard]] std::int64_t element_count() const noexcept { return count_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {data_.get(), byte_size_};
  }

  /// The elements as `T`, which must have the element's width.
  template <class T>
  [[nodiscard]] std::span<const T> as() const noexcept {
    QUADRANT_ASSERT(!*this || sizeof(T) == static_cast<std::size_t>(byte_width(element_)));
    return {reinterpret_cast<const T*>(data_.get()), static_cast<std::size_t>(count_)};
  }
  /// The elements of a tensor that `make` just made, to set them. No copies may exist.
  template <class T>
  [[nodiscard]] std::span<T> fill() noexcept {
    QUADRANT_ASSERT(data_.use_count() <= 1);
    QUADRANT_ASSERT(sizeof(T) == static_cast<std::size_t>(byte_width(element_)));
    // Made by make(), which owns what it points to and knows it is not constant.
    return {reinterpret_cast<T*>(const_cast<std::byte*>(data_.get())),  // NOLINT
            static_cast<std::size_t>(count_)};
  }
  /// The same as bytes.
  [[nodiscard]] std::span<std::byte> fill_bytes() noexcept {
    QUADRANT_ASSERT(data_.use_count() <= 1);
    return {const_cast<std::byte*>(data_.get()), byte_size_};  // NOLINT: as above
  }

  static constexpr std::uint64_t default_limit = std::uint64_t{8} << 30U;

 private:
  ElementType element_ = ElementType::undefined;
  Shape shape_;
  std::int64_t count_ = 0;
  std::size_t byte_size_ = 0;
  std::shared_ptr<const std::byte> data_;
};

using Tensors = std::vector<Tensor>;

}  // namespace quadrant::inline v0

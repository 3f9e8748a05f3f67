// Types of tensors, and tensors in memory.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/shape.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// Tensor types. Quantization is a type: what integers mean travels with the value that holds them.

/// Which elements share one scale and zero point.
struct Granularity {
  enum class Kind : std::uint8_t {
    tensor,  ///< all of them
    axis,    ///< those with the same index along `axis`
    block,   ///< runs of `block_size` along `axis`, for each index of the other axes
  };
  Kind kind = Kind::tensor;
  std::int64_t axis = 0;
  std::int64_t block_size = 0;

  [[nodiscard]] static constexpr Granularity per_tensor() noexcept { return {}; }
  [[nodiscard]] static constexpr Granularity per_axis(std::int64_t axis) noexcept {
    return {Kind::axis, axis, 0};
  }
  [[nodiscard]] static constexpr Granularity per_block(std::int64_t axis,
                                                       std::int64_t size) noexcept {
    return {Kind::block, axis, size};
  }
  [[nodiscard]] std::size_t hash() const noexcept;
  /// `tensor`, `axis=1`, `axis=0 block=32`
  [[nodiscard]] std::string print() const;
  [[nodiscard]] static std::optional<Granularity> parse(std::string_view text);
  /// By kind, axis, block size.
  friend auto operator<=>(const Granularity&, const Granularity&) = default;
};

/// Shape of scales and zero points of a tensor of that shape: `[]`, `[extent of axis]`, or `shape`
/// with the blocked axis divided by the block size, rounded up. It has the axis, or is unranked.
[[nodiscard]] Shape parameter_shape(const Shape& shape, const Granularity& granularity);

/// Uniform affine quantization: real = scale * (code - zero_point).
/// (Jacob et al., "Quantization and Training of Neural Networks for Efficient
/// Integer-Arithmetic-Only Inference", arXiv 1712.05877, equation 1.)
struct UniformType {
  /// Type of the codes; of 4, 8, 16 or 32 bits.
  ElementType storage = ElementType::int8;
  /// Width of the codes as declared, up to that of `storage`, which is the least that holds it: 3
  /// for MLIR's i3, whose storage is int4. 0: that of `storage`.
  int storage_bits = 0;
  ElementType expressed = ElementType::float32;  ///< type of the float values
  Granularity granularity;
  std::int64_t storage_min = -128;  ///< smallest code in use
  std::int64_t storage_max = 127;   ///< largest code in use
  /// float32, float16, or float64 as in MLIR, of `parameter_shape`; finite, not zero. A negative
  /// one mirrors the range. Computation in float32 rounds those of float64.
  Constant scales;
  Constant zero_points;  ///< of the storage type and the same shape; empty: all zero

  friend bool operator==(const UniformType&, const UniformType&) = default;
};

/// Codes of `bits` bits (1 to 32), with a sign in two's complement: -4 to 3 for 3 with a sign.
[[nodiscard]] IntegerRange code_range(int bits, bool is_signed) noexcept;
/// The smallest storage type of codes of that width (1 to 32) and sign: int4 for 3 with a sign.
[[nodiscard]] ElementType storage_element(int bits, bool is_signed) noexcept;
/// Width of the codes as declared.
[[nodiscard]] int declared_bits(const UniformType& type) noexcept;
/// Whether codes have a sign, by their storage.
[[nodiscard]] bool has_signed_codes(const UniformType& type) noexcept;

/// The scales of a uniform type as float32, whichever type they are stored in; those of float64 are
/// rounded to nearest. `impossible` for a type that scales do not have, and for a number that
/// float32 does not have, but as zero or infinity. Reads the constant whole.
[[nodiscard]] Expected<std::vector<float>> read_scales(const Constant& scales);

struct ScaledFormat;

/// What the codes of a tensor stand for, where they are codes: a uniform type, or numbers in
/// another format. A handle: copies share it; equality is of what it says.
class Quantization {
 public:
  Quantization() = default;  ///< none: elements stand for themselves
  Quantization(std::nullptr_t) noexcept {}
  template <std::convertible_to<std::shared_ptr<const UniformType>> Pointer>
  Quantization(Pointer type) noexcept : uniform_(std::move(type)) {}
  /// A format that a uniform type can say becomes one.
  Quantization(const ScaledFormat& format);

  explicit operator bool() const noexcept { return uniform_ != nullptr || other_ != nullptr; }

  /// Null for none, and for other formats.
  [[nodiscard]] const std::shared_ptr<const UniformType>& uniform() const noexcept {
    return uniform_;
  }
  /// Null for none, and for uniform types: see `scaled_format` for what says it of both.
  [[nodiscard]] const std::shared_ptr<const ScaledFormat>& other() const noexcept { return other_; }
  /// Type of the codes, and of the float values; undefined for none.
  [[nodiscard]] ElementType storage() const noexcept;
  [[nodiscard]] ElementType expressed() const noexcept;

  friend bool operator==(const Quantization& a, const Quantization& b);

 private:
  std::shared_ptr<const UniformType> uniform_;
  std::shared_ptr<const ScaledFormat> other_;
};

/// Type of one value.
struct TensorType {
  ElementType element = ElementType::undefined;  ///< the storage type when quantized
  Shape shape;
  Quantization quantization;  ///< none for plain tensors

  [[nodiscard]] bool is_quantized() const noexcept { return static_cast<bool>(quantization); }
  /// Null for plain tensors, and for numbers in another format.
  [[nodiscard]] const std::shared_ptr<const UniformType>& uniform() const noexcept {
    return quantization.uniform();
  }
  /// The type of the float values: the expressed type when quantized.
  [[nodiscard]] TensorType expressed() const;

  friend bool operator==(const TensorType& a, const TensorType& b);
};

/// Codes of `storage` without zero points, as many below zero as above: real = scale * code, with
/// `scales` of `parameter_shape`. For int8, -127 to 127 and float32.
[[nodiscard]] TensorType symmetric_type(ElementType storage, Shape shape, Granularity granularity,
                                        std::vector<float> scales);

/// Whether that is what it is, with scales of that kind, however many codes of `storage` are in
/// use.
[[nodiscard]] bool is_symmetric(const TensorType& type, ElementType storage,
                                Granularity::Kind kind) noexcept;

/// `tensor<4x8xf32>`, `tensor<4x8x!quant.uniform<i8<-127:127>:f32:0, {0.1, 0.2, ...}>>`.
[[nodiscard]] std::string to_string(const TensorType& type);
[[nodiscard]] std::string to_string(const UniformType& type);
[[nodiscard]] std::string to_string(const Quantization& quantization);

// A tensor in memory: what a model is run on, and what it gives.

/// Elements of one type, row by row, under a static shape; laid out as in a Constant (4-bit
/// integers take a byte each). A handle: copies share the elements, which are not changed any more
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

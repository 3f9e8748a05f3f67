// Tensor types. Quantization is a type: what integers mean travels with the value that holds them.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/element_type.hpp"
#include "quadrant/ir/shape.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

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
  ElementType expressed = ElementType::float32;  ///< type of the real values
  Granularity granularity;
  std::int64_t storage_min = -128;  ///< smallest code in use
  std::int64_t storage_max = 127;   ///< largest code in use
  /// float32, float16, or float64 as in MLIR, of `parameter_shape`; finite, not zero. A negative
  /// one mirrors the range. Whoever computes with float32 rounds those of float64.
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
  /// Type of the codes, and of the real values; undefined for none.
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
  /// The type of the real values: the expressed type when quantized.
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

}  // namespace quadrant::inline v0

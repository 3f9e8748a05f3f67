// Element types, and the contents of weights: bytes, ranges of files, or expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/shape.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

// The scalar types a tensor can hold.

/// A scalar type. Constants hold one little-endian element after another; 4-bit elements take a
/// whole byte each (packing belongs to the file formats).
enum class ElementType : std::uint8_t {
  undefined,  ///< not known, or not a tensor
  boolean,
  int4,
  uint4,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  // Carried through without being read, as `opaque` ones are: see `is_carried`.
  int2,
  uint2,
  float4e2m1,
  float6e2m3,
  float6e3m2,
  float8e4m3,  ///< finite, with one NaN: MLIR's f8E4M3FN
  float8e4m3fnuz,
  float8e5m2,
  float8e5m2fnuz,
  float8e8m0,  ///< powers of two
  opaque,      ///< another type that this library does not read (strings, complex numbers, ...)
};

/// `f32`, `bf16`, `i8`, `u4`, `i1` for boolean: MLIR's short names; `f8e4m3` and the like as
/// OpenVINO has them.
[[nodiscard]] std::string_view to_string(ElementType type) noexcept;
[[nodiscard]] std::optional<ElementType> parse_element_type(std::string_view text) noexcept;

/// Whether elements of the type are not read: values have it, tensors of files pass through, and
/// there are no constants of it. `opaque` stands for all types without a name of their own.
[[nodiscard]] bool is_carried(ElementType type) noexcept;

/// Bits of information an element holds: 4 for `int4`, 1 for `boolean`; 0 when unknown.
[[nodiscard]] int bit_width(ElementType type) noexcept;
/// Bytes an element takes in a `Constant`: 1 for `int4`; 0 when there are no constants of the type.
[[nodiscard]] int byte_width(ElementType type) noexcept;

/// Bytes that `count` elements take in files, which pack those of less than a byte, but not
/// booleans; 0 for a type of unknown width.
[[nodiscard]] std::uint64_t packed_size(ElementType type, std::uint64_t count) noexcept;

/// Of the types that are read, the floats.
[[nodiscard]] bool is_float(ElementType type) noexcept;
/// Whether values of that type may be floats: it is a float type, or not known.
[[nodiscard]] inline bool may_be_real(ElementType type) noexcept {
  return type == ElementType::undefined || is_float(type);
}
/// Of the types that are read, the signed and unsigned integers; false for `boolean`.
[[nodiscard]] bool is_integer(ElementType type) noexcept;

/// Smallest and largest value of an integer type of at most 32 bits.
struct IntegerRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
  friend bool operator==(const IntegerRange&, const IntegerRange&) = default;
};
[[nodiscard]] std::optional<IntegerRange> integer_range(ElementType type) noexcept;

// Sets of element types: what a kernel takes.

/// A set of storage types.
class Storages {
 public:
  constexpr Storages(std::initializer_list<ElementType> types) noexcept {
    for (const ElementType type : types) bits_ |= bit(type);
  }
  [[nodiscard]] constexpr bool contains(ElementType type) const noexcept {
    return (bits_ & bit(type)) != 0;
  }
  /// `i8, u8`
  [[nodiscard]] std::string print() const;

 private:
  static constexpr std::uint32_t bit(ElementType type) noexcept {
    return 1U << static_cast<unsigned>(type);
  }
  std::uint32_t bits_ = 0;
};

// The contents of a weight: bytes in memory, a range of a file, or an expression not yet computed.

/// Where `length` bytes lie again and again, `step` bytes apart from `offset` on: a column of a
/// row-major matrix, or some that are neighbours.
struct ByteRuns {
  std::uint64_t offset = 0;
  std::uint64_t step = 0;
  std::size_t length = 0;
};

/// Is handed runs, one behind the other, which it may change.
using RunsSink = FunctionRef<void(std::span<std::byte>)>;

/// Bytes of a constant, kept alive by this object.
class ConstantBytes {
 public:
  ConstantBytes() = default;  ///< none
  ConstantBytes(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// A part of them.
  [[nodiscard]] ConstantBytes subspan(std::size_t offset, std::size_t size) const {
    return {owner_, bytes_.subspan(offset, size)};
  }

  /// The elements as `T`, which must be the type that the constant holds. The library's own
  /// buffers are aligned for every element type.
  template <class T>
  [[nodiscard]] std::span<const T> as() const noexcept {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

/// Where bytes come from when they are needed: a file range, or a computation.
/// Implementations are immutable and may be read from several threads at once.
class ConstantSource {
 public:
  ConstantSource() = default;
  ConstantSource(const ConstantSource&) = delete;
  ConstantSource& operator=(const ConstantSource&) = delete;
  virtual ~ConstantSource() = default;

  /// Fills `out` with the bytes that start `offset` bytes into the constant. The caller has
  /// checked that the range lies inside.
  [[nodiscard]] virtual Expected<void> read(std::uint64_t offset,
                                            std::span<std::byte> out) const = 0;

  /// Constant::read_runs. The caller has checked that all runs lie inside, and that `room` has a
  /// multiple of their length. Here, reads each; a source that has to make ready for a read does so
  /// once.
  [[nodiscard]] virtual Expected<void> read_runs(const ByteRuns& runs, std::uint64_t count,
                                                 std::span<std::byte> room, RunsSink use) const;

  /// What `read` would copy, where it lies, if that can be had: in memory, or in a file that is
  /// mapped. The caller has checked that the range lies inside. Here, no.
  [[nodiscard]] virtual std::optional<ConstantBytes> view(std::uint64_t offset,
                                                          std::size_t size) const;

  /// Whether neighbours come from places far apart, so that a few large reads take less time than
  /// many small ones.
  [[nodiscard]] virtual bool gathers() const noexcept { return false; }
};

/// An immutable tensor of known element type and shape. A handle: copies share the contents, and
/// equality is identity. A default-made one is empty (`!constant`).
class Constant {
 public:
  Constant() = default;

  /// Shares `bytes`, whose size must be that of the shape.
  [[nodiscard]] static Constant from_shared(ElementType element, Shape shape, ConstantBytes bytes);
  /// Owns `values`, without a copy; `T` must have the element's width, or be std::byte.
  template <class T>
  [[nodiscard]] static Constant from_vector(ElementType element, Shape shape,
                                            std::vector<T> values) {
    auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    const auto bytes = std::as_bytes(std::span(*owner));
    return from_shared(element, std::move(shape), ConstantBytes(std::move(owner), bytes));
  }
  /// Owns `bytes`.
  [[nodiscard]] static Constant from_bytes(ElementType element, Shape shape,
                                           std::vector<std::byte> bytes);
  /// Copies `values`; `T` must have the element's width.
  template <class T>
  [[nodiscard]] static Constant from_values(ElementType element, Shape shape,
                                            std::span<const T> values) {
    return copied(element, std::move(shape), std::as_bytes(values));
  }
  /// Reads from `source` on demand, tensor by tensor, while the result is written.
  [[nodiscard]] static Constant deferred(ElementType element, Shape shape,
                                         std::shared_ptr<const ConstantSource> source);

  /// The same elements, in the same order, under a shape of as many. Shares the contents.
  [[nodiscard]] Constant reshaped(Shape shape) const;

  explicit operator bool() const noexcept { return data_ != nullptr; }

  [[nodiscard]] ElementType element() const noexcept;
  [[nodiscard]] const Shape& shape() const noexcept;
  [[nodiscard]] std::int64_t element_count() const noexcept;
  /// Bytes of the contents: elements times `byte_width`.
  [[nodiscard]] std::uint64_t byte_size() const noexcept;
  /// Whether reading touches a file or computes.
  [[nodiscard]] bool is_deferred() const noexcept;
  /// What its source says of that; false where there is none.
  [[nodiscard]] bool gathers() const noexcept;

  /// All bytes. Deferred contents are computed anew at each call and not kept.
  [[nodiscard]] Expected<ConstantBytes> read() const;
  /// The bytes from `offset` on, as many as `out` holds; for streaming.
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const;
  /// The same without a copy; empty where that cannot be had. For a few megabytes at a time that
  /// are let go soon: a file may be mapped for it, see FileWindow.
  [[nodiscard]] std::optional<ConstantBytes> view(std::uint64_t offset, std::size_t size) const;
  /// As many runs as fill `out`, one behind the other; `out` has a multiple of their length.
  [[nodiscard]] Expected<void> read_runs(const ByteRuns& runs, std::span<std::byte> out) const;
  /// `count` runs in order, as many at a time as there is `room` for, a multiple of their length:
  /// `use` is called with each lot, in `room`, before the next is read.
  [[nodiscard]] Expected<void> read_runs(const ByteRuns& runs, std::uint64_t count,
                                         std::span<std::byte> room, RunsSink use) const;

  friend bool operator==(const Constant&, const Constant&) = default;

 private:
  struct Data;
  static Constant copied(ElementType element, Shape shape, std::span<const std::byte> bytes);
  explicit Constant(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

/// The elements of an integer constant as 64-bit values: shapes, axes, permutations. Refuses other
/// element types and more than `limit` elements, so that a hostile file cannot ask for much.
[[nodiscard]] Expected<std::vector<std::int64_t>> read_integers(const Constant& constant,
                                                                std::int64_t limit = 4096);

}  // namespace quadrant::inline v0

// The extents of a tensor, as far as they are known.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

class Shape;

/// How long an axis is: a count, or open where that is not known. It takes no part in arithmetic,
/// and has no `==`: of an open extent neither means anything. A negative number is no count, so it
/// is never known either; `infer_shapes` refuses it.
class Extent {
 public:
  constexpr Extent(std::int64_t count) noexcept  // NOLINT: `Shape{2, 3}`
      : count_(count == open_mark ? open_mark + 1 : count) {}
  [[nodiscard]] static constexpr Extent open() noexcept { return {}; }
  /// Open where there is no `count`.
  [[nodiscard]] static constexpr Extent of(std::optional<std::int64_t> count) noexcept {
    return count ? Extent(*count) : open();
  }

  [[nodiscard]] constexpr bool is_known() const noexcept { return count_ >= 0; }
  [[nodiscard]] constexpr bool is_open() const noexcept { return count_ == open_mark; }
  [[nodiscard]] constexpr bool is_negative() const noexcept { return count_ < 0 && !is_open(); }
  [[nodiscard]] constexpr std::optional<std::int64_t> known() const noexcept {
    return is_known() ? std::optional(count_) : std::nullopt;
  }
  /// Of one that is known: ask `is_known` first.
  [[nodiscard]] constexpr std::int64_t value() const noexcept {
    QUADRANT_ASSERT(is_known());
    return count_;
  }
  [[nodiscard]] constexpr std::int64_t value_or(std::int64_t fallback) const noexcept {
    return is_known() ? count_ : fallback;
  }
  /// What `change` makes of the count; one that is not known stays so.
  template <class Change>
  [[nodiscard]] constexpr Extent transformed(Change change) const {
    return is_known() ? Extent(change(count_)) : *this;
  }

  /// Both are known, and the same.
  [[nodiscard]] friend constexpr bool surely_equal(Extent a, Extent b) noexcept {
    return a.is_known() && a.count_ == b.count_;
  }
  /// They are the same, or one is open.
  [[nodiscard]] friend constexpr bool may_equal(Extent a, Extent b) noexcept {
    return a.is_open() || b.is_open() || a.count_ == b.count_;
  }
  /// Of two that may be equal, one that is known where there is one.
  [[nodiscard]] friend constexpr Extent known_one(Extent a, Extent b) noexcept {
    return a.is_known() ? a : b;
  }
  friend bool operator==(Extent, Extent) = delete;
  /// The count, `?` where it is open.
  [[nodiscard]] friend std::string to_string(Extent extent) {
    return extent.is_open() ? "?" : std::to_string(extent.count_);
  }

 private:
  friend bool operator==(const Shape& a, const Shape& b) noexcept;
  constexpr Extent() = default;
  static constexpr std::int64_t open_mark = std::numeric_limits<std::int64_t>::min();
  std::int64_t count_ = open_mark;
};

/// Extents from the outermost axis inwards. The rank may be unknown, and so may single extents.
class Shape {
 public:
  Shape() = default;  ///< rank unknown
  Shape(std::initializer_list<Extent> extents);
  explicit Shape(std::vector<Extent> extents) : ranked_(true), extents_(std::move(extents)) {}
  explicit Shape(const std::vector<std::int64_t>& extents);
  /// Of rank 0: a single element.
  [[nodiscard]] static Shape scalar() { return Shape(std::vector<Extent>{}); }

  [[nodiscard]] bool is_ranked() const noexcept { return ranked_; }
  /// Every extent is known.
  [[nodiscard]] bool is_static() const noexcept;
  /// 0 when the rank is unknown: ask `is_ranked` first.
  [[nodiscard]] std::int64_t rank() const noexcept {
    return static_cast<std::int64_t>(extents_.size());
  }
  [[nodiscard]] Extent operator[](std::int64_t axis) const noexcept {
    return extents_[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] std::span<const Extent> extents() const noexcept;
  /// The extents of a static shape as integers: ask `is_static` first.
  [[nodiscard]] std::span<const std::int64_t> known_extents() const noexcept;

  /// Product of the extents; empty when one is unknown or the product leaves 63 bits.
  [[nodiscard]] std::optional<std::int64_t> element_count() const noexcept;
  /// Row-major strides in elements of a static shape; empty otherwise.
  [[nodiscard]] std::vector<std::int64_t> strides() const;

  /// The same type: also where both have an open extent, which may be of different tensors two
  /// different numbers.
  friend bool operator==(const Shape& a, const Shape& b) noexcept;

 private:
  bool ranked_ = false;
  std::vector<Extent> extents_;
};

/// Whether there are tensors of both.
[[nodiscard]] bool may_equal(const Shape& a, const Shape& b) noexcept;
/// What is known of a tensor that has both shapes; empty where none may have.
[[nodiscard]] std::optional<Shape> merged(const Shape& a, const Shape& b);

/// `4x?x8`, empty for rank 0, `*` for an unknown rank.
[[nodiscard]] std::string to_string(const Shape& shape);

}  // namespace quadrant::inline v0

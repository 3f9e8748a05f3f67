// The extents of a tensor, as far as they are known.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quadrant::inline v0 {

/// Extents from the outermost axis inwards. The rank may be unknown, and so may single extents.
class Shape {
 public:
  static constexpr std::int64_t dynamic = -1;

  Shape() = default;  ///< rank unknown
  Shape(std::initializer_list<std::int64_t> extents) : ranked_(true), extents_(extents) {}
  explicit Shape(std::vector<std::int64_t> extents) : ranked_(true), extents_(std::move(extents)) {}
  /// Of rank 0: a single element.
  [[nodiscard]] static Shape scalar() { return Shape(std::vector<std::int64_t>{}); }

  [[nodiscard]] bool is_ranked() const noexcept { return ranked_; }
  /// Every extent is known.
  [[nodiscard]] bool is_static() const noexcept;
  /// 0 when the rank is unknown: ask `is_ranked` first.
  [[nodiscard]] std::int64_t rank() const noexcept {
    return static_cast<std::int64_t>(extents_.size());
  }
  [[nodiscard]] std::int64_t operator[](std::int64_t axis) const noexcept {
    return extents_[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] std::span<const std::int64_t> extents() const noexcept { return extents_; }

  /// Product of the extents; empty when one is unknown or the product leaves 63 bits.
  [[nodiscard]] std::optional<std::int64_t> element_count() const noexcept;
  /// Row-major strides in elements of a static shape; empty otherwise.
  [[nodiscard]] std::vector<std::int64_t> strides() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  bool ranked_ = false;
  std::vector<std::int64_t> extents_;
};

/// `4x?x8`, empty for rank 0, `*` for an unknown rank.
[[nodiscard]] std::string to_string(const Shape& shape);

}  // namespace quadrant::inline v0

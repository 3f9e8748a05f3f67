#include "quadrant/ir/shape.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace quadrant::inline v0 {

Shape::Shape(std::initializer_list<Extent> extents) : ranked_(true), extents_(extents) {}

Shape::Shape(const std::vector<std::int64_t>& extents)
    : ranked_(true), extents_(extents.begin(), extents.end()) {}

bool Shape::is_static() const noexcept {
  return ranked_ && std::ranges::all_of(extents_, &Extent::is_known);
}

std::span<const Extent> Shape::extents() const noexcept { return extents_; }

std::span<const std::int64_t> Shape::known_extents() const noexcept {
  QUADRANT_ASSERT(is_static());
  // An Extent is its count and nothing else.
  static_assert(std::is_standard_layout_v<Extent> && sizeof(Extent) == sizeof(std::int64_t));
  return {reinterpret_cast<const std::int64_t*>(extents_.data()), extents_.size()};  // NOLINT
}

std::optional<std::int64_t> Shape::element_count() const noexcept {
  if (!is_static()) return std::nullopt;
  std::int64_t count = 1;
  bool overflow = false;
  for (const std::int64_t extent : known_extents()) {
    // A zero extent makes the product zero, whatever the others are.
    if (extent == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(count, extent, &count);
  }
  if (overflow) return std::nullopt;
  return count;
}

std::vector<std::int64_t> Shape::strides() const {
  if (!element_count()) return {};
  std::vector<std::int64_t> strides(extents_.size(), 1);
  for (std::size_t axis = extents_.size(); axis-- > 1;) {
    // Without elements, because of an axis further out, a stride may be of any size.
    if (__builtin_mul_overflow(strides[axis], extents_[axis].value(), &strides[axis - 1])) {
      strides[axis - 1] = std::numeric_limits<std::int64_t>::max();
    }
  }
  return strides;
}

bool operator==(const Shape& a, const Shape& b) noexcept {
  return a.ranked_ == b.ranked_ &&
         std::ranges::equal(a.extents_, b.extents_, {}, &Extent::count_, &Extent::count_);
}

bool may_equal(const Shape& a, const Shape& b) noexcept {
  return !a.is_ranked() || !b.is_ranked() ||
         std::ranges::equal(a.extents(), b.extents(),
                            [](Extent one, Extent other) { return may_equal(one, other); });
}

std::optional<Shape> merged(const Shape& a, const Shape& b) {
  if (!may_equal(a, b)) return std::nullopt;
  if (!a.is_ranked()) return b;
  if (!b.is_ranked()) return a;
  std::vector<Extent> extents(a.extents().begin(), a.extents().end());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis].is_open()) extents[axis] = b.extents()[axis];
  }
  return Shape(std::move(extents));
}

std::string to_string(const Shape& shape) {
  if (!shape.is_ranked()) return "*";
  std::string text;
  for (const Extent extent : shape.extents()) {
    if (!text.empty()) text += 'x';
    text += to_string(extent);
  }
  return text;
}

}  // namespace quadrant::inline v0

#include "weight_only/quotient.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "numerics/reals.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

// Two small constants may broadcast to a huge one.
constexpr std::int64_t most_elements = std::int64_t{1} << 20U;

bool is_divisible(const Constant& constant) {
  return is_wide_float(constant.element()) && constant.element_count() <= most_elements;
}

// The extents that both broadcast to; empty when they do not.
std::optional<std::vector<std::int64_t>> broadcast(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(std::max(a.rank(), b.rank())), 1);
  for (const Shape* shape : {&a, &b}) {
    for (std::int64_t i = 1; i <= shape->rank(); ++i) {
      std::int64_t& extent = extents[extents.size() - static_cast<std::size_t>(i)];
      const std::int64_t own = (*shape)[shape->rank() - i].value();
      if (own == 1 || own == extent) continue;
      if (extent != 1) return std::nullopt;
      extent = own;
    }
  }
  return extents;
}

// Where the element of `shape` is that broadcasts to element `position` of `extents`.
std::size_t broadcast_position(std::size_t position, const std::vector<std::int64_t>& extents,
                               const Shape& shape) {
  std::size_t found = 0;
  std::size_t stride = 1;
  for (std::size_t i = 1; i <= extents.size(); ++i) {
    const auto extent = static_cast<std::size_t>(extents[extents.size() - i]);
    const std::size_t index = position % extent;
    position /= extent;
    if (i > static_cast<std::size_t>(shape.rank())) continue;
    const std::int64_t own = shape[shape.rank() - static_cast<std::int64_t>(i)].value();
    if (own != 1) found += index * stride;
    stride *= static_cast<std::size_t>(own);
  }
  return found;
}

}  // namespace

Expected<Constant> quotient(const Constant& a, const Constant& b) {
  if (!is_divisible(a) || !is_divisible(b)) return Constant{};
  const auto extents = broadcast(a.shape(), b.shape());
  if (!extents) return Constant{};
  Shape shape(*extents);
  const auto count = shape.element_count();
  if (!count || *count > most_elements) return Constant{};
  QUADRANT_TRY(const std::vector<double> dividends, read_reals(a));
  QUADRANT_TRY(const std::vector<double> divisors, read_reals(b));
  std::vector<double> quotients(static_cast<std::size_t>(*count));
  for (std::size_t i = 0; i < quotients.size(); ++i) {
    quotients[i] = dividends[broadcast_position(i, *extents, a.shape())] /
                   divisors[broadcast_position(i, *extents, b.shape())];
  }
  if (!are_finite(a.element(), quotients)) return Constant{};
  return rounded_constant(a.element(), std::move(shape), quotients);
}

}  // namespace quadrant::inline v0::weight_only

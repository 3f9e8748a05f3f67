#include "numerics/fake_quantize.hpp"

#include <limits>

namespace quadrant::inline v0 {
namespace {

ElementType storage_of(const FakeQuantRange& given) {
  if (given.num_bits <= 8) return given.is_signed ? ElementType::int8 : ElementType::uint8;
  if (given.num_bits <= 16) return given.is_signed ? ElementType::int16 : ElementType::uint16;
  return given.is_signed ? ElementType::int32 : ElementType::uint32;
}

}  // namespace

Expected<NudgedRange> nudged_range(const FakeQuantRange& given) {
  QUADRANT_CHECK(check(given));
  NudgedRange range{.storage = storage_of(given)};
  const auto codes = integer_range(range.storage).value_or(IntegerRange{});
  range.storage_min = codes.min + (given.narrow_range ? 1 : 0);
  range.storage_max = codes.max;
  const double length = given.max - given.min;
  if (length < std::numeric_limits<double>::epsilon()) {
    range.zero_point = range.storage_min;
    return range;
  }

  const auto first = static_cast<double>(range.storage_min);
  const auto last = static_cast<double>(range.storage_max);
  range.scale = length / (last - first);
  const double low = given.min / range.scale;
  const double high = given.max / range.scale;
  const bool from_low = std::abs(first) + std::abs(low) < std::abs(last) + std::abs(high);
  const double zero_point = from_low ? first - low : last - high;
  range.zero_point = static_cast<std::int64_t>(std::round(std::clamp(zero_point, first, last)));
  return range;
}

}  // namespace quadrant::inline v0

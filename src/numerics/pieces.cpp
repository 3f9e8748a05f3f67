#include "numerics/pieces.hpp"

#include <cmath>

#include "numerics/finite.hpp"
#include "quadrant/numerics/convert.hpp"

namespace quadrant::inline v0 {

Expected<std::span<const float>> FloatReader::read_runs(std::int64_t first, std::int64_t step,
                                                        std::size_t length, std::size_t count) {
  if (values_.size() < length * count) values_.resize(length * count);
  const std::span<float> values = std::span(values_).first(length * count);
  const auto width = static_cast<std::size_t>(byte_width(constant_.element()));
  const ByteRuns runs{.offset = static_cast<std::uint64_t>(first) * width,
                      .step = static_cast<std::uint64_t>(step) * width,
                      .length = length * width};
  if (constant_.element() == ElementType::float32) {
    QUADRANT_CHECK(constant_.read_runs(runs, std::as_writable_bytes(values)));
    return values;
  }
  raw_.resize(values.size() * width);
  QUADRANT_CHECK(constant_.read_runs(runs, raw_));
  widen_to_float(constant_.element(), raw_, values);
  return values;
}

std::optional<NonFinite> first_non_finite(std::span<const float> values, std::int64_t first) {
  if (are_finite(values)) return std::nullopt;
  const auto found =
      std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  return NonFinite{first + (found - values.begin()), *found};
}

}  // namespace quadrant::inline v0

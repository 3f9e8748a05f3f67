#include <fmt/format.h>

#include <cmath>

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {

Expected<void> check(const FakeQuantRange& range) {
  const double length = range.max - range.min;
  if (!(length >= 0) || !std::isfinite(length)) {
    return fail(ErrorCode::invalid_model,
                fmt::format("a fake quantization of the range {} to {}", range.min, range.max));
  }
  constexpr std::int64_t most_bits = 32;
  if (range.num_bits < 1 || range.num_bits > most_bits) {
    return fail(ErrorCode::invalid_model,
                fmt::format("a fake quantization to {} bits", range.num_bits));
  }
  return {};
}

}  // namespace quadrant::inline v0

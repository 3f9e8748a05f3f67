#include "numerics/within_float16.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "numerics/format_decoder.hpp"

namespace quadrant::inline v0 {
namespace {

// The first that is rounded to infinity: half a step above the largest.
constexpr float first_infinite = 65520;

// The codes of a format: as they are stored, in so many bytes.
struct Codes {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

Codes codes_of(const NumberCode& code) {
  if (const auto* const integer = std::get_if<IntegerCode>(&code)) {
    return {integer->min, integer->max};
  }
  if (const auto* const table = std::get_if<StoredTable>(&code)) return {0, table->levels - 1};
  return {0, (std::int64_t{1} << bit_width(code)) - 1};
}

void put(std::int64_t code, std::span<std::byte> at) {
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::byte>(code >> (8 * i));
}

}  // namespace

Expected<double> keep_within_float16(std::span<const float> real, std::span<const float> weights,
                                     const Shape& shape, const NumberFormat& format,
                                     Encoded& encoded) {
  QUADRANT_TRY(const FormatDecoder decoder, FormatDecoder::make(format, shape, encoded));
  std::vector<float> held(real.size());
  decoder.decode(encoded.codes, 0, held);
  const Codes codes = codes_of(format.code);
  double more = 0;
  for (std::size_t i = 0; i < real.size(); ++i) {
    if (std::fabs(held[i]) < first_infinite) continue;
    const std::span<std::byte> stored =
        std::span(encoded.codes).subspan(i * decoder.width(), decoder.width());
    std::optional<std::int64_t> nearest;
    float best = 0;
    for (std::int64_t code = codes.first; code <= codes.last; ++code) {
      put(code, stored);
      float value = 0;
      decoder.decode(stored, i, std::span(&value, 1));
      const bool is_held = std::fabs(value) < first_infinite;
      if (!is_held || (nearest && std::fabs(value - real[i]) >= std::fabs(best - real[i])))
        continue;
      nearest = code;
      best = value;
    }
    if (!nearest) {
      return fail(ErrorCode::impossible,
                  fmt::format("no code of {} stands for a number that float16 has, near to {}",
                              to_string(format), real[i]));
    }
    put(*nearest, stored);
    const auto square = [&](float value) {
      const double off = static_cast<double>(value) - static_cast<double>(real[i]);
      return off * off;
    };
    more += (square(best) - square(held[i])) * (weights.empty() ? 1 : weights[i]);
  }
  return more;
}

}  // namespace quadrant::inline v0

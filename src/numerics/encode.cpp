#include "quadrant/numerics/encode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "numerics/encoder.hpp"
#include "numerics/finite.hpp"
#include "numerics/format_decoder.hpp"
#include "numerics/pieces.hpp"

namespace quadrant::inline v0 {
namespace {

tl::unexpected<Error> cannot_encode(std::string message) {
  return fail(ErrorCode::impossible, std::move(message));
}

Expected<void> check_sizes(std::size_t count, const Shape& shape, std::string_view what) {
  const auto elements = shape.element_count();
  if (elements && static_cast<std::size_t>(*elements) == count) return {};
  return cannot_encode(
      fmt::format("{} {} for a tensor of shape {}", count, what, to_string(shape)));
}

Expected<void> check_format(const NumberFormat& format, const Shape& shape) {
  QUADRANT_CHECK(verify(format, shape));
  if (bit_width(format.code) <= 16) return {};
  return cannot_encode(
      fmt::format("codes of {} bits: they have 16 at most", bit_width(format.code)));
}

Expected<void> check_table(std::span<const float> table, const NumberFormat& format) {
  if (table.empty()) return {};
  const auto* const stored = std::get_if<StoredTable>(&format.code);
  if (stored == nullptr) return cannot_encode("a table for a format that stores none");
  if (table.size() != static_cast<std::size_t>(stored->levels)) {
    return cannot_encode(
        fmt::format("a table of {} values for {} levels", table.size(), stored->levels));
  }
  if (std::ranges::all_of(table, [](float value) { return std::isfinite(value); })) return {};
  return cannot_encode("a table with values that are not finite");
}

}  // namespace

Expected<Encoded> encode(std::span<const float> values, const Shape& shape,
                         const NumberFormat& format, const EncodeOptions& options) {
  QUADRANT_CHECK(check_format(format, shape));
  QUADRANT_CHECK(check_sizes(values.size(), shape, "values"));
  if (const auto found = first_non_finite(values, 0)) {
    return cannot_encode(fmt::format("element {} is {}", found->index, found->value));
  }
  if (!options.weights.empty()) {
    QUADRANT_CHECK(check_sizes(options.weights.size(), shape, "weights"));
    for (const float weight : options.weights) {
      if (!(weight >= 0) || std::isinf(weight)) {
        return cannot_encode(fmt::format("a weight of {}", weight));
      }
    }
  }
  QUADRANT_CHECK(check_table(options.table, format));
  return Encoder::run(values, shape, format, options);
}

Expected<void> decode(const Encoded& encoded, const Shape& shape, const NumberFormat& format,
                      std::span<float> out) {
  QUADRANT_TRY(const FormatDecoder decoder, FormatDecoder::make(format, shape, encoded));
  QUADRANT_CHECK(check_sizes(out.size(), shape, "values"));
  const std::size_t width = decoder.width();
  if (encoded.codes.size() != out.size() * width) {
    return cannot_encode(fmt::format("{} bytes of codes for {} values of {}", encoded.codes.size(),
                                     out.size(), to_string(format)));
  }
  for (std::size_t first = 0; first < out.size(); first += piece_elements) {
    const std::size_t size = std::min(piece_elements, out.size() - first);
    decoder.decode(std::span(encoded.codes).subspan(first * width, size * width), first,
                   out.subspan(first, size));
  }
  return {};
}

double squared_error(std::span<const float> values, std::span<const float> approximation,
                     std::span<const float> weights) {
  double total = 0;
  for (std::size_t first = 0; first < values.size(); first += piece_elements) {
    double sum = 0;
    const std::size_t end = std::min(first + piece_elements, values.size());
    for (std::size_t i = first; i < end; ++i) {
      const double error = static_cast<double>(values[i]) - static_cast<double>(approximation[i]);
      sum += error * error * (weights.empty() ? 1.0 : static_cast<double>(weights[i]));
    }
    total += sum;
  }
  return total;
}

}  // namespace quadrant::inline v0

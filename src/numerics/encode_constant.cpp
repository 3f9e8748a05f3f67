#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "numerics/format_decoder.hpp"
#include "numerics/pieces.hpp"
#include "numerics/reals.hpp"
#include "numerics/scale_steps.hpp"
#include "numerics/within_float16.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/round_weights.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<std::vector<float>> read_whole(const Constant& real) {
  const std::int64_t count = real.element_count();
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(count));
  FloatReader reader(real);
  for (std::int64_t first = 0; first < count; first += std::int64_t{piece_elements}) {
    QUADRANT_TRY(const auto piece, reader.read(first, piece_size(first, count)));
    values.insert(values.end(), piece.begin(), piece.end());
  }
  return values;
}

// Of the elements, row by row; all of them, each once.
Expected<std::vector<std::size_t>> places_of(const WeightMatrices& layout, std::size_t elements) {
  const std::size_t matrices = layout.matrices.size();
  const std::size_t rows = layout.rows.size();
  const std::size_t columns = layout.columns.size();
  std::vector<std::size_t> places;
  std::vector<bool> is_met(elements, false);
  places.reserve(elements);
  for (std::size_t i = 0; i < matrices * rows * columns; ++i) {
    const std::size_t place = layout.element(i / columns / rows, i / columns % rows, i % columns);
    if (place >= elements || is_met[place]) break;
    is_met[place] = true;
    places.push_back(place);
  }
  if (places.size() == elements && matrices * rows * columns == elements) return places;
  return fail(ErrorCode::impossible, "the moments are those of a weight of another shape");
}

Constant zero_points_of(ElementType storage, Shape shape, const std::vector<float>& numbers) {
  std::vector<std::int64_t> integers(numbers.size());
  std::ranges::transform(numbers, integers.begin(),
                         [](float number) { return static_cast<std::int64_t>(number); });
  return make_zero_points(storage, std::move(shape), integers);
}

// The scales of a uniform type: of the type that it says, and none is 0.
Constant uniform_scales(ElementType element, Shape shape, std::vector<float> numbers) {
  std::ranges::replace(numbers, 0.0F, 1.0F);
  if (element != ElementType::float64) {
    return make_scales(element, std::move(shape), std::move(numbers));
  }
  return make_exact_scales(element, std::move(shape), {numbers.begin(), numbers.end()});
}

Quantization quantization_of(Encoded encoded, const NumberFormat& format, const Shape& shape) {
  std::vector<Constant> constants;
  std::vector<std::vector<float>> numbers = std::move(encoded.scales);
  std::ranges::move(encoded.offsets, std::back_inserter(numbers));
  if (std::holds_alternative<StoredTable>(format.code)) {
    numbers.push_back(std::move(encoded.table));
  }
  const std::vector<FormatPart> wanted = parts_of(format);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Shape of_part = shape_of(wanted[i], shape);
    if (wanted[i].element != ElementType::float32) {
      constants.push_back(zero_points_of(wanted[i].element, std::move(of_part), numbers[i]));
    } else if (is_uniform(format)) {
      constants.push_back(uniform_scales(std::get<FloatScale>(format.scales.front().type).type,
                                         std::move(of_part), std::move(numbers[i])));
    } else {
      constants.push_back(
          make_scales(ElementType::float32, std::move(of_part), std::move(numbers[i])));
    }
  }
  return with_contents(format, constants);
}

// Scales that were searched for may lie so that the codes next to those that float16 does not hold
// are far: those of the format's usual rule do not.
Expected<void> encode_within_float16(std::span<const float> values, const Shape& shape,
                                     const NumberFormat& format, const EncodeOptions& options,
                                     Encoded& encoded) {
  QUADRANT_TRY(const double more,
               keep_within_float16(values, options.weights, shape, format, encoded));
  encoded.error += more;
  if (more == 0 || !options.search) return {};
  EncodeOptions usual = options;
  usual.search = false;
  QUADRANT_TRY(Encoded other, encode(values, shape, format, usual));
  QUADRANT_TRY(const double more_of_other,
               keep_within_float16(values, options.weights, shape, format, other));
  other.error += more_of_other;
  if (other.error < encoded.error) {
    other.bound = encoded.bound;
    encoded = std::move(other);
  }
  return {};
}

// e M e^T, of a row of errors.
double error_of(std::span<const double> errors, std::span<const double> moments) {
  double sum = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const auto row = moments.subspan(i * errors.size(), errors.size());
    sum += errors[i] * std::inner_product(errors.begin(), errors.end(), row.begin(), 0.0);
  }
  return sum;
}

}  // namespace

Expected<EncodedConstant> encode_constant(const Constant& real, const NumberFormat& format,
                                          const EncodeOptions& options) {
  if (!is_float(real.element())) {
    return fail(ErrorCode::impossible,
                fmt::format("values of type {} cannot be quantized: only floats can",
                            to_string(real.element())));
  }
  QUADRANT_TRY(const std::vector<float> values, read_whole(real));
  QUADRANT_TRY(Encoded encoded, encode(values, real.shape(), format, options));
  if (real.element() == ElementType::float16) {
    QUADRANT_CHECK(encode_within_float16(values, real.shape(), format, options, encoded));
  }
  EncodedConstant made;
  made.error = encoded.error;
  made.bound = encoded.bound;
  made.codes =
      Constant::from_bytes(storage_element(format), real.shape(), std::move(encoded.codes));
  made.quantization = quantization_of(std::move(encoded), format, real.shape());
  return made;
}

Expected<Quantization> scaled_for(const NumberFormat& format, float largest) {
  const auto is_whole = [](const FormatPart& part) {
    return part.groups.kind == Granularity::Kind::tensor;
  };
  if (format.scales.empty() || !std::ranges::all_of(parts_of(format), is_whole)) {
    return fail(ErrorCode::impossible,
                fmt::format("{} has no scale of a whole tensor alone", to_string(format)));
  }
  if (!std::isfinite(largest)) {
    return fail(ErrorCode::impossible,
                fmt::format("there is no scale for values up to {}", largest));
  }
  if (largest == 0) largest = 1;
  const std::array values{-largest, largest};
  QUADRANT_TRY(Encoded encoded, encode(values, Shape{2}, format, {.search = false}));
  std::array<float, 2> held{};
  QUADRANT_CHECK(decode(encoded, Shape{2}, format, held));
  // By the rule of e8m0, what is above the last code of a scale is clipped, and is meant to be.
  const ScaleSteps steps(format.scales.front(), 1);
  const bool is_last = encoded.scales.front()[0] >= steps.number(steps.last());
  if (is_last && std::fabs(held[1]) < std::fabs(largest)) {
    return fail(ErrorCode::impossible,
                fmt::format("values up to {} need a scale that is larger than any of {}, which "
                            "holds them up to {}",
                            largest, to_string(format), held[1]));
  }
  return quantization_of(std::move(encoded), format, Shape{2});
}

Expected<RoundedWeights> round_constant(const Constant& real, const SecondMoments& moments,
                                        EncodedConstant& encoded,
                                        const RoundWeightsOptions& options) {
  QUADRANT_TRY(const std::vector<float> values, read_whole(real));
  const ScaledFormat scaled = scaled_format(encoded.quantization);
  QUADRANT_TRY(Encoded numbers, numbers_of(scaled));
  numbers.codes.resize(encoded.codes.byte_size());
  QUADRANT_CHECK(encoded.codes.read(0, numbers.codes));
  NumberFormat format = scaled.format;
  for (std::size_t i = 0; i < numbers.scales.size(); ++i) {
    auto* const type = std::get_if<FloatScale>(&format.scales[i].type);
    const auto is_negative = [](float scale) { return scale < 0; };
    if (type != nullptr && std::ranges::any_of(numbers.scales[i], is_negative)) {
      type->has_sign = true;
    }
  }
  QUADRANT_TRY(const RoundedWeights rounded,
               round_weights(values, real.shape(), format, moments, numbers, options));
  if (real.element() == ElementType::float16) {
    QUADRANT_CHECK(
        keep_within_float16(values, {}, real.shape(), format, numbers).map([](double) {}));
  }
  encoded.codes =
      Constant::from_bytes(encoded.codes.element(), real.shape(), std::move(numbers.codes));
  encoded.quantization = quantization_of(std::move(numbers), scaled.format, real.shape());
  encoded.rounded = rounded;
  return rounded;
}

Expected<void> round_rows(const Constant& real, const SecondMoments& moments, double damping,
                          EncodedConstant& encoded,
                          const std::function<void(const RowToRound&)>& round) {
  const NumberFormat format = scaled_format(encoded.quantization).format;
  if (!is_uniform(format) || format.offset != Offset::none || bit_width(format.code) > 8) {
    return fail(ErrorCode::impossible,
                "rows are rounded to uniform codes of 8 bits and fewer, without zero points");
  }
  if (encoded.codes.shape() != real.shape() || !(damping > 0)) {
    return fail(ErrorCode::impossible, "codes of the same shape and a damping above 0 are needed");
  }
  QUADRANT_TRY(const std::vector<double> reals, read_reals(real));
  std::vector<std::byte> codes(reals.size(), std::byte{1});
  const auto as_constant = [&] {
    return Constant::from_bytes(encoded.codes.element(), encoded.codes.shape(), codes);
  };
  QUADRANT_TRY(const Constant ones, dequantized(as_constant(), encoded.quantization));
  QUADRANT_TRY(const std::vector<double> steps, read_reals(ones));
  QUADRANT_TRY(const std::vector<std::size_t> places, places_of(moments.layout(), reals.size()));
  QUADRANT_TRY(const Constant decoded, dequantized(encoded.codes, encoded.quantization));
  QUADRANT_TRY(const std::vector<double> before, read_reals(decoded));
  const std::size_t columns = moments.layout().columns.size();
  std::vector<double> row_reals(columns);
  std::vector<double> row_steps(columns);
  std::vector<double> row_codes(columns);
  std::vector<double> row_before(columns);
  std::vector<double> row_now(columns);
  RoundedWeights rounded;
  const auto& integers = std::get<IntegerCode>(format.code);
  const auto least = static_cast<double>(integers.min);
  const auto most = static_cast<double>(integers.max);
  std::size_t next = 0;
  for (std::size_t matrix = 0; matrix < moments.layout().matrices.size(); ++matrix) {
    const std::vector<double> factor = moments.factor(matrix, damping);
    const std::vector<double> mean = moments.mean(matrix);
    for (std::size_t row = 0; row < moments.layout().rows.size(); ++row, next += columns) {
      const auto at = std::span(places).subspan(next, columns);
      for (std::size_t i = 0; i < columns; ++i) {
        row_reals[i] = reals[at[i]];
        row_steps[i] = steps[at[i]];
        row_before[i] = before[at[i]] - reals[at[i]];
      }
      std::ranges::fill(row_codes, std::numeric_limits<double>::quiet_NaN());
      round({row_reals, row_steps, factor, least, most, row_codes});
      for (std::size_t i = 0; i < columns; ++i) {
        const double code = row_codes[i];
        const bool is_one = code >= least && code <= most && code == std::round(code);
        if (!is_one) {
          return fail(ErrorCode::impossible,
                      fmt::format("a rounder made the code {}, which is no integer from {} to {}",
                                  code, least, most));
        }
        codes[at[i]] = static_cast<std::byte>(static_cast<int>(code));
        row_now[i] = code * row_steps[i] - row_reals[i];
      }
      ++rounded.rows;
      rounded.nearest += error_of(row_before, mean);
      rounded.error += error_of(row_now, mean);
    }
  }
  encoded.codes = as_constant();
  encoded.rounded = rounded;
  return {};
}

}  // namespace quadrant::inline v0

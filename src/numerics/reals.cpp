#include "numerics/reals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "ir/float16.hpp"
#include "ir/scales.hpp"
#include "numerics/groups.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

bool is_wide_float(ElementType element) noexcept {
  return element == ElementType::float32 || element == ElementType::float64;
}

Expected<std::vector<double>> read_reals(const Constant& constant) {
  if (!is_float(constant.element())) {
    return fail(ErrorCode::impossible,
                fmt::format("a constant of type {} is not float", to_string(constant.element())));
  }
  QUADRANT_TRY(const ConstantBytes contents, constant.read());
  if (constant.element() == ElementType::float64) {
    const auto values = contents.as<double>();
    return std::vector<double>(values.begin(), values.end());
  }
  std::vector<float> values(static_cast<std::size_t>(constant.element_count()));
  widen_to_float(constant.element(), contents.bytes(), values);
  return std::vector<double>(values.begin(), values.end());
}

Expected<std::vector<double>> read_reals(const Constant& codes, const Quantization& quantization) {
  const ScaledFormat scaled = scaled_format(quantization);
  if (bit_width(scaled.format.code) <= 16 || !is_uniform(scaled.format)) {
    QUADRANT_TRY(const Constant real, dequantized(codes, quantization));
    return read_reals(real);
  }
  QUADRANT_TRY(const Groups groups, Groups::of(codes.shape(), innermost_groups(scaled.format)));
  QUADRANT_TRY(const auto integers, read_integers(codes, codes.element_count()));
  QUADRANT_TRY(const std::vector<float> scales, read_scales(quantization));
  QUADRANT_TRY(const std::vector<std::int64_t> zeros, read_zero_points(quantization));
  if (std::cmp_less(scales.size(), groups.group_count()) || zeros.size() != scales.size()) {
    return fail(ErrorCode::invalid_model, "fewer scales than codes need");
  }
  std::vector<double> reals(integers.size());
  groups.for_each_element(0, integers.size(), [&](std::size_t i, std::size_t group) {
    reals[i] = static_cast<double>(scales[group]) * static_cast<double>(integers[i] - zeros[group]);
  });
  return reals;
}

Constant rounded_constant(ElementType element, Shape shape, std::span<const double> values) {
  if (element == ElementType::float64) {
    return Constant::from_values<double>(element, std::move(shape), values);
  }
  if (element != ElementType::float32) {
    QUADRANT_ASSERT(element == ElementType::float16 || element == ElementType::bfloat16);
    std::vector<std::uint16_t> halves(values.size());
    std::ranges::transform(values, halves.begin(), [&](double value) {
      const auto single = static_cast<float>(value);
      return element == ElementType::float16 ? round_to_float16(single) : round_to_bfloat16(single);
    });
    return Constant::from_values<std::uint16_t>(element, std::move(shape), halves);
  }
  std::vector<float> rounded(values.size());
  std::ranges::transform(values, rounded.begin(),
                         [](double value) { return static_cast<float>(value); });
  return Constant::from_values<float>(element, std::move(shape), rounded);
}

bool are_finite(ElementType element, std::span<const double> values) {
  return std::ranges::all_of(values, [element](double value) {
    return element == ElementType::float64 ? std::isfinite(value)
                                           : std::isfinite(static_cast<float>(value));
  });
}

}  // namespace quadrant::inline v0

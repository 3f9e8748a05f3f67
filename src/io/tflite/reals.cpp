#include "io/tflite/reals.hpp"

#include <algorithm>

#include "io/tflite/failure.hpp"
#include "io/tflite/spread.hpp"
#include "ir/scales.hpp"
#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0::tflite {
namespace {

std::vector<double> reals_of_wide_codes(const Constant& constant, const UniformType& type) {
  const std::int64_t count = constant.element_count();
  const auto codes = value_of(read_integers(constant, count));
  const std::vector<float> scales = value_of(read_scales(type.scales));
  const std::vector<std::int64_t> zeros = value_of(read_zero_points(type));
  const Spread spread = spread_of(constant.shape(), type.granularity);
  std::vector<double> reals;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t at = spread.parameter_of(static_cast<std::int64_t>(i));
    if (at >= scales.size()) invalid("fewer scales than codes need");
    reals.push_back(static_cast<double>(scales[at]) * static_cast<double>(codes[i] - zeros[at]));
  }
  return reals;
}

}  // namespace

std::vector<double> reals_of(const Constant& constant,
                             const std::shared_ptr<const UniformType>& quantization) {
  if (quantization && bit_width(quantization->storage) > 16) {
    return reals_of_wide_codes(constant, *quantization);
  }
  const Constant numbers = quantization ? value_of(dequantized(constant, quantization)) : constant;
  if (is_integer(numbers.element())) {
    const auto integers = value_of(read_integers(numbers, numbers.element_count()));
    return {integers.begin(), integers.end()};
  }
  std::vector<float> reals(static_cast<std::size_t>(numbers.element_count()));
  const ConstantBytes bytes = value_of(numbers.read());
  widen_to_float(numbers.element(), bytes.bytes(), reals);
  return {reals.begin(), reals.end()};
}

}  // namespace quadrant::inline v0::tflite

#include "transforms/reals.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace quadrant::inline v0 {

bool is_wide_float(ElementType element) noexcept {
  return element == ElementType::float32 || element == ElementType::float64;
}

Expected<std::vector<double>> read_reals(const Constant& constant) {
  QUADRANT_TRY(const ConstantBytes bytes, constant.read());
  if (constant.element() == ElementType::float64) {
    const auto values = bytes.as<double>();
    return std::vector<double>(values.begin(), values.end());
  }
  const auto values = bytes.as<float>();
  return std::vector<double>(values.begin(), values.end());
}

Constant rounded_constant(ElementType element, Shape shape, std::span<const double> values) {
  if (element == ElementType::float64) {
    return Constant::from_values<double>(element, std::move(shape), values);
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

bool is_channelwise(const Constant& constant, std::int64_t channels, std::int64_t axis,
                    std::int64_t rank) {
  const Shape& shape = constant.shape();
  if (shape.rank() > rank) return false;
  if (constant.element_count() == 1) return true;
  return constant.element_count() == channels && shape.rank() >= -axis &&
         shape[shape.rank() + axis] == channels;
}

Expected<std::vector<double>> read_channels(const Constant& constant, std::int64_t channels) {
  QUADRANT_TRY(std::vector<double> values, read_reals(constant));
  if (values.size() == 1) values.resize(static_cast<std::size_t>(channels), values[0]);
  return values;
}

}  // namespace quadrant::inline v0

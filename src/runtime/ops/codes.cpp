#include "runtime/ops/codes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "numerics/affine.hpp"
#include "runtime/broadcast.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Calls `body.template operator()<T>(range)`, T being what holds a code.
template <class Body>
Expected<Tensor> with_code(const Tensor& codes, Body body) {
  const auto range = integer_range(codes.element());
  if (range && byte_width(codes.element()) == 1) {
    return range->min < 0 ? body.template operator()<std::int8_t>(*range)
                          : body.template operator()<std::uint8_t>(*range);
  }
  return KernelCall::refuse(
      fmt::format("codes of type {}, where 8 bits are wanted", to_string(codes.element())));
}

Expected<void> check_broadcasts(const Tensor& parameters, const Shape& shape) {
  if (broadcast_shape(parameters.shape(), shape) == shape) return {};
  return KernelCall::refuse(fmt::format("parameters of shape [{}] for a tensor of shape [{}]",
                                        to_string(parameters.shape()), to_string(shape)));
}

// float64 numbers, each from the code and the zero point in its place.
template <class T>
Expected<Tensor> difference(const Tensor& codes, const Tensor& zero_points) {
  QUADRANT_TRY(Tensor y, Tensor::make(ElementType::float64, codes.shape()));
  const T* const code = codes.as<T>().data();
  double* const out = y.fill<double>().data();
  if (!zero_points) {
    std::copy_n(code, codes.element_count(), out);
    return y;
  }
  const T* const zero = zero_points.as<T>().data();
  const std::array strides{broadcast_strides(zero_points.shape(), codes.shape())};
  for_each_run(codes.shape(), strides,
               [&](std::int64_t position, const std::array<std::int64_t, 1>& offsets,
                   std::int64_t length, const std::array<std::int64_t, 1>& steps) {
                 for (std::int64_t i = 0; i < length; ++i) {
                   out[position + i] = code[position + i] - zero[offsets[0] + i * steps[0]];
                 }
               });
  return y;
}

template <class T>
Expected<Tensor> requantized_to(IntegerRange range, const Tensor& sums,
                                const Requantization& parameters) {
  const auto& [a_scale, b_scale, y_scale, y_zero_point] = parameters;
  const Shape& shape = sums.shape();
  QUADRANT_TRY(Tensor y, Tensor::make(y_zero_point.element(), shape));
  const double* const sum = sums.as<double>().data();
  const float* const a = a_scale.as<float>().data();
  const float* const b = b_scale.as<float>().data();
  const float* const c = y_scale.as<float>().data();
  const T* const zero = y_zero_point.as<T>().data();
  T* const out = y.fill<T>().data();
  const std::array strides{
      broadcast_strides(a_scale.shape(), shape), broadcast_strides(b_scale.shape(), shape),
      broadcast_strides(y_scale.shape(), shape), broadcast_strides(y_zero_point.shape(), shape)};
  for_each_run(shape, strides,
               [&](std::int64_t position, const std::array<std::int64_t, 4>& at,
                   std::int64_t length, const std::array<std::int64_t, 4>& steps) {
                 for (std::int64_t i = 0; i < length; ++i) {
                   const float factor =
                       a[at[0] + i * steps[0]] * b[at[1] + i * steps[1]] / c[at[2] + i * steps[2]];
                   const auto real = static_cast<float>(sum[position + i]) * factor;
                   out[position + i] = static_cast<T>(quantize_value(
                       real, 1.0F, zero[at[3] + i * steps[3]], range.min, range.max));
                 }
               });
  return y;
}

}  // namespace

Expected<Tensor> centered(const Tensor& codes, const Tensor& zero_points) {
  if (zero_points) {
    if (zero_points.element() != codes.element()) {
      return KernelCall::refuse(fmt::format("zero points of type {} for codes of type {}",
                                            to_string(zero_points.element()),
                                            to_string(codes.element())));
    }
    QUADRANT_CHECK(check_broadcasts(zero_points, codes.shape()));
  }
  return with_code(codes, [&]<class T>(IntegerRange) { return difference<T>(codes, zero_points); });
}

Expected<Tensor> to_int32(const Tensor& sums) {
  QUADRANT_TRY(Tensor y, Tensor::make(ElementType::int32, sums.shape()));
  std::ranges::transform(sums.as<double>(), y.fill<std::int32_t>().begin(), [](double sum) {
    return static_cast<std::int32_t>(static_cast<std::int64_t>(sum));
  });
  return y;
}

Expected<Tensor> requantized(const Tensor& sums, const Requantization& parameters) {
  const auto& [a_scale, b_scale, y_scale, y_zero_point] = parameters;
  for (const Tensor* scale : {&a_scale, &b_scale, &y_scale}) {
    if (scale->element() != ElementType::float32) {
      return KernelCall::refuse(fmt::format("scales of type {}", to_string(scale->element())));
    }
    QUADRANT_CHECK(check_broadcasts(*scale, sums.shape()));
  }
  QUADRANT_CHECK(check_broadcasts(y_zero_point, sums.shape()));
  return with_code(y_zero_point, [&]<class T>(IntegerRange range) {
    return requantized_to<T>(range, sums, parameters);
  });
}

Tensor along_axis(const Tensor& parameters, std::int64_t axes_behind) {
  if (parameters.rank() != 1) return parameters;
  if (parameters.extent(0) == 1) return parameters.reshaped(Shape::scalar());
  std::vector<std::int64_t> extents(static_cast<std::size_t>(axes_behind) + 1, 1);
  extents.front() = parameters.extent(0);
  return parameters.reshaped(Shape(extents));
}

}  // namespace quadrant::inline v0::interpreted

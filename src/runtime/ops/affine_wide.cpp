#include "runtime/ops/affine_wide.hpp"

#include <cmath>
#include <type_traits>
#include <vector>

#include "ir/scales.hpp"
#include "numerics/affine.hpp"
#include "numerics/groups.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/ops/cast.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

bool computes_float64(const UniformType& type) noexcept {
  return type.expressed == ElementType::float64 && type.scales &&
         type.scales.element() == ElementType::float64;
}

template <class Real>
struct WideParameters {
  Groups groups;
  std::vector<Real> scales;
  std::vector<std::int64_t> zero_points;

  // Calls `body(element, scale, zero point)` for all elements.
  template <class Body>
  void for_each(Body body) const {
    const auto count = static_cast<std::size_t>(groups.element_count());
    groups.for_each_run(0, count, [&](std::size_t group, std::size_t position, std::size_t length) {
      for (std::size_t i = 0; i < length; ++i) {
        const std::size_t own = groups.interleaved() ? group + i : group;
        body(position + i, scales[own], zero_points[own]);
      }
    });
  }
};

template <class Real>
Expected<WideParameters<Real>> wide_parameters(const UniformType& type, const Shape& shape) {
  QUADRANT_CHECK(verify(type, shape));
  QUADRANT_TRY(const Groups groups, Groups::of(shape, type.granularity));
  WideParameters<Real> parameters{groups, {}, {}};
  if constexpr (std::is_same_v<Real, double>) {
    QUADRANT_TRY(parameters.scales, read_exact_scales(type.scales));
  } else {
    QUADRANT_TRY(parameters.scales, read_scales(type.scales));
  }
  QUADRANT_TRY(parameters.zero_points, read_zero_points(type));
  return parameters;
}

std::int64_t code_of(float real, float scale, std::int64_t zero, const UniformType& type) {
  return quantize_value(real, scale, zero, type.storage_min, type.storage_max);
}

std::int64_t code_of(double real, double scale, std::int64_t zero, const UniformType& type) {
  constexpr RoundingProfile rounding{.quotient = QuotientPrecision::float64};
  return quantize_value(real, scale, zero, type.storage_min, type.storage_max, rounding);
}

// Calls `body.template operator()<Code>()` with what holds codes of that type.
template <class Body>
Expected<Tensor> with_wide_codes(ElementType storage, Body body) {
  return with_one_of<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                     std::uint32_t>(storage, body, "codes of type");
}

template <class Real>
Expected<Tensor> quantize_in(const Tensor& real, const UniformType& type) {
  QUADRANT_TRY(const WideParameters<Real> parameters, wide_parameters<Real>(type, real.shape()));
  QUADRANT_TRY(const Tensor values, cast_to(real, element_of<Real>));
  QUADRANT_TRY(Tensor codes, Tensor::make(type.storage, real.shape()));
  return with_wide_codes(type.storage, [&]<class Code>() -> Expected<Tensor> {
    const std::span<const Real> from = values.as<Real>();
    const std::span<Code> to = codes.fill<Code>();
    parameters.for_each([&](std::size_t i, Real scale, std::int64_t zero) {
      to[i] = static_cast<Code>(code_of(from[i], scale, zero, type));
    });
    return codes;
  });
}

template <class Real>
Expected<Tensor> dequantize_in(const Tensor& codes, const UniformType& type) {
  QUADRANT_TRY(const WideParameters<Real> parameters, wide_parameters<Real>(type, codes.shape()));
  QUADRANT_TRY(Tensor values, Tensor::make(element_of<Real>, codes.shape()));
  return with_wide_codes(codes.element(), [&]<class Code>() -> Expected<Tensor> {
    const std::span<const Code> from = codes.as<Code>();
    const std::span<Real> to = values.fill<Real>();
    parameters.for_each([&](std::size_t i, Real scale, std::int64_t zero) {
      to[i] = scale * static_cast<Real>(std::int64_t{from[i]} - zero);
    });
    return cast_to(values, type.expressed);
  });
}

}  // namespace

bool is_wide(const UniformType& type) noexcept {
  return type.storage == ElementType::uint32 || computes_float64(type);
}

Expected<Tensor> quantize_wide_tensor(const Tensor& real, const UniformType& type) {
  return computes_float64(type) ? quantize_in<double>(real, type) : quantize_in<float>(real, type);
}

Expected<Tensor> dequantize_wide_tensor(const Tensor& codes, const UniformType& type) {
  return computes_float64(type) ? dequantize_in<double>(codes, type)
                                : dequantize_in<float>(codes, type);
}

}  // namespace quadrant::inline v0::interpreted

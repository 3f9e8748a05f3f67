#include "runtime/ops/affine.hpp"

#include <cmath>
#include <type_traits>

#include "numerics/affine.hpp"
#include "numerics/affine_kernels.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/ops/cast.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// Calls `body.template operator()<Code>()` with what holds codes of that type.
template <class Body>
Expected<Tensor> with_codes(ElementType storage, Body body) {
  return with_one_of<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t>(
      storage, body, "codes of type");
}

// quantize_run and dequantize_run are for codes whose distances a float32 holds exactly. For those
// of 32 bits:

template <bool each>
void quantize_wide(const float* real, std::int32_t* codes, std::size_t count, RunParameters run,
                   std::int32_t min, std::int32_t max) {
  for (std::size_t i = 0; i < count; ++i) {
    const float scale = run.scales[each ? i : 0];
    const std::int32_t zero_point = run.zero_points[each ? i : 0];
    // As quantize_run, also where a scale that was computed is 0 or not finite.
    const bool defined = !std::isnan(real[i] / scale);
    codes[i] = defined
                   ? static_cast<std::int32_t>(quantize_value(real[i], scale, zero_point, min, max))
                   : zero_point;
  }
}

template <bool each>
void dequantize_wide(const std::int32_t* codes, float* real, std::size_t count, RunParameters run) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t k = each ? i : 0;
    real[i] = dequantize_value(codes[i], run.scales[k], run.zero_points[k]);
  }
}

}  // namespace

Expected<Parameters> affine_parameters(const Shape& shape, ElementType storage,
                                       const Granularity& granularity, std::vector<float> scales,
                                       std::span<const std::int64_t> zero_points) {
  const auto range = integer_range(storage);
  if (!range || storage == ElementType::uint32) {
    return KernelCall::refuse(fmt::format("codes of type {}", to_string(storage)));
  }
  QUADRANT_TRY(const Groups groups, Groups::of(shape, granularity));
  const auto count = static_cast<std::size_t>(groups.group_count());
  if (scales.size() != count || (!zero_points.empty() && zero_points.size() != count)) {
    return KernelCall::refuse(
        fmt::format("{} scales and {} zero points for a tensor of shape [{}], which needs {}",
                    scales.size(), zero_points.size(), to_string(shape), count));
  }
  const auto owner = std::make_shared<const std::vector<float>>(std::move(scales));
  Parameters parameters{.groups = groups,
                        .scales = ConstantBytes(owner, std::as_bytes(std::span(*owner))),
                        .zero_points = std::vector<std::int32_t>(count),
                        .storage_min = static_cast<std::int32_t>(range->min),
                        .storage_max = static_cast<std::int32_t>(range->max)};
  std::ranges::transform(zero_points, parameters.zero_points.begin(),
                         [](std::int64_t value) { return static_cast<std::int32_t>(value); });
  return parameters;
}

Expected<Tensor> quantize_tensor(const Tensor& real, const Parameters& parameters,
                                 ElementType storage) {
  QUADRANT_TRY(const Tensor values, cast_to(real, ElementType::float32));
  QUADRANT_TRY(Tensor codes, Tensor::make(storage, real.shape()));
  return with_codes(storage, [&]<class Code>() -> Expected<Tensor> {
    const float* const from = values.as<float>().data();
    const std::span<Code> to = codes.fill<Code>();
    if constexpr (sizeof(Code) < 4) {
      parameters.quantize(0, std::span(from, to.size()), to.data());
    } else {
      parameters.for_each_run(
          0, to.size(),
          [&](auto each, RunParameters run, std::size_t position, std::size_t length) {
            quantize_wide<each.value>(from + position, to.data() + position, length, run,
                                      parameters.storage_min, parameters.storage_max);
          });
    }
    return codes;
  });
}

Expected<Tensor> dequantize_tensor(const Tensor& codes, const Parameters& parameters,
                                   ElementType expressed) {
  QUADRANT_TRY(Tensor values, Tensor::make(ElementType::float32, codes.shape()));
  const auto dequantize_codes = [&]<class Code>() -> Expected<Tensor> {
    const std::span<const Code> from = codes.as<Code>();
    float* const to = values.fill<float>().data();
    if constexpr (sizeof(Code) < 4) {
      parameters.dequantize(0, from, to);
    } else {
      parameters.for_each_run(
          0, from.size(),
          [&](auto each, RunParameters run, std::size_t position, std::size_t length) {
            dequantize_wide<each.value>(from.data() + position, to + position, length, run);
          });
    }
    return values;
  };
  QUADRANT_TRY(const Tensor real, with_codes(codes.element(), dequantize_codes));
  return cast_to(real, expressed);
}

}  // namespace quadrant::inline v0::interpreted

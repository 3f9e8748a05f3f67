// Quantization to uint8 by the range that the values have.
#include <algorithm>
#include <cmath>

#include "ir/ops/codes.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/affine.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

struct Range {
  float min = 0;
  float max = 0;
};

// Of the values and 0; NaN is left out.
Range range_of(std::span<const float> values) {
  Range range;
  for (const float value : values) {
    range.min = std::min(range.min, value);
    range.max = std::max(range.max, value);
  }
  return range;
}

template <class T>
Tensor scalar(ElementType element, T value) {
  return Tensor::from_values<T>(element, Shape::scalar(), std::span(&value, 1));
}

// Results: codes, scale, zero point. As ONNX says, computed in float32; without a range, the scale
// is 1.
Expected<Tensors> dynamic_quantize_linear(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  if (x.element() != ElementType::float32) {
    return KernelCall::refuse(
        fmt::format("an operand of type {}, where f32 is wanted", to_string(x.element())));
  }
  constexpr float codes = 255;
  const Range range = range_of(x.as<float>());
  const float scale = range.min == range.max ? 1 : (range.max - range.min) / codes;
  const float exact = std::nearbyint(std::clamp(-range.min / scale, 0.0F, codes));
  const auto zero_point = static_cast<std::uint8_t>(std::isnan(exact) ? 0 : exact);
  QUADRANT_TRY(const Parameters parameters,
               affine_parameters(x.shape(), ElementType::uint8, Granularity::per_tensor(), {scale},
                                 std::array{std::int64_t{zero_point}}));
  QUADRANT_TRY(Tensor y, quantize_tensor(x, parameters, ElementType::uint8));
  return Tensors{std::move(y), scalar(ElementType::float32, scale),
                 scalar(ElementType::uint8, zero_point)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_dynamic_quantize_linear() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::DynamicQuantizeLinear::kind, dynamic_quantize_linear}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted

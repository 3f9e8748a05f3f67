// Normalizations over the axes from one on: LayerNormalization by mean and deviation,
// RMSNormalization by the root mean square alone; com.microsoft's of both that add two operands
// first.
//
// float16 and bfloat16 are computed in float32; the statistics stay in that (stash_type).
#include <cmath>
#include <limits>

#include "ir/ops/normalization.hpp"
#include "runtime/half_floats.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/lanes.hpp"
#include "runtime/ops/standardize.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

constexpr std::int64_t onnx_float = 1;
constexpr std::int64_t onnx_bfloat16 = 16;

// What is normalized, and with what.
struct Layer {
  Tensor x;  // not a half float
  std::int64_t axis = 0;
  Spread spread = Spread::deviation;
  double epsilon = 1e-5;
  Tensor scale;
  Tensor bias;
};

// One statistic a row, under the data's shape with ones from the axis on.
Expected<Tensor> statistic(const KernelCall& call, const Layer& layer,
                           const std::vector<double>& values) {
  std::vector<std::int64_t> extents(layer.x.extents().begin(), layer.x.extents().end());
  std::fill(extents.begin() + layer.axis, extents.end(), 1);
  QUADRANT_TRY(Tensor result, Tensor::make(ElementType::float32, Shape(extents)));
  std::ranges::fill(result.fill<float>(), std::numeric_limits<float>::quiet_NaN());  // empty rows
  std::ranges::transform(values, result.fill<float>().begin(),
                         [](double value) { return static_cast<float>(value); });
  const auto stash = call.attribute_or("stash_type", onnx_float);
  if (stash == onnx_float) return result;
  if (stash == onnx_bfloat16) return rounded_to(ElementType::bfloat16, result);
  return KernelCall::refuse(
      fmt::format("stash_type {}, where 1 (float) and 16 (bfloat16) are known", stash));
}

// Results: normalized data in the type of operand 0, mean, inverse spread.
Expected<Tensors> normalized(const KernelCall& call, const Layer& layer) {
  const std::int64_t length = lanes_from(layer.x.shape(), layer.axis).length;
  QUADRANT_TRY(Standardized rows, standardize_rows(layer.x, length, layer.spread, layer.epsilon));
  QUADRANT_CHECK(scale_and_shift(rows.values, layer.x.shape(), layer.scale, layer.bias));
  const ElementType element = call.operand(0).element();
  if (is_half_float(element)) {
    QUADRANT_TRY(rows.values, rounded_to(element, rows.values));
  }
  QUADRANT_TRY(Tensor mean, statistic(call, layer, rows.mean));
  QUADRANT_TRY(Tensor inverse, statistic(call, layer, rows.inverse_spread));
  return Tensors{std::move(rows.values), std::move(mean), std::move(inverse)};
}

Expected<Layer> layer_of(const KernelCall& call, Spread spread) {
  Layer layer{.spread = spread, .epsilon = call.attribute_or("epsilon", 1e-5)};
  QUADRANT_TRY(layer.x, widened(call.operand(0)));
  QUADRANT_TRY(layer.axis, axis_attribute(call, -1, layer.x.rank()));
  QUADRANT_TRY(layer.scale, widened(call.operand(1)));
  if (!layer.scale) return KernelCall::refuse("no scale");
  if (spread == Spread::deviation) {
    QUADRANT_TRY(layer.bias, widened(call.operand(2)));
  }
  return layer;
}

// The sum of the operands, which broadcast to the first one's shape.
Expected<Tensor> sum_of(std::initializer_list<const Tensor*> operands) {
  const Tensor& first = **operands.begin();
  QUADRANT_TRY(const Tensor start, widened(first));
  QUADRANT_TRY(Tensor sum, Tensor::make(start.element(), start.shape()));
  std::ranges::copy(start.bytes(), sum.fill_bytes().begin());
  for (const Tensor* operand : std::span(operands).subspan(1)) {
    QUADRANT_TRY(const Tensor wide, widened(*operand));
    QUADRANT_CHECK(scale_and_shift(sum, sum.shape(), Tensor(), wide));
  }
  return sum;
}

// The operands end with: scale, [bias of the normalization], [bias of the data].
Expected<Tensors> skip_normalized(const KernelCall& call, Spread spread) {
  const bool has_shift = spread == Spread::deviation;
  if (!call.has(0) || !call.has(1) || call.operand(0).rank() < 1) {
    return KernelCall::refuse("the data and what it skips are wanted");
  }
  Layer layer{.spread = spread, .epsilon = call.attribute_or("epsilon", 1e-12)};
  QUADRANT_TRY(layer.x,
               sum_of({&call.operand(0), &call.operand(1), &call.operand(has_shift ? 4 : 3)}));
  layer.axis = layer.x.rank() - 1;
  QUADRANT_TRY(layer.scale, widened(call.operand(2)));
  if (has_shift) {
    QUADRANT_TRY(layer.bias, widened(call.operand(3)));
  }
  QUADRANT_TRY(Tensors results, normalized(call, layer));
  const ElementType element = call.operand(0).element();
  if (is_half_float(element)) {
    QUADRANT_TRY(layer.x, rounded_to(element, layer.x));
  }
  results.push_back(std::move(layer.x));
  return results;
}

Expected<Tensors> layer_normalization(const KernelCall& call) {
  QUADRANT_TRY(const Layer layer, layer_of(call, Spread::deviation));
  return normalized(call, layer);
}

Expected<Tensors> rms_normalization(const KernelCall& call) {
  QUADRANT_TRY(const Layer layer, layer_of(call, Spread::root_mean_square));
  QUADRANT_TRY(Tensors results, normalized(call, layer));
  results.erase(results.begin() + 1);  // there is no mean
  return results;
}

Expected<Tensors> skip_layer_normalization(const KernelCall& call) {
  return skip_normalized(call, Spread::deviation);
}

Expected<Tensors> skip_rms_normalization(const KernelCall& call) {
  return skip_normalized(call, Spread::root_mean_square);
}

}  // namespace

std::span<const KernelEntry> kernels::in_layer_normalization() noexcept {
  // Half floats are kept: operands or results may be of another type than the data.
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::LayerNormalization::kind, layer_normalization},
       {ops::RMSNormalization::kind, rms_normalization},
       // ONNX Runtime has this one in the default domain too.
       {ops::SimplifiedLayerNormalization::kind, rms_normalization},
       {"onnx.com.microsoft::SimplifiedLayerNormalization", rms_normalization},
       {"onnx.com.microsoft::SkipLayerNormalization", skip_layer_normalization},
       {"onnx.com.microsoft::SkipSimplifiedLayerNormalization", skip_rms_normalization}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted

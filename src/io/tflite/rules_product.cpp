// Matrix products.
#include <algorithm>
#include <array>

#include "io/tflite/bias.hpp"
#include "io/tflite/elementwise.hpp"
#include "io/tflite/extents.hpp"
#include "io/tflite/failure.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

/// Weights `[channels, summed]` of a FULLY_CONNECTED that multiplies `data`, laid out as `axes`.
TensorId dense_weights(Lowering& lowering, const NodeRef& node, Value data, Value weights,
                       const Axes& axes) {
  if (lowering.type(data).element == ElementType::float32) {
    const TensorId blocks = lowering.blocks(weights, axes, FULLY_CONNECTED);
    if (blocks != no_tensor) {
      lowering.changed(
          node, "weights are codes in blocks: the kernel rounds what they multiply to 8 bits");
      return blocks;
    }
  }
  const TensorId tensor = lowering.tensor(weights, axes);
  const auto& parameters = lowering.model().tensor(tensor).quantization;
  if (parameters && parameters->scale.size() > 1 && parameters->quantized_dimension != 0) {
    impossible("scales of weights along the axis that is summed over");
  }
  return tensor;
}

struct Dense {
  Value data;
  Axes data_axes;
  Value weights;
  Axes weight_axes;
  Value bias;  ///< may be absent
};

/// Whether a value can be the bias of a FULLY_CONNECTED with `channels` results.
bool is_bias(const Lowering& lowering, Value value, Extent channels) {
  const Shape& shape = lowering.ranked(value);
  return lowering.is_free(value) && shape.rank() > 0 && shape.element_count() == channels.known() &&
         surely_equal(shape[shape.rank() - 1], channels);
}

void emit_dense(Lowering& lowering, const NodeRef& node, const Dense& dense, TensorId result) {
  const TensorId data = lowering.tensor(dense.data, dense.data_axes);
  const TensorId weights =
      dense_weights(lowering, node, dense.data, dense.weights, dense.weight_axes);
  const Extent channels =
      lowering.shape(dense.weights)[static_cast<std::int64_t>(dense.weight_axes.front())];
  const bool has_codes = lowering.type(dense.data).is_quantized();
  // Without a bias, so that one that is added next can take its place.
  const bool needs_bias = has_codes || !dense.bias.is_absent();
  if (needs_bias && !channels.is_known()) impossible("a bias of an unknown number of channels");
  const TensorId bias =
      needs_bias ? bias_of(lowering, node, dense.data, dense.weights, dense.bias, channels.value())
                 : no_tensor;
  schema::FullyConnectedOptionsT options;
  options.keep_num_dims = dense.data_axes.size() > 2;
  lowering.model().emit({FULLY_CONNECTED}, {data, weights, bias}, {result}, options);
}

/// Multiplies float tensors with a number, if it is not 1.
TensorId scaled(Lowering& lowering, const NodeRef& node, TensorId tensor, const Shape& shape,
                double factor, std::string_view name) {
  if (factor == 1.0) return tensor;
  const TensorId to = lowering.temporary(node, name, {ElementType::float32, shape, nullptr});
  emit_elementwise(lowering.model(), MUL,
                   {tensor, lowering.model().real(static_cast<float>(factor))}, to);
  return to;
}

void lower_gemm(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const ops::Gemm gemm{node};
  const Value data = node.operand(0);
  const Value weights = node.operand(1);
  const Value summand = node.operand(2);
  const Value result = node.result();
  const auto alpha = node.attribute_or<double>("alpha", 1.0);
  const auto beta = node.attribute_or<double>("beta", 1.0);
  if (lowering.ranked(data).rank() != 2 || lowering.ranked(weights).rank() != 2) {
    impossible("operands that are no matrices");
  }
  Dense dense{.data = data,
              .data_axes = gemm.trans_a() ? Axes{1, 0} : Axes{0, 1},
              .weights = weights,
              .weight_axes = gemm.trans_b() ? Axes{0, 1} : Axes{1, 0},
              .bias = {}};
  const Shape shape = lowering.ranked(result);
  const bool is_plain_sum = alpha == 1.0 && beta == 1.0;
  const bool is_dense =
      is_plain_sum && (summand.is_absent() || is_bias(lowering, summand, shape[1]));
  if (is_dense) {
    dense.bias = summand;
    const TensorId to = lowering.define(result, {0, 1});
    emit_dense(lowering, node, dense, to);
    return;
  }
  if (lowering.type(data).is_quantized()) {
    impossible("codes with a factor, or with a summand that is not one value for each channel");
  }
  lowering.decomposed(node, "FULLY_CONNECTED, MUL and ADD");
  const TensorId product =
      lowering.temporary(node, "product", {ElementType::float32, shape, nullptr});
  emit_dense(lowering, node, dense, product);
  TensorId sum = scaled(lowering, node, product, shape, alpha, "scaled");
  const TensorId other = summand.is_absent()
                             ? lowering.model().real(0.0F)
                             : scaled(lowering, node, lowering.plain(summand),
                                      lowering.ranked(summand), beta, "scaled_summand");
  emit_elementwise(lowering.model(), ADD, {sum, other}, lowering.define(result, {0, 1}));
}

/// Whether the second operand of a MatMul can be the weights of a FULLY_CONNECTED.
bool is_dense_product(const Lowering& lowering, const NodeRef& node) {
  const Value weights = node.operand(1);
  return lowering.ranked(weights).rank() == 2 && lowering.is_free(weights);
}

BuiltinOperator matmul_kernel(const Lowering& lowering, const NodeRef& node) {
  return is_dense_product(lowering, node) ? FULLY_CONNECTED : BATCH_MATMUL;
}

void lower_matmul(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value a = node.operand(0);
  const Value b = node.operand(1);
  const Value result = node.result();
  const Shape shape = lowering.ranked(a);
  const Shape other = lowering.ranked(b);
  if (shape.rank() < 2 || other.rank() < 2) impossible("an operand of one dimension");
  const std::int64_t rank = std::max(shape.rank(), other.rank());
  if (is_dense_product(lowering, node)) {
    const TensorId to = lowering.define(result, plain_axes(rank));
    emit_dense(lowering, node,
               {.data = a,
                .data_axes = plain_axes(shape.rank()),
                .weights = b,
                .weight_axes = {1, 0},
                .bias = {}},
               to);
    return;
  }
  if (granularity_of(lowering.type(b).quantization).kind != Granularity::Kind::tensor) {
    impossible("scales along an axis of an operand that is no constant matrix");
  }
  const TensorId left = lowering.plain(a);
  const TensorId right = lowering.plain(b);
  lowering.model().emit({BATCH_MATMUL}, {left, right}, {lowering.define(result, plain_axes(rank))},
                        schema::BatchMatMulOptionsT{});
}

constexpr std::array product_rows{
    Rule{.kind = ops::Gemm::kind,
         .lower = lower_gemm,
         .code = FULLY_CONNECTED,
         .codes = Codes::all,
         .data = 2,
         .weights = true},
    Rule{.kind = ops::MatMul::kind,
         .lower = lower_matmul,
         .codes = Codes::all,
         .data = 2,
         .weights = true,
         .kernel = matmul_kernel},
};

}  // namespace

std::span<const Rule> product_rules() noexcept { return product_rows; }

}  // namespace quadrant::inline v0::tflite

#include "io/tflite/versions.hpp"

#include <algorithm>
#include <array>

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

/// Which version came with int8, int16 and bool data; 1 for all that came with the operator.
struct Versions {
  BuiltinOperator code;
  std::int32_t int8 = 1;
  std::int32_t int16 = 1;
  std::int32_t boolean = 1;
  std::int32_t first = 1;
  std::size_t data = 0;  ///< the operand whose type decides
};

constexpr std::array version_rows{
    Versions{.code = ABS, .int8 = 2, .int16 = 3},
    Versions{.code = ADD, .int8 = 2, .int16 = 3},
    Versions{.code = ARG_MAX, .int8 = 2, .boolean = 3},
    Versions{.code = ARG_MIN, .int8 = 2, .boolean = 3},
    Versions{.code = AVERAGE_POOL_2D, .int8 = 2, .int16 = 3},
    Versions{.code = BATCH_MATMUL, .int8 = 2, .int16 = 3},
    Versions{.code = BROADCAST_TO, .int8 = 3, .int16 = 3, .boolean = 2, .first = 2},
    Versions{.code = CONCATENATION, .int8 = 2, .int16 = 3},
    Versions{.code = CONV_2D, .int8 = 3, .int16 = 4},
    Versions{.code = DEPTH_TO_SPACE, .int8 = 2},
    Versions{.code = DEPTHWISE_CONV_2D, .int8 = 3, .int16 = 5},
    Versions{.code = DEQUANTIZE, .int8 = 2, .int16 = 3},
    Versions{.code = EQUAL, .int8 = 2},
    Versions{.code = EXP, .int8 = 2, .int16 = 2},
    Versions{.code = FULLY_CONNECTED, .int8 = 4, .int16 = 7},
    Versions{.code = GATHER, .int8 = 2, .int16 = 4, .boolean = 3},
    Versions{.code = GATHER_ND, .int8 = 2, .int16 = 3},
    Versions{.code = GELU, .int8 = 2},
    Versions{.code = GREATER, .int8 = 2},
    Versions{.code = GREATER_EQUAL, .int8 = 2},
    Versions{.code = LEAKY_RELU, .int8 = 2, .int16 = 2},
    Versions{.code = LESS, .int8 = 2, .int16 = 3},
    Versions{.code = LESS_EQUAL, .int8 = 2},
    Versions{.code = LOG, .int8 = 2},
    Versions{.code = LOG_SOFTMAX, .int8 = 2},
    Versions{.code = LOGISTIC, .int8 = 2, .int16 = 3},
    Versions{.code = MAX_POOL_2D, .int8 = 2, .int16 = 3},
    Versions{.code = MAXIMUM, .int8 = 2, .int16 = 4},
    Versions{.code = MEAN, .int8 = 2, .int16 = 3},
    Versions{.code = MINIMUM, .int8 = 2, .int16 = 4},
    Versions{.code = MIRROR_PAD, .int8 = 2, .int16 = 3},
    Versions{.code = MUL, .int8 = 2, .int16 = 4},
    Versions{.code = NOT_EQUAL, .int8 = 2},
    Versions{.code = PAD, .int8 = 2, .int16 = 3},
    Versions{.code = PADV2, .int8 = 2, .int16 = 3},
    Versions{.code = QUANTIZE, .int8 = 1, .int16 = 2},
    Versions{.code = REDUCE_MAX, .int8 = 2, .int16 = 3},
    Versions{.code = REDUCE_MIN, .int8 = 2, .int16 = 3},
    Versions{.code = RELU, .int8 = 2, .int16 = 3},
    Versions{.code = RELU6, .int8 = 2, .int16 = 3},
    Versions{.code = RESIZE_BILINEAR, .int8 = 2, .int16 = 4},
    Versions{.code = RESIZE_NEAREST_NEIGHBOR, .int8 = 2, .int16 = 4},
    Versions{.code = RSQRT, .int8 = 2, .int16 = 3},
    Versions{.code = SELECT_V2, .int8 = 1},
    Versions{.code = SOFTMAX, .int8 = 2, .int16 = 3},
    Versions{.code = SPACE_TO_DEPTH, .int8 = 2},
    Versions{.code = SPLIT, .int8 = 2, .int16 = 4, .data = 1},
    Versions{.code = SPLIT_V, .int8 = 2},
    Versions{.code = SQUEEZE, .int8 = 2},
    Versions{.code = STRIDED_SLICE, .int8 = 2, .int16 = 4, .boolean = 3},
    Versions{.code = SUB, .int8 = 2, .int16 = 5},
    Versions{.code = SUM, .int8 = 2, .int16 = 3},
    Versions{.code = TANH, .int8 = 2, .int16 = 3},
    Versions{.code = TILE, .int8 = 3, .int16 = 3},
    Versions{.code = TRANSPOSE, .int8 = 2, .int16 = 5, .boolean = 3},
    Versions{.code = TRANSPOSE_CONV, .int8 = 2, .int16 = 3, .data = 1},
};

std::int32_t version_for(const Versions& row, schema::TensorType type) {
  switch (type) {
    case schema::TensorType::INT8:
      return row.int8;
    case schema::TensorType::INT16:
      return row.int16;
    case schema::TensorType::BOOL:
      return row.boolean;
    default:
      return row.first;
  }
}

bool fuses_activation(const schema::OperatorT& op) {
  const auto* options = op.builtin_options.AsTransposeConvOptions();
  return options && options->fused_activation_function != schema::ActivationFunctionType::NONE;
}

}  // namespace

std::int32_t needed_version(BuiltinOperator code, const schema::OperatorT& op,
                            const std::vector<std::unique_ptr<schema::TensorT>>& tensors) {
  const auto operand = [&](std::size_t i) -> const schema::TensorT* {
    if (i >= op.inputs.size() || op.inputs[i] < 0) return nullptr;
    return tensors[static_cast<std::size_t>(op.inputs[i])].get();
  };
  const auto* row = std::ranges::find(version_rows, code, &Versions::code);
  const schema::TensorT* data = operand(row == version_rows.end() ? 0 : row->data);
  std::int32_t version = row == version_rows.end() || !data ? 1 : version_for(*row, data->type);
  const auto at_least = [&](std::int32_t other) { version = std::max(version, other); };

  if (const auto* options = op.builtin_options.AsDepthwiseConv2DOptions()) {
    if (options->dilation_h_factor != 1 || options->dilation_w_factor != 1) at_least(2);
  }
  if (const auto* options = op.builtin_options.AsFullyConnectedOptions()) {
    if (options->keep_num_dims) at_least(5);
    if (op.inputs.size() == 2 || op.inputs.back() == -1) at_least(6);
  }
  if (const auto* options = op.builtin_options.AsResizeNearestNeighborOptions()) {
    if (options->half_pixel_centers || options->align_corners) at_least(3);
  }
  if (const auto* options = op.builtin_options.AsResizeBilinearOptions()) {
    if (options->half_pixel_centers) at_least(3);
  }
  const schema::TensorT* weights = operand(1);
  const bool is_product = code == CONV_2D || code == DEPTHWISE_CONV_2D || code == FULLY_CONNECTED;
  if (is_product && weights && weights->type == schema::TensorType::INT4) {
    at_least(code == FULLY_CONNECTED ? 10 : 7);
  }
  if (code == TRANSPOSE_CONV) {
    if (op.inputs.size() > 3) at_least(3);
    if (fuses_activation(op)) at_least(4);
  }
  if (code == TRANSPOSE && data) {
    if (data->shape.size() > 4) at_least(4);
    if (data->shape.size() > 5) at_least(6);
  }
  if (code == DEQUANTIZE && data) {
    if (data->type == schema::TensorType::FLOAT16) at_least(3);
    if (data->quantization && data->quantization->scale.size() > 1) at_least(5);
    if (data->type == schema::TensorType::INT4) at_least(6);
  }
  const bool is_binary =
      code == ADD || code == SUB || code == MUL || code == MINIMUM || code == MAXIMUM;
  if (is_binary && data && data->shape.size() > 4) at_least(3);
  if (code == MUL && weights && data && data->quantization && weights->quantization) {
    const schema::TensorT& result = *tensors[static_cast<std::size_t>(op.outputs.front())];
    const auto scale = [](const schema::TensorT& tensor) {
      return tensor.quantization && !tensor.quantization->scale.empty()
                 ? tensor.quantization->scale.front()
                 : 0.0F;
    };
    const float ratio = scale(*data) * scale(*weights);
    if (ratio > 0 && scale(result) > 0 && ratio / scale(result) >= 1.0F) at_least(3);
  }
  return version;
}

}  // namespace quadrant::inline v0::tflite

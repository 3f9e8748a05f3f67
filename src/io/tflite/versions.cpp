#include "io/tflite/versions.hpp"

#include <algorithm>
#include <array>

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

/// Which version came with int8, int16 and bool data; 1 for all that came with the operator.
struct Versions {
  BuiltinOperator code = CUSTOM;
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
    Versions{.code = SUM, .int8 = 2, .int16 = 2},
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

/// An operator, with the tensors that are looked at. Null for those that are not there.
struct OperatorUse {
  const schema::OperatorT& op;
  const schema::TensorT* data = nullptr;  ///< whose type decides
  const schema::TensorT* second = nullptr;
  const schema::TensorT* result = nullptr;
};

bool is_dilated(const OperatorUse& use) {
  const auto* options = use.op.builtin_options.AsDepthwiseConv2DOptions();
  return options != nullptr && (options->dilation_h_factor != 1 || options->dilation_w_factor != 1);
}

bool keeps_rank(const OperatorUse& use) {
  const auto* options = use.op.builtin_options.AsFullyConnectedOptions();
  return options != nullptr && options->keep_num_dims;
}

bool has_no_bias(const OperatorUse& use) {
  return use.op.inputs.size() == 2 || use.op.inputs.back() == -1;
}

bool has_bias(const OperatorUse& use) { return use.op.inputs.size() > 3; }

template <schema::TensorType type>
bool has_weights_of(const OperatorUse& use) {
  return use.second != nullptr && use.second->type == type;
}

bool has_other_pixels(const OperatorUse& use) {
  const auto* options = use.op.builtin_options.AsResizeNearestNeighborOptions();
  return options != nullptr && (options->half_pixel_centers || options->align_corners);
}

bool has_half_pixels(const OperatorUse& use) {
  const auto* options = use.op.builtin_options.AsResizeBilinearOptions();
  return options != nullptr && options->half_pixel_centers;
}

bool fuses_activation(const OperatorUse& use) {
  const auto* options = use.op.builtin_options.AsTransposeConvOptions();
  return options != nullptr &&
         options->fused_activation_function != schema::ActivationFunctionType::NONE;
}

template <std::size_t rank>
bool has_more_axes_than(const OperatorUse& use) {
  return use.data != nullptr && use.data->shape.size() > rank;
}

template <schema::TensorType type>
bool is_of(const OperatorUse& use) {
  return use.data != nullptr && use.data->type == type;
}

bool has_scales_of_channels(const OperatorUse& use) {
  return use.data != nullptr && use.data->quantization && use.data->quantization->scale.size() > 1;
}

/// Whether the products of codes are as large as the result's steps, or larger.
bool has_large_products(const OperatorUse& use) {
  const auto scale = [](const schema::TensorT* tensor) {
    const bool has_scale =
        tensor != nullptr && tensor->quantization && !tensor->quantization->scale.empty();
    return has_scale ? tensor->quantization->scale.front() : 0.0F;
  };
  const float product = scale(use.data) * scale(use.second);
  return product > 0 && scale(use.result) > 0 && product >= scale(use.result);
}

/// Uses of an operator that came with a version.
struct NeededFor {
  BuiltinOperator code;
  std::int32_t version;
  bool (*is_used)(const OperatorUse& use);
};

constexpr std::array use_rows{
    NeededFor{ADD, 3, has_more_axes_than<4>},
    NeededFor{CONV_2D, 7, has_weights_of<schema::TensorType::INT4>},
    NeededFor{DEPTHWISE_CONV_2D, 2, is_dilated},
    NeededFor{DEPTHWISE_CONV_2D, 7, has_weights_of<schema::TensorType::INT4>},
    NeededFor{DEQUANTIZE, 3, is_of<schema::TensorType::FLOAT16>},
    NeededFor{DEQUANTIZE, 5, has_scales_of_channels},
    NeededFor{DEQUANTIZE, 6, is_of<schema::TensorType::INT4>},
    NeededFor{DEQUANTIZE, 7, is_of<schema::TensorType::INT2>},
    NeededFor{FULLY_CONNECTED, 5, keeps_rank},
    NeededFor{FULLY_CONNECTED, 6, has_no_bias},
    NeededFor{FULLY_CONNECTED, 10, has_weights_of<schema::TensorType::INT4>},
    NeededFor{FULLY_CONNECTED, 14, has_weights_of<schema::TensorType::INT2>},
    NeededFor{MAXIMUM, 3, has_more_axes_than<4>},
    NeededFor{MINIMUM, 3, has_more_axes_than<4>},
    NeededFor{MUL, 3, has_more_axes_than<4>},
    NeededFor{MUL, 3, has_large_products},
    NeededFor{RESIZE_BILINEAR, 3, has_half_pixels},
    NeededFor{RESIZE_NEAREST_NEIGHBOR, 3, has_other_pixels},
    NeededFor{SUB, 3, has_more_axes_than<4>},
    NeededFor{TRANSPOSE, 4, has_more_axes_than<4>},
    NeededFor{TRANSPOSE, 6, has_more_axes_than<5>},
    NeededFor{TRANSPOSE_CONV, 3, has_bias},
    NeededFor{TRANSPOSE_CONV, 4, fuses_activation},
};

}  // namespace

std::int32_t needed_version(BuiltinOperator code, const schema::OperatorT& op,
                            const std::vector<std::unique_ptr<schema::TensorT>>& tensors) {
  const auto tensor = [&](const std::vector<std::int32_t>& list,
                          std::size_t i) -> const schema::TensorT* {
    return i < list.size() && list[i] >= 0 ? tensors[static_cast<std::size_t>(list[i])].get()
                                           : nullptr;
  };
  const auto* row = std::ranges::find(version_rows, code, &Versions::code);
  const bool is_known = row != version_rows.end();
  const OperatorUse use{.op = op,
                        .data = tensor(op.inputs, is_known ? row->data : 0),
                        .second = tensor(op.inputs, 1),
                        .result = tensor(op.outputs, 0)};
  std::int32_t version = is_known && use.data ? version_for(*row, use.data->type) : 1;
  for (const NeededFor& needed : use_rows) {
    if (needed.code == code && needed.is_used(use)) version = std::max(version, needed.version);
  }
  return version;
}

}  // namespace quadrant::inline v0::tflite

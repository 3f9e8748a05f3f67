// The tables of kernels: each source of ops/ that defines kernels ends with theirs.
#pragma once

#include <array>
#include <span>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0::interpreted::kernels {

using Table = std::span<const KernelEntry>() noexcept;

// `in_clip` is defined in ops/clip.cpp. A table that is not in this list does not compile, and a
// name without a table is not linked.
#define QUADRANT_KERNEL_TABLES                                                                     \
  in_activations, in_affine_grid, in_arg_max, in_arithmetic, in_attention, in_batch_normalization, \
      in_bits, in_cast, in_clip, in_col2im, in_compress, in_concat, in_constant_of_shape,          \
      in_control_flow, in_conv, in_cumulative_sum, in_det, in_dynamic_quantize_linear, in_einsum,  \
      in_expand, in_eye_like, in_fake_quantize, in_fused, in_gather, in_gather_block_quantized,    \
      in_grid_sample, in_group_normalization, in_gru, in_integer_conv, in_integer_matmul,          \
      in_layer_normalization, in_logic, in_losses, in_lp_normalization, in_lrn, in_lstm,           \
      in_matmul, in_matmul_bnb4, in_matmul_nbits, in_max_unpool, in_mean_variance_normalization,   \
      in_non_max_suppression, in_non_zero, in_one_hot, in_pad, in_pass_on, in_pooling,             \
      in_quantize_linear, in_quantized_types, in_range, in_reduce, in_reshape, in_resize,          \
      in_reverse_sequence, in_rnn, in_roi_align, in_rotary_embedding, in_scatter, in_shape_of,     \
      in_slice, in_softmax, in_split, in_tensor_scatter, in_top_k, in_transpose, in_trilu,         \
      in_unary, in_unique, in_variadic, in_where

Table QUADRANT_KERNEL_TABLES;

inline constexpr std::array tables{QUADRANT_KERNEL_TABLES};

#undef QUADRANT_KERNEL_TABLES

}  // namespace quadrant::inline v0::interpreted::kernels

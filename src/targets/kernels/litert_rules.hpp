// Which operations LiteRT's kernels compute on codes. Types of codes are those of the kernels.
#pragma once

#include <array>

#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/reductions.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/ops.hpp"
#include "targets/kernels/kernel_rule.hpp"
#include "targets/kernels/litert.hpp"

namespace quadrant::inline v0::target_kernels::litert {

using enum ParameterFamily;

// What the compiler names where a row is wrong; they are never called.
void no_kernel_has_this_name();
void no_kernel_takes_what_is_excepted();
void an_exception_needs_a_reason();

consteval const LitertKernel& known(std::string_view name) {
  const auto* const found = std::ranges::find(kernels, name, &LitertKernel::name);
  if (found == kernels.end()) no_kernel_has_this_name();
  return *found;
}

consteval Types types_of(std::string_view names) {
  Types any = 0;
  Types all = codes_16;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find_first_of(",;"), names.size());
    all &= known(names.substr(0, end)).codes;
    if (end == names.size() || names[end] == ';') {
      any |= all;
      all = codes_16;
    }
    names.remove_prefix(std::min(end + 2, names.size()));
  }
  return any;
}

constexpr Types types_of(const Storages& storages) {
  Types types = 0;
  for (unsigned i = 0; i <= static_cast<unsigned>(ElementType::opaque); ++i) {
    const auto type = static_cast<ElementType>(i);
    if (storages.contains(type)) types |= set_of(type);
  }
  return types;
}

constexpr Storages storages_of(Types types) {
  const auto type = [&](ElementType wanted, ElementType other) {
    return (types & set_of(wanted)) != 0 ? wanted : other;
  };
  if (types == 0) return {};
  const ElementType one = type(ElementType::int8, type(ElementType::uint8, ElementType::int16));
  return {one, type(ElementType::uint8, one), type(ElementType::int16, one)};
}

/// The rule, for all codes that the kernels of `operation` take, less those that it excepts.
consteval KernelRule of_kernels(ParameterFamily family, std::string_view kind,
                                std::string_view operation, KernelRule rule = {}) {
  const Types taken = operation.empty() ? codes_16 : types_of(operation);
  const Types excepted = types_of(rule.except.storages);
  if ((excepted & ~taken) != 0) no_kernel_takes_what_is_excepted();
  if (excepted != 0 && rule.except.why.empty()) an_exception_needs_a_reason();
  rule.kind = kind;
  rule.operation = operation;
  rule.family = family;
  rule.storages = storages_of(taken & ~excepted);
  if (operation.empty()) return rule;
  const LitertKernel& first = known(operation.substr(0, operation.find_first_of(",;")));
  rule.results = first.results;
  rule.most_of_16_bits = first.room.of_16_bits;
  rule.most_of_8_bits = first.room.of_8_bits;
  return rule;
}

consteval Exception not_16_bits(std::string_view why) { return {{ElementType::int16}, why}; }

// LiteRT's kernels compute in fixed point. A factor above 1 shifts a code, a sum or a product of
// two to the left before it is limited to those that there are, and 32 bits have to hold it:
//
//   a code of 8 or 16 bits   2^8 2^23, 2^16 2^15
//   a product of two         2^16 2^15, 2^30
//   a sum of many            2^8 count 16, for the count of a large image
//
// A sum of two has the end that the browsers' converter knows, which LiteRT's kernels of bytes do
// not have the room for (`Room`).
inline constexpr double most_of_codes = 32768;
inline constexpr double most_of_products = 32768;
inline constexpr double most_of_two = 256;
inline constexpr double most_of_many = 16;

inline constexpr KernelRule comparison{
    .operands = 2, .refusal = refuse_short_steps, .note = "of 8 bits: scales of 1/256 and more"};
inline constexpr KernelRule choice{.commutes = always};
inline constexpr KernelRule choice_of_all{.operands = 0, .commutes = always};
inline constexpr KernelRule sum{.operands = 2, .ratio = {1.0 / 262144, most_of_two}};
inline constexpr KernelRule mean{.ratio = {0, most_of_codes},
                                 .refusal = refuse_long_sum,
                                 .note = "the mean is rounded before its scale is: two steps"};

/// One rule an operation, in the order of the families.
inline constexpr std::array rules{
    of_kernels(product, ops::Conv::kind, "CONV_2D, DEPTHWISE_CONV_2D",
               {.note = "weights i8, beside i8 also i4, with zero point 0, per tensor or channel; "
                        "u8 with u8, per tensor"}),
    of_kernels(product, ops::ConvTranspose::kind, "TRANSPOSE_CONV",
               {.note = "as CONV_2D, weights of 8 bits, one group"}),
    of_kernels(product, ops::Gemm::kind, "FULLY_CONNECTED",
               {.note = "alpha 1, beta 1; weights per tensor with any zero point, or per channel "
                        "with 0, and of i4 or i2"}),
    of_kernels(
        product, ops::MatMul::kind, "FULLY_CONNECTED, BATCH_MATMUL",
        {.note = "as FULLY_CONNECTED: a constant matrix on the right; any other has one scale, "
                 "and the data's type"}),

    of_kernels(rescaling, ops::Add::kind, "ADD", sum),
    of_kernels(rescaling, ops::Sub::kind, "SUB", sum),
    of_kernels(rescaling, ops::Multiply::kind, "MUL",
               {.operands = 2, .ratio = {1.0 / 1073741824, most_of_products}, .is_product = true}),
    of_kernels(rescaling, ops::Relu::kind, "RELU",
               {.ratio = {0, most_of_codes}, .commutes = always, .keeps = keeps_bounded}),
    of_kernels(rescaling, ops::Clip::kind, "RELU6, RELU_N1_TO_1; MAXIMUM, MINIMUM",
               {.ratio = {0, most_of_codes},
                .commutes = has_bounds,
                .keeps = keeps_bounded,
                .refusal = refuse_odd_clamp,
                .note = "other bounds than 0, 6, -1, 1, and i16: same parameters"}),
    of_kernels(rescaling, ops::LeakyRelu::kind, "LEAKY_RELU",
               {.refusal = refuse_steep_leaky_relu,
                .note = "in/out and alpha in/out within 1/256 and 128"}),
    of_kernels(rescaling, ops::PRelu::kind, "PRELU",
               {.operands = 2, .ratio = {0, 4096}, .note = "the slope is codes, too"}),
    of_kernels(rescaling, ops::HardSwish::kind, "HARD_SWISH", {.ratio = {0, 128}}),
    of_kernels(rescaling, ops::Elu::kind, "ELU", {.refusal = refuse_scaled_elu, .note = "alpha 1"}),
    of_kernels(rescaling, ops::Gelu::kind, "GELU",
               {.except = not_16_bits("two steps off, hundreds at the ends")}),
    of_kernels(rescaling, ops::Exp::kind, "EXP", {.except = not_16_bits("up to 12 steps off")}),
    of_kernels(rescaling, ops::Log::kind, "LOG"),
    of_kernels(rescaling, ops::Sqrt::kind, "SQRT",
               {.except = not_16_bits("half of the codes are negative numbers"),
                .refusal = refuse_negative_codes,
                .note = "no codes of negative numbers"}),
    of_kernels(rescaling, ops::Tanh::kind, "TANH",
               {.except = not_16_bits("up to three steps off")}),
    of_kernels(rescaling, ops::Abs::kind, "ABS", {.ratio = {0, most_of_codes}}),
    of_kernels(rescaling, ops::GlobalAveragePool::kind, "MEAN", mean),
    of_kernels(rescaling, ops::ReduceMean::kind, "MEAN", mean),
    of_kernels(rescaling, ops::ReduceSum::kind, "SUM",
               {.ratio = {0, most_of_many}, .refusal = refuse_long_sum}),

    of_kernels(same, ops::AveragePool::kind, "AVERAGE_POOL_2D", {.refusal = refuse_dilated}),
    of_kernels(same, ops::MaxPool::kind, "MAX_POOL_2D",
               {.commutes = always, .refusal = refuse_dilated}),
    of_kernels(same, ops::GlobalMaxPool::kind, "REDUCE_MAX", choice),
    of_kernels(same, ops::ReduceMax::kind, "REDUCE_MAX", choice),
    of_kernels(same, ops::ReduceMin::kind, "REDUCE_MIN", choice),
    of_kernels(same, ops::Max::kind, "MAXIMUM", choice_of_all),
    of_kernels(same, ops::Min::kind, "MINIMUM", choice_of_all),
    of_kernels(same, ops::Where::kind, "SELECT_V2",
               {.operands = 2, .first = 1, .commutes = always}),
    of_kernels(same, ops::Concat::kind, "CONCATENATION", choice_of_all),
    of_kernels(same, ops::Identity::kind, "", choice),
    of_kernels(same, ops::Transpose::kind, "TRANSPOSE", choice),
    of_kernels(same, ops::Reshape::kind, "RESHAPE", choice),
    of_kernels(same, ops::Squeeze::kind, "RESHAPE", choice),
    of_kernels(same, ops::Unsqueeze::kind, "RESHAPE", choice),
    of_kernels(same, ops::Flatten::kind, "RESHAPE", choice),
    of_kernels(same, ops::Expand::kind, "BROADCAST_TO", choice),
    of_kernels(same, ops::Slice::kind, "STRIDED_SLICE", choice),
    of_kernels(same, ops::Split::kind, "SPLIT_V", choice),
    of_kernels(same, ops::Gather::kind, "GATHER", choice),
    of_kernels(same, ops::GatherND::kind, "GATHER_ND", choice),
    of_kernels(same, ops::Tile::kind, "TILE", choice),
    of_kernels(same, ops::DepthToSpace::kind, "DEPTH_TO_SPACE", choice),
    of_kernels(same, ops::SpaceToDepth::kind, "SPACE_TO_DEPTH", choice),
    of_kernels(same, ops::Pad::kind, "PAD, PADV2, MIRROR_PAD",
               {.commutes = always, .keeps = keeps_padded, .refusal = refuse_edge_padding}),
    of_kernels(same, ops::Resize::kind, "RESIZE_NEAREST_NEIGHBOR; RESIZE_BILINEAR",
               {.commutes = takes_nearest, .refusal = refuse_cubic}),

    of_kernels(fixed, ops::Sigmoid::kind, "LOGISTIC", {.refusal = refuse_wide_sigmoid}),
    of_kernels(fixed, ops::Softmax::kind, "SOFTMAX",
               {.except = not_16_bits("up to 18 steps off"), .refusal = refuse_inner_axis}),
    of_kernels(fixed, ops::LogSoftmax::kind, "LOG_SOFTMAX",
               {.refusal = refuse_inner_axis, .is_unbounded_below = true}),

    of_kernels(reader, ops::Equal::kind, "EQUAL", comparison),
    of_kernels(reader, ops::Greater::kind, "GREATER", comparison),
    of_kernels(reader, ops::GreaterOrEqual::kind, "GREATER_EQUAL", comparison),
    of_kernels(reader, ops::Less::kind, "LESS", comparison),
    of_kernels(reader, ops::LessOrEqual::kind, "LESS_EQUAL", comparison),
    of_kernels(reader, ops::ArgMax::kind, "ARG_MAX"),
    of_kernels(reader, ops::ArgMin::kind, "ARG_MIN"),
};

}  // namespace quadrant::inline v0::target_kernels::litert

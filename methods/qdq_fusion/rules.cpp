#include "qdq_fusion/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "qdq_fusion/conditions.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/ops/elementwise.hpp"
#include "quadrant/ir/ops/normalization.hpp"
#include "quadrant/ir/ops/places.hpp"
#include "quadrant/ir/ops/reductions.hpp"
#include "quadrant/ir/ops/windows.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

constexpr Storages bytes{ElementType::int8, ElementType::uint8};
constexpr Storages signed_bytes{ElementType::int8};
constexpr Storages signed_codes{ElementType::int8, ElementType::int16};
constexpr Storages all{ElementType::int8, ElementType::uint8, ElementType::int16};

// What all targets say of operations that choose elements.
constexpr FusionRule moves(std::string_view kind, std::string_view operation, Storages storages,
                           std::uint32_t operands = 1) {
  return {.kind = kind,
          .operation = operation,
          .family = Family::same,
          .storages = storages,
          .operands = operands,
          .commutes = always};
}

constexpr FusionRule comparison(std::string_view kind, std::string_view operation) {
  return {.kind = kind,
          .operation = operation,
          .family = Family::reader,
          .storages = all,
          .operands = 2,
          .refusal = refuse_short_steps,
          .note = "of 8 bits: scales of 1/256 and more"};
}

// LiteRT's kernels compute in fixed point. A factor above 1 shifts a code, a sum or a product of
// two to the left before it is limited to those that there are, and 32 bits have to hold it:
//
//   a code of 8 or 16 bits   2^8 2^23, 2^16 2^15
//   a product of two         2^16 2^15, 2^30
//   a sum of many            2^8 count 16, for the count of a large image
//
// A sum of two has the end that the browsers' converter knows. LiteRT's own kernels have less room:
// what writes its files knows how much, and has such sums computed on real numbers.
constexpr double most_of_codes = 32768;
constexpr double most_of_products = 32768;
constexpr double most_of_two = 256;
constexpr double most_of_many = 16;

constexpr std::array tflite_rules{
    FusionRule{.kind = ops::Conv::kind,
               .operation = "CONV_2D, DEPTHWISE_CONV_2D",
               .family = Family::product,
               .storages = all,
               .note = "weights i8 or i4 with zero point 0, per tensor or channel; u8 with u8, per "
                       "tensor"},
    FusionRule{.kind = ops::ConvTranspose::kind,
               .operation = "TRANSPOSE_CONV",
               .family = Family::product,
               .storages = all,
               .note = "as CONV_2D, weights of 8 bits, one group"},
    FusionRule{.kind = ops::Gemm::kind,
               .operation = "FULLY_CONNECTED",
               .family = Family::product,
               .storages = all,
               .note = "alpha 1, beta 1; weights per tensor with any zero point, or per channel "
                       "with 0"},
    FusionRule{.kind = ops::MatMul::kind,
               .operation = "FULLY_CONNECTED, BATCH_MATMUL",
               .family = Family::product,
               .storages = signed_codes,
               .note = "per channel: a constant matrix on the right"},

    FusionRule{.kind = ops::Add::kind,
               .operation = "ADD",
               .family = Family::rescaling,
               .storages = all,
               .operands = 2,
               .ratio = {1.0 / 262144, most_of_two},
               .most_of_16_bits = 8192},
    FusionRule{.kind = ops::Sub::kind,
               .operation = "SUB",
               .family = Family::rescaling,
               .storages = all,
               .operands = 2,
               .ratio = {1.0 / 262144, most_of_two},
               .most_of_16_bits = 8192},
    FusionRule{.kind = ops::Multiply::kind,
               .operation = "MUL",
               .family = Family::rescaling,
               .storages = all,
               .operands = 2,
               .ratio = {1.0 / 1073741824, most_of_products},
               .most_of_16_bits = 1,
               .is_product = true},
    FusionRule{.kind = ops::Relu::kind,
               .operation = "RELU",
               .family = Family::rescaling,
               .storages = all,
               .ratio = {0, most_of_codes},
               .commutes = always,
               .keeps = keeps_bounded},
    FusionRule{.kind = ops::Clip::kind,
               .operation = "RELU6, RELU_N1_TO_1; MAXIMUM, MINIMUM",
               .family = Family::rescaling,
               .storages = all,
               .ratio = {0, most_of_codes},
               .commutes = has_bounds,
               .keeps = keeps_bounded,
               .refusal = refuse_odd_clamp,
               .note = "other bounds than 0, 6, -1, 1, and i16: same parameters"},
    FusionRule{.kind = ops::LeakyRelu::kind,
               .operation = "LEAKY_RELU",
               .family = Family::rescaling,
               .storages = all,
               .refusal = refuse_steep_leaky_relu,
               .note = "in/out and alpha in/out within 1/256 and 128"},
    FusionRule{.kind = ops::PRelu::kind,
               .operation = "PRELU",
               .family = Family::rescaling,
               .storages = bytes,
               .operands = 2,
               .ratio = {0, 4096},
               .note = "the slope is codes, too"},
    FusionRule{.kind = ops::HardSwish::kind,
               .operation = "HARD_SWISH",
               .family = Family::rescaling,
               .storages = bytes,
               .ratio = {0, 128}},
    FusionRule{.kind = ops::Elu::kind,
               .operation = "ELU",
               .family = Family::rescaling,
               .storages = signed_bytes,
               .refusal = refuse_scaled_elu,
               .note = "alpha 1"},
    FusionRule{.kind = ops::Gelu::kind,
               .operation = "GELU",
               .family = Family::rescaling,
               .storages = bytes},
    FusionRule{.kind = ops::Exp::kind,
               .operation = "EXP",
               .family = Family::rescaling,
               .storages = signed_bytes},
    FusionRule{.kind = ops::Log::kind,
               .operation = "LOG",
               .family = Family::rescaling,
               .storages = signed_bytes},
    FusionRule{.kind = ops::Sqrt::kind,
               .operation = "SQRT",
               .family = Family::rescaling,
               .storages = signed_bytes,
               .refusal = refuse_negative_codes,
               .note = "no codes of negative numbers"},
    FusionRule{.kind = ops::Tanh::kind,
               .operation = "TANH",
               .family = Family::rescaling,
               .storages = bytes,
               .note = "of 16 bits it is two steps off"},
    FusionRule{.kind = ops::Abs::kind,
               .operation = "ABS",
               .family = Family::rescaling,
               .storages = signed_codes,
               .ratio = {0, most_of_codes}},
    FusionRule{.kind = ops::GlobalAveragePool::kind,
               .operation = "MEAN",
               .family = Family::rescaling,
               .storages = all,
               .ratio = {0, most_of_codes},
               .note = "the mean is rounded before its scale is: two steps"},
    FusionRule{.kind = ops::ReduceMean::kind,
               .operation = "MEAN",
               .family = Family::rescaling,
               .storages = all,
               .ratio = {0, most_of_codes},
               .note = "the mean is rounded before its scale is: two steps"},
    FusionRule{.kind = ops::ReduceSum::kind,
               .operation = "SUM",
               .family = Family::rescaling,
               .storages = bytes,
               .ratio = {0, most_of_many}},

    FusionRule{.kind = ops::AveragePool::kind,
               .operation = "AVERAGE_POOL_2D",
               .family = Family::same,
               .storages = all,
               .refusal = refuse_dilated},
    FusionRule{.kind = ops::MaxPool::kind,
               .operation = "MAX_POOL_2D",
               .family = Family::same,
               .storages = all,
               .commutes = always,
               .refusal = refuse_dilated},
    moves(ops::GlobalMaxPool::kind, "REDUCE_MAX", all),
    moves(ops::ReduceMax::kind, "REDUCE_MAX", all),
    moves(ops::ReduceMin::kind, "REDUCE_MIN", all),
    moves(ops::Max::kind, "MAXIMUM", all, 0),
    moves(ops::Min::kind, "MINIMUM", all, 0),
    FusionRule{.kind = ops::Where::kind,
               .operation = "SELECT_V2",
               .family = Family::same,
               .storages = all,
               .operands = 2,
               .first = 1,
               .commutes = always},
    moves(ops::Concat::kind, "CONCATENATION", all, 0),
    moves(ops::Identity::kind, "", all),
    moves(ops::Transpose::kind, "TRANSPOSE", all),
    moves(ops::Reshape::kind, "RESHAPE", all),
    moves(ops::Squeeze::kind, "RESHAPE", all),
    moves(ops::Unsqueeze::kind, "RESHAPE", all),
    moves(ops::Flatten::kind, "RESHAPE", all),
    moves(ops::Expand::kind, "BROADCAST_TO", all),
    moves(ops::Slice::kind, "STRIDED_SLICE", all),
    moves(ops::Split::kind, "SPLIT_V", all),
    moves(ops::Gather::kind, "GATHER", all),
    moves(ops::GatherND::kind, "GATHER_ND", all),
    moves(ops::Tile::kind, "TILE", all),
    moves(ops::DepthToSpace::kind, "DEPTH_TO_SPACE", bytes),
    moves(ops::SpaceToDepth::kind, "SPACE_TO_DEPTH", bytes),
    FusionRule{.kind = ops::Pad::kind,
               .operation = "PAD, PADV2, MIRROR_PAD",
               .family = Family::same,
               .storages = all,
               .commutes = always,
               .keeps = keeps_padded,
               .refusal = refuse_edge_padding},
    FusionRule{.kind = ops::Resize::kind,
               .operation = "RESIZE_NEAREST_NEIGHBOR, RESIZE_BILINEAR",
               .family = Family::same,
               .storages = all,
               .commutes = takes_nearest,
               .refusal = refuse_cubic},

    FusionRule{.kind = ops::Sigmoid::kind,
               .operation = "LOGISTIC",
               .family = Family::fixed,
               .storages = all,
               .refusal = refuse_wide_sigmoid,
               .result = logistic_result,
               .has_any_zero_of_8_bits = true,
               .note = "of 8 bits with any zero point"},
    FusionRule{.kind = ops::Softmax::kind,
               .operation = "SOFTMAX",
               .family = Family::fixed,
               .storages = bytes,
               .refusal = refuse_inner_axis,
               .result = logistic_result,
               .note = "of 16 bits it is many steps off"},
    FusionRule{.kind = ops::LogSoftmax::kind,
               .operation = "LOG_SOFTMAX",
               .family = Family::fixed,
               .storages = bytes,
               .refusal = refuse_inner_axis,
               .result = log_softmax_result,
               .is_unbounded_below = true},

    comparison(ops::Equal::kind, "EQUAL"),
    comparison(ops::Greater::kind, "GREATER"),
    comparison(ops::GreaterOrEqual::kind, "GREATER_EQUAL"),
    comparison(ops::Less::kind, "LESS"),
    comparison(ops::LessOrEqual::kind, "LESS_EQUAL"),
    FusionRule{.kind = ops::ArgMax::kind,
               .operation = "ARG_MAX",
               .family = Family::reader,
               .storages = bytes},
    FusionRule{.kind = ops::ArgMin::kind,
               .operation = "ARG_MIN",
               .family = Family::reader,
               .storages = bytes},
};

// What the rules of the browsers' converter say where they differ, and what it has no rules for.
constexpr std::array webnn_exceptions{
    FusionRule{.kind = ops::Add::kind,
               .operation = "ADD",
               .family = Family::rescaling,
               .storages = bytes,
               .operands = 2,
               .ratio = {1.0 / 1024, most_of_two}},
    FusionRule{.kind = ops::Sub::kind,
               .operation = "SUB",
               .family = Family::rescaling,
               .storages = bytes,
               .operands = 2,
               .ratio = {1.0 / 1024, most_of_two}},
    FusionRule{.kind = ops::Multiply::kind,
               .operation = "MUL",
               .family = Family::rescaling,
               .storages = bytes,
               .operands = 2,
               .ratio = {1.0 / 65536, 256},
               .is_product = true},
    FusionRule{.kind = ops::Clip::kind,
               .operation = "RELU6, RELU_N1_TO_1; MAXIMUM, MINIMUM",
               .family = Family::rescaling,
               .storages = bytes,
               .commutes = has_bounds,
               .keeps = keeps_bounded,
               .refusal = refuse_changing_clamp,
               .note = "same parameters"},
    FusionRule{.kind = ops::Relu::kind,
               .operation = "RELU",
               .family = Family::rescaling,
               .storages = bytes,
               .commutes = has_bounds,
               .keeps = keeps_bounded,
               .refusal = refuse_changing_clamp,
               .note = "same parameters"},
    FusionRule{.kind = ops::Tanh::kind,
               .operation = "TANH",
               .family = Family::fixed,
               .storages = bytes,
               .result = tanh_result},
};

constexpr std::array webnn_lacks{
    ops::MatMul::kind,       ops::HardSwish::kind,    ops::Gelu::kind,     ops::Exp::kind,
    ops::Abs::kind,          ops::Log::kind,          ops::Sqrt::kind,     ops::PRelu::kind,
    ops::LogSoftmax::kind,   ops::Tile::kind,         ops::Where::kind,    ops::ArgMin::kind,
    ops::DepthToSpace::kind, ops::SpaceToDepth::kind, ops::GatherND::kind, ops::Expand::kind};

// No rule of the browsers' converter is about 16 bits.
constexpr auto webnn_rules = [] {
  std::array<FusionRule, tflite_rules.size() - webnn_lacks.size()> rules{};
  std::size_t count = 0;
  for (FusionRule rule : tflite_rules) {
    if (std::ranges::find(webnn_lacks, rule.kind) != webnn_lacks.end()) continue;
    const auto* const exception = std::ranges::find(webnn_exceptions, rule.kind, &FusionRule::kind);
    if (exception != webnn_exceptions.end()) rule = *exception;
    if (rule.storages.contains(ElementType::int16)) rule.storages = bytes;
    rule.has_any_zero_of_8_bits = false;
    rules[count++] = rule;
  }
  return rules;
}();

constexpr FusionRule on_codes(std::string_view kind, std::string_view operation,
                              std::uint32_t operands = 1) {
  return {.kind = kind,
          .operation = operation,
          .family = Family::rescaling,
          .storages = bytes,
          .operands = operands};
}

constexpr FusionRule product_of_any(std::string_view kind, std::string_view operation) {
  return {.kind = kind,
          .operation = operation,
          .family = Family::product,
          .storages = bytes,
          .mixes_signs = true,
          .note = "weights of 8 bits, per tensor or channel; u8 with u8 data alone"};
}

constexpr FusionRule clamp_of(std::string_view kind) {
  return {.kind = kind,
          .operation = "Clip",
          .family = Family::rescaling,
          .storages = bytes,
          .commutes = has_bounds,
          .keeps = keeps_bounded,
          .refusal = refuse_changing_clamp,
          .note = "same parameters"};
}

constexpr std::array qoperator_rules{
    product_of_any(ops::Conv::kind, "QLinearConv"),
    product_of_any(ops::MatMul::kind, "QLinearMatMul"),
    product_of_any(ops::Gemm::kind, "QGemm"),
    on_codes(ops::Add::kind, "QLinearAdd", 2),
    on_codes(ops::Multiply::kind, "QLinearMul", 2),
    on_codes(ops::Sigmoid::kind, "QLinearSigmoid"),
    on_codes(ops::LeakyRelu::kind, "QLinearLeakyRelu"),
    FusionRule{.kind = ops::AveragePool::kind,
               .operation = "QLinearAveragePool",
               .family = Family::rescaling,
               .storages = bytes,
               .refusal = refuse_dilated},
    FusionRule{.kind = ops::GlobalAveragePool::kind,
               .operation = "QLinearGlobalAveragePool",
               .family = Family::rescaling,
               .storages = bytes,
               .ratio = {1.0 / 4096, 256}},
    on_codes(ops::Concat::kind, "QLinearConcat", 0),
    clamp_of(ops::Relu::kind),
    clamp_of(ops::Clip::kind),
    moves(ops::MaxPool::kind, "MaxPool", bytes),
    moves(ops::Identity::kind, "Identity", bytes),
    moves(ops::Transpose::kind, "Transpose", bytes),
    moves(ops::Reshape::kind, "Reshape", bytes),
    moves(ops::Squeeze::kind, "Squeeze", bytes),
    moves(ops::Unsqueeze::kind, "Unsqueeze", bytes),
    moves(ops::Flatten::kind, "Flatten", bytes),
    moves(ops::Expand::kind, "Expand", bytes),
    moves(ops::Slice::kind, "Slice", bytes),
    moves(ops::Split::kind, "Split", bytes),
    moves(ops::Gather::kind, "Gather", bytes),
};

}  // namespace

std::span<const FusionRule> rules(FusionTarget target) {
  switch (target) {
    case FusionTarget::webnn:
      return webnn_rules;
    case FusionTarget::onnx_qoperator:
      return qoperator_rules;
    case FusionTarget::tflite:
      break;
  }
  return tflite_rules;
}

const FusionRule* find_rule(FusionTarget target, std::string_view kind) {
  const auto all_rules = rules(target);
  const auto found = std::ranges::find(all_rules, kind, &FusionRule::kind);
  return found == all_rules.end() ? nullptr : &*found;
}

}  // namespace quadrant::inline v0::qdq_fusion

namespace quadrant::inline v0 {
namespace {

using qdq_fusion::Family;
using qdq_fusion::FusionRule;

// `0.0625`, `2^-18`
std::string print_factor(double factor) {
  const double exponent = std::log2(factor);
  return exponent == std::floor(exponent) && std::abs(exponent) > 3 ? fmt::format("2^{}", exponent)
                                                                    : fmt::format("{}", factor);
}

std::string print_ratio(const FusionRule& rule) {
  const auto& [low, high] = rule.ratio;
  if (rule.ratio.is_any()) return "any";
  const std::string_view what = rule.is_product ? "a b / out" : "in / out";
  std::string text =
      low == 0 ? fmt::format("{} < {}", what, print_factor(high))
               : fmt::format("{} in [{}, {})", what, print_factor(low), print_factor(high));
  if (std::isfinite(rule.most_of_16_bits)) {
    text += fmt::format(", of i16 < {}", print_factor(rule.most_of_16_bits));
  }
  return text;
}

std::string print_parameters(const FusionRule& rule) {
  std::string text;
  switch (rule.family) {
    case Family::product:
      text = "one scale in and out; bias i32 in the scale of the products";
      break;
    case Family::rescaling:
      text = print_ratio(rule);
      break;
    case Family::same:
      text = "the same in and out";
      break;
    case Family::fixed:
      for (const ElementType storage :
           {ElementType::int8, ElementType::uint8, ElementType::int16}) {
        if (!rule.storages.contains(storage)) continue;
        text +=
            fmt::format("{}{}", text.empty() ? "any in; out " : " or ", rule.result(storage).text);
      }
      break;
    case Family::reader:
      text = "the same for all operands";
      break;
  }
  return rule.note.empty() ? text : fmt::format("{}; {}", text, rule.note);
}

}  // namespace

std::vector<FusionRuleText> describe_rules(FusionTarget target) {
  std::vector<FusionRuleText> texts;
  for (const FusionRule& rule : qdq_fusion::rules(target)) {
    texts.push_back({std::string(rule.kind), std::string(rule.operation), rule.storages.print(),
                     print_parameters(rule)});
  }
  return texts;
}

}  // namespace quadrant::inline v0

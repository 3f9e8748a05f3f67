// ONNX Runtime's operators on codes: what they compute, and how they are written.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "ir/ops/codes.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/ops.hpp"
#include "targets/kernels/kernel_rule.hpp"

namespace quadrant::inline v0::target_kernels::onnxruntime {

/// How the operands of an operator follow one another. Data operands have their scale and zero
/// point behind them.
enum class OperandOrder : std::uint8_t {
  result_last,         ///< data, the result's scale and zero point
  result_before_bias,  ///< data, the result's, the bias
  bias_before_result,  ///< data, the bias, the result's
  result_first,        ///< the result's, data
  plain,               ///< the operator itself, on plain integers of the same parameters
  clamp,               ///< Clip, on plain integers of the same parameters
};

struct CodeOperator {
  KernelRule rule{};
  std::string_view made = {};  ///< its kind in a graph; empty: the operation itself stays
  OperandOrder order = OperandOrder::result_last;
};

// Called as its kind, without the domain.
constexpr CodeOperator written(std::string_view made, OperandOrder order, KernelRule rule) {
  rule.operation = made.substr(made.find_last_of(".:") + 1);
  return {rule, made, order};
}

constexpr CodeOperator product(std::string_view made, OperandOrder order, std::string_view kind) {
  return written(made, order,
                 {.kind = kind,
                  .family = ParameterFamily::product,
                  .operands = 2,
                  .mixes_signs = true,
                  .note = "weights of 8 bits, per tensor or channel; u8 with u8 data alone"});
}

constexpr CodeOperator rescaling(std::string_view made, KernelRule rule,
                                 OperandOrder order = OperandOrder::result_last) {
  rule.family = ParameterFamily::rescaling;
  return written(made, order, rule);
}

constexpr CodeOperator move(std::string_view kind, std::string_view operation) {
  return {{.kind = kind, .operation = operation, .commutes = always}};
}

inline constexpr std::array operators{
    product(ops::QLinearConv::kind, OperandOrder::result_before_bias, ops::Conv::kind),
    product(ops::QLinearMatMul::kind, OperandOrder::result_last, ops::MatMul::kind),
    product("onnx.com.microsoft::QGemm", OperandOrder::bias_before_result, ops::Gemm::kind),
    rescaling("onnx.com.microsoft::QLinearAdd", {.kind = ops::Add::kind, .operands = 2}),
    rescaling("onnx.com.microsoft::QLinearMul", {.kind = ops::Multiply::kind, .operands = 2}),
    rescaling("onnx.com.microsoft::QLinearSigmoid", {.kind = ops::Sigmoid::kind}),
    rescaling("onnx.com.microsoft::QLinearLeakyRelu", {.kind = ops::LeakyRelu::kind}),
    rescaling("onnx.com.microsoft::QLinearAveragePool",
              {.kind = ops::AveragePool::kind, .refusal = refuse_dilated}),
    rescaling("onnx.com.microsoft::QLinearGlobalAveragePool",
              {.kind = ops::GlobalAveragePool::kind, .ratio = {1.0 / 4096, 256}}),
    rescaling("onnx.com.microsoft::QLinearConcat", {.kind = ops::Concat::kind, .operands = 0},
              OperandOrder::result_first),
    written(ops::Clip::kind, OperandOrder::clamp, clamps(ops::Relu::kind, {})),
    written(ops::Clip::kind, OperandOrder::clamp, clamps(ops::Clip::kind, {})),
    written(ops::MaxPool::kind, OperandOrder::plain,
            {.kind = ops::MaxPool::kind, .commutes = always, .refusal = refuse_places}),
    move(ops::Identity::kind, "Identity"),
    move(ops::Transpose::kind, "Transpose"),
    move(ops::Reshape::kind, "Reshape"),
    move(ops::Squeeze::kind, "Squeeze"),
    move(ops::Unsqueeze::kind, "Unsqueeze"),
    move(ops::Flatten::kind, "Flatten"),
    move(ops::Expand::kind, "Expand"),
    move(ops::Slice::kind, "Slice"),
    move(ops::Split::kind, "Split"),
    move(ops::Gather::kind, "Gather"),
};

inline constexpr auto rules = [] {
  std::array<KernelRule, operators.size()> rules{};
  std::ranges::transform(operators, rules.begin(), &CodeOperator::rule);
  for (KernelRule& rule : rules) rule.storages = {ElementType::int8, ElementType::uint8};
  return rules;
}();

/// Null: it has none.
[[nodiscard]] constexpr const CodeOperator* find_operator(std::string_view kind) noexcept {
  const auto* const found =
      std::ranges::find(operators, kind, [](const CodeOperator& row) { return row.rule.kind; });
  return found == operators.end() ? nullptr : found;
}

}  // namespace quadrant::inline v0::target_kernels::onnxruntime

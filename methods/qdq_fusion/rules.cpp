#include "qdq_fusion/rules.hpp"

#include <fmt/format.h>

#include <cmath>

#include "targets/kernels/onnxruntime.hpp"
#include "targets/kernels/webnn.hpp"

namespace quadrant::inline v0::qdq_fusion {

std::span<const KernelRule> rules(KernelsTarget target) {
  if (target == KernelsTarget::webnn) return target_kernels::webnn::rules;
  if (target == KernelsTarget::onnx_qoperator) return target_kernels::onnxruntime::rules;
  return target_kernels::litert::rules;
}

const KernelRule* find_rule(KernelsTarget target, std::string_view kind) {
  return target_kernels::find_rule(rules(target), kind);
}

GivenForm fixed_form(const KernelRule& rule, ElementType storage) {
  const auto fixed = rule.results.of(storage).value_or(target_kernels::FixedResult{.scale = 1});
  return GivenForm::per_tensor(storage, fixed.scale, fixed.zero);
}

}  // namespace quadrant::inline v0::qdq_fusion

namespace quadrant::inline v0 {
namespace {

using qdq_fusion::KernelRule;
using qdq_fusion::ParameterFamily;

// `0.0625`, `2^-18`
std::string print_factor(double factor) {
  const double exponent = std::log2(factor);
  return exponent == std::floor(exponent) && std::abs(exponent) > 3 ? fmt::format("2^{}", exponent)
                                                                    : fmt::format("{}", factor);
}

std::string print_ratio(const KernelRule& rule) {
  const auto& [low, high] = rule.ratio;
  if (rule.ratio.is_any()) return "any";
  const std::string_view what = rule.is_product ? "a b / out" : "in / out";
  std::string text =
      low == 0 ? fmt::format("{} < {}", what, print_factor(high))
               : fmt::format("{} in [{}, {})", what, print_factor(low), print_factor(high));
  if (std::isfinite(rule.most_of_16_bits)) {
    text += fmt::format(", of i16 < {}", print_factor(rule.most_of_16_bits));
  }
  if (std::isfinite(rule.most_of_8_bits)) {
    text += fmt::format(", of bytes{} <= {}", rule.is_product ? "" : " together",
                        print_factor(rule.most_of_8_bits));
  }
  return text;
}

std::string print_parameters(const KernelRule& rule) {
  std::string text;
  switch (rule.family) {
    case ParameterFamily::product:
      text = "one scale in and out; bias i32 in the scale of the products";
      break;
    case ParameterFamily::rescaling:
      text = print_ratio(rule);
      break;
    case ParameterFamily::same:
      text = "the same in and out";
      break;
    case ParameterFamily::fixed:
      for (const ElementType storage :
           {ElementType::int8, ElementType::uint8, ElementType::int16}) {
        if (!rule.storages.contains(storage)) continue;
        text += fmt::format("{}{}", text.empty() ? "any in; out " : " or ",
                            qdq_fusion::fixed_form(rule, storage).text);
      }
      if (rule.results.of_8_bits.has_any_zero) text += "; of 8 bits with any zero point";
      break;
    case ParameterFamily::reader:
      text = "the same for all operands";
      break;
  }
  if (!rule.note.empty()) text += fmt::format("; {}", rule.note);
  if (const auto& [codes, why] = rule.except; !why.empty()) {
    text += fmt::format("; not {}: {}", codes.print(), why);
  }
  return text;
}

}  // namespace

std::vector<FusionRuleText> describe_rules(KernelsTarget target) {
  std::vector<FusionRuleText> texts;
  for (const KernelRule& rule : qdq_fusion::rules(target)) {
    texts.push_back({std::string(rule.kind), std::string(rule.operation), rule.storages.print(),
                     print_parameters(rule)});
  }
  return texts;
}

}  // namespace quadrant::inline v0

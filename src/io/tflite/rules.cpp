#include "io/tflite/rules.hpp"

#include <algorithm>
#include <array>

namespace quadrant::inline v0::tflite {

namespace {

constexpr std::array families{
    activation_rules,    composed_rules, conversion_rules, convolution_rules,
    elementwise_rules,   image_rules,    lookup_rules,     move_rules,
    normalization_rules, pooling_rules,  product_rules,    reduction_rules,
};

}  // namespace

const Rule* find_rule(std::string_view kind) noexcept {
  for (const auto& family : families) {
    const std::span<const Rule> rules = family();
    const auto found = std::ranges::find(rules, kind, &Rule::kind);
    if (found != rules.end()) return &*found;
  }
  return nullptr;
}

BuiltinOperator kernel_code(const Rule& rule, const Lowering& lowering, const NodeRef& node) {
  return rule.kernel ? rule.kernel(lowering, node) : rule.code;
}

const Rule* find_elementwise(BuiltinOperator code, std::size_t operands) noexcept {
  for (const auto& family : {activation_rules(), elementwise_rules()}) {
    const auto found = std::ranges::find_if(family, [&](const Rule& rule) {
      return rule.code == code && rule.elements != 0 && rule.elements == operands;
    });
    if (found != family.end()) return &*found;
  }
  return nullptr;
}

}  // namespace quadrant::inline v0::tflite

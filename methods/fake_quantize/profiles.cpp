#include "fake_quantize/profiles.hpp"

#include <algorithm>
#include <array>

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace low_precision {
namespace {

constexpr std::array families{&product_family, &sum_family,    &factor_family,
                              &mean_family,    &curve_family,  &clamp_family,
                              &same_family,    &concat_family, &float_cast_family};

// What the data's scales may be of.
std::string_view granularity_of(const PrecisionRule& rule) {
  if (rule.family != PrecisionFamily::product) return "tensor or channel";
  return rule.kind == ops::Conv::kind ? "tensor; channel where depthwise" : "tensor";
}

}  // namespace

const LowPrecisionProfile& profile(KernelsTarget target) noexcept {
  if (target == KernelsTarget::openvino_gpu) return target_kernels::openvino::gpu;
  if (target == KernelsTarget::openvino_generic) return target_kernels::openvino::generic;
  return target_kernels::openvino::cpu;
}

const Family& family_of(const PrecisionRule& rule) noexcept {
  return *families[static_cast<std::size_t>(rule.family)];
}

const PrecisionRule* find_rule(KernelsTarget target, std::string_view kind) noexcept {
  const auto rules = profile(target).rules;
  const auto found = std::ranges::find(rules, kind, &PrecisionRule::kind);
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace low_precision

std::vector<LowPrecisionRuleText> describe_low_precision(KernelsTarget target) {
  std::vector<LowPrecisionRuleText> texts;
  for (const low_precision::PrecisionRule& rule : low_precision::profile(target).rules) {
    texts.push_back({std::string(rule.kind), rule.data.print(), rule.weight.print(),
                     std::string(low_precision::granularity_of(rule)),
                     std::string(low_precision::family_of(rule).result)});
  }
  return texts;
}

}  // namespace quadrant::inline v0

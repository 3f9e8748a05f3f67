#include "fake_quantize/profiles.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace low_precision {
namespace {

constexpr std::array families{&product_family, &sum_family,    &factor_family,
                              &mean_family,    &curve_family,  &clamp_family,
                              &same_family,    &concat_family, &float_cast_family};

constexpr std::array<std::pair<LowPrecisionTarget, std::string_view>, 3> target_names{
    {{LowPrecisionTarget::cpu, "cpu"},
     {LowPrecisionTarget::gpu, "gpu"},
     {LowPrecisionTarget::generic, "generic"}}};

// What the data's scales may be of.
std::string_view granularity_of(const PrecisionRule& rule) {
  if (rule.family != PrecisionFamily::product) return "tensor or channel";
  return rule.kind == ops::Conv::kind ? "tensor; channel where depthwise" : "tensor";
}

}  // namespace

const LowPrecisionProfile& profile(LowPrecisionTarget target) noexcept {
  switch (target) {
    case LowPrecisionTarget::gpu:
      return target_kernels::openvino::gpu;
    case LowPrecisionTarget::generic:
      return target_kernels::openvino::generic;
    case LowPrecisionTarget::cpu:
      break;
  }
  return target_kernels::openvino::cpu;
}

const Family& family_of(const PrecisionRule& rule) noexcept {
  return *families[static_cast<std::size_t>(rule.family)];
}

const PrecisionRule* find_rule(LowPrecisionTarget target, std::string_view kind) noexcept {
  const auto rules = profile(target).rules;
  const auto found = std::ranges::find(rules, kind, &PrecisionRule::kind);
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace low_precision

std::vector<LowPrecisionRuleText> describe_low_precision(LowPrecisionTarget target) {
  std::vector<LowPrecisionRuleText> texts;
  for (const low_precision::PrecisionRule& rule : low_precision::profile(target).rules) {
    texts.push_back({std::string(rule.kind), rule.data.print(), rule.weight.print(),
                     std::string(low_precision::granularity_of(rule)),
                     std::string(low_precision::family_of(rule).result)});
  }
  return texts;
}

std::string_view to_string(LowPrecisionTarget target) noexcept {
  return low_precision::target_names[static_cast<std::size_t>(target)].second;
}

std::optional<LowPrecisionTarget> parse_low_precision_target(std::string_view text) noexcept {
  const auto* const found = std::ranges::find(
      low_precision::target_names, text, &std::pair<LowPrecisionTarget, std::string_view>::second);
  return found == low_precision::target_names.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace quadrant::inline v0

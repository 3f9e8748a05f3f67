#include "fake_quantize/profiles.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/ops/elementwise.hpp"
#include "quadrant/ir/ops/places.hpp"
#include "quadrant/ir/ops/reductions.hpp"
#include "quadrant/ir/ops/windows.hpp"

namespace quadrant::inline v0 {
namespace low_precision {
namespace {

constexpr Storages u8{ElementType::uint8};
constexpr Storages i8{ElementType::int8};
constexpr Storages bytes{ElementType::uint8, ElementType::int8};
constexpr Storages all{ElementType::uint8, ElementType::int8, ElementType::uint4,
                       ElementType::int4};

// Products as the target has them: convolutions, transposed ones, matrix products; all else takes
// whatever codes there are.
struct Products {
  Storages conv;
  Storages conv_transpose;
  Storages matrix;
  Storages weight;
  Storages any;
};

constexpr std::size_t rule_count = 35;
using Rules = std::array<PrecisionRule, rule_count>;

constexpr Rules rules_of(const Products& types) {
  return {{
      {ops::Conv::kind, &product_family, types.conv, types.weight},
      {ops::ConvTranspose::kind, &product_family, types.conv_transpose, types.weight},
      {ops::MatMul::kind, &product_family, types.matrix, types.weight},
      {ops::Gemm::kind, &product_family, types.matrix, types.weight},
      {ops::Linear::kind, &product_family, types.matrix, types.weight},
      {ops::BatchMatMul::kind, &product_family, types.matrix, types.weight},
      {ops::Add::kind, &sum_family, types.any},
      {ops::Sub::kind, &sum_family, types.any},
      {ops::Multiply::kind, &factor_family, types.any},
      {ops::Div::kind, &factor_family, types.any},
      {ops::AveragePool::kind, &mean_family, types.any},
      {ops::GlobalAveragePool::kind, &mean_family, types.any},
      {ops::ReduceMean::kind, &mean_family, types.any},
      {ops::PRelu::kind, &curve_family, types.any},
      {ops::LeakyRelu::kind, &curve_family, types.any},
      {ops::Relu::kind, &clamp_family, types.any},
      {ops::Clip::kind, &clamp_family, types.any},
      {ops::MaxPool::kind, &same_family, types.any},
      {ops::GlobalMaxPool::kind, &same_family, types.any},
      {ops::Pad::kind, &same_family, types.any},
      {ops::Resize::kind, &same_family, types.any},
      {ops::DepthToSpace::kind, &same_family, types.any},
      {ops::SpaceToDepth::kind, &same_family, types.any},
      {ops::Identity::kind, &same_family, types.any},
      {ops::Transpose::kind, &same_family, types.any},
      {ops::Reshape::kind, &same_family, types.any},
      {ops::Squeeze::kind, &same_family, types.any},
      {ops::Unsqueeze::kind, &same_family, types.any},
      {ops::Flatten::kind, &same_family, types.any},
      {ops::Expand::kind, &same_family, types.any},
      {ops::Slice::kind, &same_family, types.any},
      {ops::Split::kind, &same_family, types.any},
      {ops::Gather::kind, &same_family, types.any},
      {ops::Concat::kind, &concat_family, types.any},
      {ops::Cast::kind, &float_cast_family, types.any},
  }};
}

// What OpenVINO's plugins tell their low-precision transformations. The CPU's convolutions take
// data with a sign on processors with AMX alone, which models are not made for.
constexpr Rules cpu_rules = rules_of({u8, bytes, bytes, i8, bytes});
constexpr Rules gpu_rules = rules_of({bytes, bytes, bytes, i8, bytes});
constexpr Rules generic_rules = rules_of({all, all, all, all, all});

constexpr LowPrecisionProfile cpu{u8, i8, cpu_rules};
constexpr LowPrecisionProfile gpu{bytes, i8, gpu_rules};
constexpr LowPrecisionProfile generic{all, all, generic_rules};

constexpr std::array<std::pair<LowPrecisionTarget, std::string_view>, 3> target_names{
    {{LowPrecisionTarget::cpu, "cpu"},
     {LowPrecisionTarget::gpu, "gpu"},
     {LowPrecisionTarget::generic, "generic"}}};

// What the data's scales may be of.
std::string_view granularity_of(const PrecisionRule& rule) {
  if (rule.family != &product_family) return "tensor or channel";
  return rule.kind == ops::Conv::kind ? "tensor; channel where depthwise" : "tensor";
}

}  // namespace

const LowPrecisionProfile& profile(LowPrecisionTarget target) noexcept {
  switch (target) {
    case LowPrecisionTarget::gpu:
      return gpu;
    case LowPrecisionTarget::generic:
      return generic;
    case LowPrecisionTarget::cpu:
      break;
  }
  return cpu;
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
                     std::string(rule.family->result)});
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

// Which operations the browsers' converter, from WebNN to LiteRT, lets compute on codes.
#pragma once

#include <algorithm>
#include <array>

#include "targets/kernels/litert_rules.hpp"

namespace quadrant::inline v0::target_kernels::webnn {

// What its rules say where they differ from LiteRT's.
inline constexpr KernelRule sum{.operands = 2, .ratio = {1.0 / 1024, litert::most_of_two}};
inline constexpr std::array exceptions{
    litert::of_kernels(litert::rescaling, ops::Add::kind, "ADD", sum),
    litert::of_kernels(litert::rescaling, ops::Sub::kind, "SUB", sum),
    litert::of_kernels(litert::rescaling, ops::Multiply::kind, "MUL",
                       {.operands = 2, .ratio = {1.0 / 65536, 256}, .is_product = true}),
    clamps(ops::Clip::kind, "RELU6, RELU_N1_TO_1; MAXIMUM, MINIMUM"),
    clamps(ops::Relu::kind, "RELU"),
    KernelRule{.kind = ops::Tanh::kind,
               .operation = "TANH",
               .family = litert::fixed,
               .results = {.of_8_bits = {litert::fraction(128), 0}}},
};

// What it has no rules for.
inline constexpr std::array lacks{
    ops::MatMul::kind,       ops::HardSwish::kind,    ops::Gelu::kind,     ops::Exp::kind,
    ops::Abs::kind,          ops::Log::kind,          ops::Sqrt::kind,     ops::PRelu::kind,
    ops::LogSoftmax::kind,   ops::Tile::kind,         ops::Where::kind,    ops::ArgMin::kind,
    ops::DepthToSpace::kind, ops::SpaceToDepth::kind, ops::GatherND::kind, ops::Expand::kind};

// No rule of it is about 16 bits, nor about other zero points than the kernels' own.
inline constexpr auto rules = [] {
  std::array<KernelRule, litert::rules.size() - lacks.size()> rules{};
  std::size_t count = 0;
  for (KernelRule rule : litert::rules) {
    if (std::ranges::find(lacks, rule.kind) != lacks.end()) continue;
    const Types taken = litert::types_of(rule.storages) & litert::of_8_bits;
    if (const KernelRule* const exception = find_rule(exceptions, rule.kind)) rule = *exception;
    rule.storages = litert::storages_of(taken);
    rule.except = {};
    rule.most_of_16_bits = KernelRule{}.most_of_16_bits;
    rule.most_of_8_bits = KernelRule{}.most_of_8_bits;
    rule.results.of_8_bits.has_any_zero = false;
    rules[count++] = rule;
  }
  return rules;
}();

}  // namespace quadrant::inline v0::target_kernels::webnn

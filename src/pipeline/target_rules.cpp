#include "pipeline/target_rules.hpp"

#include <utility>

#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/recipe/scheme_table.hpp"

namespace quadrant::inline v0 {
namespace {

TargetScheme explicit_quantization_rules() {
  TargetScheme scheme{fusion_scheme,
                      "Operations between dequantize and quantize compute on codes",
                      {"operation", "becomes", "codes", "parameters"},
                      {}};
  for (const KernelsTarget target : fusion_targets) {
    TargetRules& rules = scheme.targets.emplace_back();
    rules.target = to_string(target);
    for (const FusionRuleText& rule : describe_rules(target)) {
      rules.rows.push_back({rule.kind, rule.operation, rule.storages, rule.parameters});
    }
  }
  return scheme;
}

TargetScheme fake_quantize_rules() {
  TargetScheme scheme{low_precision_scheme,
                      "Simulated quantization (fake_quantize) becomes operations on codes",
                      {"operation", "data", "weight", "scales of data", "result"},
                      {}};
  for (const KernelsTarget target : low_precision_targets) {
    TargetRules& rules = scheme.targets.emplace_back();
    rules.target = to_string(target);
    for (const LowPrecisionRuleText& rule : describe_low_precision(target)) {
      rules.rows.push_back({rule.kind, rule.data, rule.weight, rule.granularity, rule.result});
    }
  }
  return scheme;
}

}  // namespace

std::vector<std::string_view> target_schemes() { return {low_precision_scheme, fusion_scheme}; }

std::optional<TargetScheme> find_target_scheme(std::string_view name) {
  const std::string plain = key_of(name);
  if (plain == fusion_scheme) return explicit_quantization_rules();
  if (plain == low_precision_scheme) return fake_quantize_rules();
  return std::nullopt;
}

Json to_json(const TargetScheme& scheme) {
  Json targets = Json::array();
  for (const TargetRules& rules : scheme.targets) {
    Json rows = Json::array();
    for (const auto& row : rules.rows) {
      Json object;
      for (std::size_t i = 0; i < row.size(); ++i) object[scheme.columns[i]] = row[i];
      rows.push_back(std::move(object));
    }
    targets.push_back({{"target", rules.target}, {"rules", std::move(rows)}});
  }
  return {{"scheme", scheme.name}, {"targets", std::move(targets)}};
}

}  // namespace quadrant::inline v0

#include "pipeline/listings.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "io/onnx/names.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0 {
namespace {

// What the four phases do with the operation.
std::string_view role(const QuantizationMethod& method) {
  return method.eligible_state() == State::Consumer ? "consumer" : "quantizer";
}

// What ONNX calls the operation, with its domain before it; empty for one that only other IRs have.
std::string onnx_operator(std::string_view kind) {
  const onnx::OpName name = onnx::op_name_of(kind);
  return name.domain.empty() ? name.op_type : fmt::format("{}::{}", name.domain, name.op_type);
}

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

Listing list_schemes(const SchemeTable& schemes) {
  Table table({{"scheme"}, {""}});
  Json list = Json::array();
  for (const SchemeEntry& scheme : schemes) {
    table.add({std::string(scheme.name), std::string(scheme.summary)});
    list.push_back({{"scheme", scheme.name}, {"summary", scheme.summary}});
  }
  return {table.print(), {{"schemes", std::move(list)}}};
}

Listing list_methods(const Registry& registry) {
  Table table({{"operation"}, {"method"}, {"role"}, {"parents"}});
  Json list = Json::array();
  for (const QuantizationMethod* method : registry.methods()) {
    std::vector<std::string> parents;
    for (const ParentsPattern& pattern : method->patterns()) parents.push_back(to_string(pattern));
    list.push_back({{"operation", method->op()},
                    {"method", method->name()},
                    {"role", role(*method)},
                    {"parents", parents}});
    table.add({std::string(method->op()), std::string(method->name()), std::string(role(*method)),
               parents.empty() ? "any" : parents.front()});
    for (std::size_t i = 1; i < parents.size(); ++i) table.add({"", "", "", "or " + parents[i]});
  }
  return {table.print(), std::move(list)};
}

Listing list_operations() {
  Table table({{"operation"}, {"ONNX operator"}});
  Json list = Json::array();
  for (const KernelEntry& entry : Interpreter::kernels()) {
    table.add({std::string(entry.kind), onnx_operator(entry.kind)});
    list.push_back({{"operation", entry.kind}, {"onnx", onnx_operator(entry.kind)}});
  }
  return {table.print() + fmt::format("\n  {} operations, which the interpreter computes\n",
                                      Interpreter::kernels().size()),
          {{"operations", std::move(list)}}};
}

Expected<Listing> list_presets() {
  Table table({{"preset"}, {""}});
  Json list = Json::array();
  for (const Preset& preset : presets()) {
    QUADRANT_TRY(const Recipe recipe, parse_recipe(preset.text));
    table.add({std::string(preset.name), recipe.description});
    list.push_back({{"preset", preset.name}, {"recipe", Json::parse(preset.text)}});
  }
  return Listing{table.print(), {{"presets", std::move(list)}}};
}

Listing list_hardware() {
  std::string text;
  Json list = Json::array();
  for (const HardwareProfile& profile : hardware_profiles()) {
    Table table({{profile.name}, {"", Table::Align::right}, {"unit"}, {""}});
    for (const HardwareNumber& number : hardware_numbers()) {
      const double value = profile.*number.member;
      table.add({std::string(number.key), value == 0 ? "none" : fmt::format("{}", value),
                 std::string(number.unit), std::string(number.summary)});
    }
    text += fmt::format(
        "{}\n  {}\n  dequantized constants are {}\n  products of codes are added in {} bits\n\n",
        table.print(), profile.description,
        profile.folds_constants ? "computed once" : "computed in each run",
        profile.sums_in_32_bits ? "32" : "16, two at a time, or 32");
    list.push_back(Json::parse(print_hardware(profile)));
  }
  return {std::move(text), {{"hardware", std::move(list)}}};
}

Listing list_types(std::int64_t columns) {
  Table table({{"type"}, {"bits", Table::Align::right}, {"what it holds"}, {"from"}});
  Json list = Json::array();
  for (const NamedFormat& named : named_formats()) {
    const auto format = parse_number_format(named.name);
    const double bits = format ? bits_per_weight(*format, Shape{columns, columns}) : 0;
    table.add({std::string(named.name), fmt::format("{:.3f}", bits), std::string(named.text),
               std::string(named.source)});
    list.push_back({{"type", named.name},
                    {"bits_per_weight", bits},
                    {"format", named.text},
                    {"source", named.source}});
  }
  return {table.print(), {{"types", std::move(list)}}};
}

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

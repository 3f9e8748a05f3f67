#include "pipeline/listings.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "io/onnx/names.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/ir/number_format.hpp"
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

}  // namespace quadrant::inline v0

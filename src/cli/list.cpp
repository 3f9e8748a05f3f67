// quadrant list [SCHEME|presets|operations|types|hardware]: the schemes, what one of them knows,
// recipes by name, what the interpreter computes, number formats, or what times are predicted with.
#include <fmt/format.h>

#include <array>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/schemes.hpp"
#include "io/onnx/names.hpp"
#include "pipeline/target_rules.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

// What the four phases do with the operation.
std::string_view role(const QuantizationMethod& method) {
  return method.eligible_state() == State::Consumer ? "consumer" : "quantizer";
}

std::vector<std::string> patterns(const QuantizationMethod& method) {
  std::vector<std::string> result;
  for (const ParentsPattern& pattern : method.patterns()) result.push_back(to_string(pattern));
  return result;
}

// Its options, as --help shows them.
std::string print_options(const SchemeEntry& scheme) {
  CLI::App options;
  options.set_help_flag();
  Schemes alone(scheme);
  alone.declare(options);
  const HelpFormatter formatter;
  std::string text;
  for (const CLI::Option* const option : std::as_const(options).get_options()) {
    text += formatter.make_option(option, false);
  }
  return text;
}

std::string print_schemes(const SchemeTable& schemes) {
  Table table({{"scheme"}, {""}});
  for (const SchemeEntry& scheme : schemes) {
    table.add({std::string(scheme.name), std::string(scheme.summary)});
  }
  return table.print() +
         "\n'quadrant list SCHEME' shows the options and operations of one, 'quadrant list "
         "presets' recipes by\nname, 'quadrant list operations' what the interpreter computes, "
         "'quadrant list types' number formats for weights, 'quadrant list "
         "hardware' what\n--gain latency predicts with, 'quadrant list qdq_fusion' what 'quadrant "
         "convert' fuses.\n";
}

std::string print_scheme(const SchemeEntry& scheme, const Registry& registry) {
  Table methods({{"operation"}, {"method"}, {"role"}, {"parents"}});
  for (const QuantizationMethod* method : registry.methods()) {
    std::vector<std::string> alternatives = patterns(*method);
    if (alternatives.empty()) alternatives.emplace_back("any");
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      if (i == 0) {
        methods.add({std::string(method->op()), std::string(method->name()),
                     std::string(role(*method)), alternatives[i]});
      } else {
        methods.add({"", "", "", "or " + alternatives[i]});
      }
    }
  }
  return fmt::format(
      "{}: {}\n\nOptions:\n{}\nOperations:\n{}\n"
      "A quantizer's result becomes quantized; a consumer gains from quantized parents, its result "
      "is float.\nParents: the states its operands must be in, in order.\n",
      scheme.name, scheme.summary, print_options(scheme), methods.print());
}

Json scheme_json(const SchemeEntry& scheme, const Registry& registry) {
  Json methods = Json::array();
  for (const QuantizationMethod* method : registry.methods()) {
    methods.push_back({{"operation", method->op()},
                       {"method", method->name()},
                       {"role", role(*method)},
                       {"parents", patterns(*method)}});
  }
  return {{"scheme", scheme.name},
          {"summary", scheme.summary},
          {"options", registry.scheme().describe()},
          {"methods", std::move(methods)}};
}

// In the place of a scheme.
constexpr std::string_view operations = "operations";
constexpr std::string_view all_presets = "presets";
constexpr std::string_view all_hardware = "hardware";
constexpr std::string_view all_types = "types";

// What ONNX calls the operation, with its domain before it; empty for one that only other IRs have.
std::string onnx_operator(std::string_view kind) {
  const onnx::OpName name = onnx::op_name_of(kind);
  return name.domain.empty() ? name.op_type : fmt::format("{}::{}", name.domain, name.op_type);
}

std::string print_operations() {
  Table table({{"operation"}, {"ONNX operator"}});
  for (const KernelEntry& entry : Interpreter::kernels()) {
    table.add({std::string(entry.kind), onnx_operator(entry.kind)});
  }
  return table.print() + fmt::format("\n  {} operations, which the interpreter computes\n",
                                     Interpreter::kernels().size());
}

Json operations_json() {
  Json list = Json::array();
  for (const KernelEntry& entry : Interpreter::kernels()) {
    list.push_back({{"operation", entry.kind}, {"onnx", onnx_operator(entry.kind)}});
  }
  return {{"operations", std::move(list)}};
}

Expected<Table> preset_table() {
  Table table({{"preset"}, {""}});
  for (const Preset& preset : presets()) {
    QUADRANT_TRY(const Recipe recipe, parse_recipe(preset.text));
    table.add({std::string(preset.name), recipe.description});
  }
  return table;
}

Json presets_json() {
  Json list = Json::array();
  for (const Preset& preset : presets()) {
    list.push_back({{"preset", preset.name}, {"recipe", Json::parse(preset.text)}});
  }
  return {{"presets", std::move(list)}};
}

std::string print_hardware_profiles() {
  std::string text;
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
  }
  return text + "--gain latency predicts with the first, or with what --hardware says.\n";
}

Json hardware_json() {
  Json list = Json::array();
  for (const HardwareProfile& profile : hardware_profiles()) {
    list.push_back(Json::parse(print_hardware(profile)));
  }
  return {{"hardware", std::move(list)}};
}

// Bits of a weight of a matrix whose rows hold `columns`.
double bits_of(const NamedFormat& named, std::int64_t columns) {
  const auto format = parse_number_format(named.name);
  return format ? bits_per_weight(*format, Shape{columns, columns}) : 0;
}

constexpr std::int64_t shown_columns = 4096;

std::string print_types() {
  Table table({{"type"}, {"bits", Table::Align::right}, {"what it holds"}, {"from"}});
  for (const NamedFormat& named : named_formats()) {
    table.add({std::string(named.name), fmt::format("{:.3f}", bits_of(named, shown_columns)),
               std::string(named.text), std::string(named.source)});
  }
  return table.print() +
         fmt::format(
             "\n'codebook:N' is a table of N values for a tensor, 'codebook:N:channel' and "
             "'codebook:N:group' for\nparts of it. Bits are those of a weight in a matrix of "
             "{0} x {0}, scales and tables included.\n'quadrant quantize --scheme weight-only "
             "--type TYPE' takes a name, or text like that: 'channel' and\n'block=32' are "
             "along the axes of each weight; 'z' is a zero point, '+-' a scale of any "
             "sign.\n",
             shown_columns);
}

Json types_json() {
  Json list = Json::array();
  for (const NamedFormat& named : named_formats()) {
    list.push_back({{"type", named.name},
                    {"bits_per_weight", bits_of(named, shown_columns)},
                    {"format", named.text},
                    {"source", named.source}});
  }
  return {{"types", std::move(list)}};
}

Json schemes_json(const SchemeTable& schemes) {
  Json list = Json::array();
  for (const SchemeEntry& scheme : schemes) {
    list.push_back({{"scheme", scheme.name}, {"summary", scheme.summary}});
  }
  return {{"schemes", std::move(list)}};
}

class List final : public Command {
 public:
  List()
      : Command({.name = "list",
                 .about = "Show the schemes, or the options and operations of one",
                 .reads_models = false}) {}

  void declare(CLI::App& command) override {
    add_value(command, "SCHEME", scheme_, "",
              "Scheme to show; or 'presets', recipes that come with the program; or "
              "'operations', those that the interpreter computes; or 'types', number formats for "
              "weights; or 'hardware', what --gain "
              "latency predicts with; or 'qdq_fusion' or 'fake_quantize', what 'convert' can have "
              "computed on codes");
    declare_json(command, json_);
    command.footer("Examples:\n  quadrant list weight-only\n  quadrant list operations");
  }

  Expected<void> run(Console& console) override {
    const SchemeTable& schemes = console.context().all_schemes();
    if (scheme_.empty()) {
      return show(
          console, [&] { return schemes_json(schemes); }, [&] { return print_schemes(schemes); });
    }
    if (const auto rules = find_target_scheme(scheme_)) {
      return show(console, [&] { return to_json(*rules); }, [&] { return cli::print(*rules); });
    }
    if (scheme_ == operations) return show(console, operations_json, print_operations);
    if (scheme_ == all_types) return show(console, types_json, print_types);
    if (scheme_ == all_hardware) return show(console, hardware_json, print_hardware_profiles);
    if (scheme_ == all_presets) {
      QUADRANT_TRY(const Table table, preset_table());
      return show(console, presets_json, [&] {
        return table.print() + "\n'quadrant recipe NAME' prints one, to start from.\n";
      });
    }
    auto found = schemes.find(scheme_);
    if (!found) {
      std::vector<std::string_view> others = target_schemes();
      others.insert(others.end(), {operations, all_presets, all_hardware, all_types});
      Error error = std::move(found).error();
      error.message += did_you_mean(scheme_, others);
      return fail(std::move(error));
    }
    const SchemeEntry* const scheme = *found;
    QUADRANT_TRY(const Registry registry, scheme->make({}, {}));
    return show(
        console, [&] { return scheme_json(*scheme, registry); },
        [&] { return print_scheme(*scheme, registry); });
  }

 private:
  template <class MakeJson, class Print>
  Expected<void> show(Console& console, MakeJson make_json, Print print) const {
    if (json_) {
      console.print_json(make_json());
    } else {
      console.print(print());
    }
    return {};
  }

  std::string scheme_;
};

}  // namespace

std::unique_ptr<Command> make_list() { return std::make_unique<List>(); }

}  // namespace quadrant::cli

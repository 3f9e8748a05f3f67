// quadrant list [SCHEME|presets|operations|types|hardware]: the schemes, what one of them knows,
// recipes by name, what the interpreter computes, number formats, or what times are predicted with.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/schemes.hpp"
#include "pipeline/listings.hpp"
#include "quadrant/report/tables.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

// In the place of a scheme.
constexpr std::string_view operations = "operations";
constexpr std::string_view all_presets = "presets";
constexpr std::string_view all_hardware = "hardware";
constexpr std::string_view all_types = "types";

constexpr std::int64_t shown_columns = 4096;

constexpr std::string_view schemes_foot =
    "\n'quadrant list SCHEME' shows the options and operations of one, 'quadrant list "
    "presets' recipes by\nname, 'quadrant list operations' what the interpreter computes, "
    "'quadrant list types' number formats for weights, 'quadrant list "
    "hardware' what\n--gain latency predicts with, 'quadrant list qdq_fusion' what 'quadrant "
    "convert' fuses.\n";
constexpr std::string_view presets_foot = "\n'quadrant recipe NAME' prints one, to start from.\n";
constexpr std::string_view hardware_foot =
    "--gain latency predicts with the first, or with what --hardware says.\n";
constexpr std::string_view types_foot =
    "\n'codebook:N' is a table of N values for a tensor, 'codebook:N:channel' and "
    "'codebook:N:group' for\nparts of it. Bits are those of a weight in a matrix of "
    "{0} x {0}, scales and tables included.\n'quadrant quantize --scheme weight-only "
    "--type TYPE' takes a name, or text like that: 'channel' and\n'block=32' are "
    "along the axes of each weight; 'z' is a zero point, '+-' a scale of any "
    "sign.\n";

Listing with_foot(Listing listing, std::string_view foot) {
  listing.text += foot;
  return listing;
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

Expected<Listing> list_scheme(const SchemeEntry& scheme) {
  QUADRANT_TRY(const Registry registry, scheme.make({}, {}));
  Listing methods = list_methods(registry);
  return Listing{
      fmt::format(
          "{}: {}\n\nOptions:\n{}\nOperations:\n{}\n"
          "A quantizer's result becomes quantized; a consumer gains from quantized parents, its "
          "result is float.\nParents: the states its operands must be in, in order.\n",
          scheme.name, scheme.summary, print_options(scheme), methods.text),
      {{"scheme", scheme.name},
       {"summary", scheme.summary},
       {"options", registry.scheme().describe()},
       {"methods", std::move(methods.json)}}};
}

std::string print_targets(const TargetScheme& scheme) {
  std::string text = fmt::format("{}: {}: for 'quadrant convert'\n", scheme.name, scheme.summary);
  for (const TargetRules& rules : scheme.targets) {
    std::vector<Table::Column> columns;
    columns.reserve(scheme.columns.size());
    for (const std::string& column : scheme.columns) columns.push_back({column});
    Table table(std::move(columns));
    for (const auto& row : rules.rows) table.add(row);
    text += fmt::format("\nFor --target {}:\n{}", rules.target, table.print());
  }
  return text;
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
    QUADRANT_TRY(Listing found, listing(console.context().all_schemes()));
    if (json_) {
      console.print_json(std::move(found.json));
    } else {
      console.print(found.text);
    }
    return {};
  }

 private:
  [[nodiscard]] Expected<Listing> listing(const SchemeTable& schemes) const {
    if (scheme_.empty()) return with_foot(list_schemes(schemes), schemes_foot);
    if (const auto rules = find_target_scheme(scheme_)) {
      return Listing{print_targets(*rules), to_json(*rules)};
    }
    if (scheme_ == operations) return list_operations();
    if (scheme_ == all_types) {
      return with_foot(list_types(shown_columns), fmt::format(types_foot, shown_columns));
    }
    if (scheme_ == all_hardware) return with_foot(list_hardware(), hardware_foot);
    if (scheme_ == all_presets) {
      QUADRANT_TRY(Listing presets, list_presets());
      return with_foot(std::move(presets), presets_foot);
    }
    auto found = schemes.find(scheme_);
    if (!found) {
      std::vector<std::string_view> others = target_schemes();
      others.insert(others.end(), {operations, all_presets, all_hardware, all_types});
      Error error = std::move(found).error();
      error.message += did_you_mean(scheme_, others);
      return fail(std::move(error));
    }
    return list_scheme(**found);
  }

  std::string scheme_;
};

}  // namespace

std::unique_ptr<Command> make_list(const SchemeTable& /*schemes*/) {
  return std::make_unique<List>();
}

}  // namespace quadrant::cli

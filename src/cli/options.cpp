// quadrant options: the table of all subcommands and their options, of which man pages and shell
// completion are made (scripts/command_pages.py). Not in the help.
#include <CLI/CLI.hpp>
#include <string>

#include "cli/command.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/version.hpp"

namespace quadrant::cli {
namespace {

// What an option, or a positional, can be completed with, besides words in its type.
Json known_words(const std::string& type, const std::string& name) {
  Json words = Json::array();
  if (name == "--scheme" || type == "SCHEME") {
    for (const SchemeEntry& scheme : known_schemes()) words.push_back(scheme.name);
  }
  if (name == "--preset") {
    for (const Preset& preset : presets()) words.push_back(preset.name);
  }
  return words;
}

Json describe(const CLI::Option& option) {
  const std::string name = option.get_name();
  const bool takes_value = option.get_items_expected_max() > 0;
  return {{"name", name},
          {"long", option.get_lnames()},
          {"short", option.get_snames()},
          {"type", takes_value ? option.get_type_name() : ""},
          {"takes_value", takes_value},
          {"is_positional", option.get_positional()},
          {"is_required", option.get_required()},
          {"default", option.get_default_str()},
          {"description", option.get_description()},
          {"words", known_words(option.get_positional() ? name : option.get_type_name(), name)}};
}

Json describe(const CLI::App& command) {
  Json options = Json::array();
  for (const CLI::Option* const option : command.get_options()) {
    if (!option->get_group().empty()) options.push_back(describe(*option));
  }
  return {{"name", command.get_name()},
          {"description", command.get_description()},
          {"footer", command.get_footer()},
          {"options", std::move(options)}};
}

class Options final : public Command {
 public:
  Options()
      : Command({.name = "options",
                 .about = "Print this program's options as JSON",
                 .reads_models = false}) {
    json_ = true;
  }

  void declare(CLI::App& command) override {
    app_ = command.get_parent();
    command.group("");  // hidden
  }

  Expected<void> run(Console& console) override {
    Json commands = Json::array();
    for (const CLI::App* const command : app_->get_subcommands(nullptr)) {
      if (!command->get_group().empty()) commands.push_back(describe(*command));
    }
    Json table = describe(*app_);
    table["version"] = QUADRANT_VERSION_STRING;
    table["commands"] = std::move(commands);
    console.print_json(std::move(table));
    return {};
  }

 private:
  CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_options(const SchemeTable& /*schemes*/) {
  return std::make_unique<Options>();
}

}  // namespace quadrant::cli

#include "cli/plugin_options.hpp"

#include <CLI/CLI.hpp>
#include <string_view>

#include "quadrant/pipeline/plugin.hpp"

namespace quadrant::cli {
namespace {

constexpr std::string_view option_name = "--plugin";

}  // namespace

void declare_plugins(CLI::App& command) {
  command
      .add_option_function<std::vector<std::string>>(
          std::string(option_name), [](const std::vector<std::string>&) {},
          "Schemes of your own: a shared library, for this call. Repeatable")
      ->type_name("FILE");
}

Expected<Arguments> take_plugins(std::span<const char* const> arguments) {
  Arguments taken;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == option_name) {
      if (++i == arguments.size()) {
        return fail(ErrorCode::usage, "a file is missing: --plugin FILE");
      }
      taken.plugins.emplace_back(arguments[i]);
    } else if (argument.starts_with(option_name) && argument[option_name.size()] == '=') {
      taken.plugins.emplace_back(argument.substr(option_name.size() + 1));
    } else {
      taken.rest.push_back(arguments[i]);
    }
  }
  return taken;
}

Expected<void> load_plugins(std::span<const std::string> plugins, SchemeTable& schemes,
                            FileTransaction& files) {
  for (const std::string& plugin : plugins) {
    QUADRANT_CHECK(files.read(plugin));
    QUADRANT_CHECK(load_plugin(plugin, schemes));
  }
  return {};
}

}  // namespace quadrant::cli

#include "cli/named_files.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "cli/model.hpp"
#include "quadrant/engine/hardware_profile.hpp"

namespace quadrant::cli {
namespace {

// A file that an option names.
struct NamedFile {
  std::string option;  ///< the last of its names: --output
  std::string path;

  [[nodiscard]] bool is_written() const {
    constexpr std::array<std::string_view, 5> options{"--output", "--save-recipe", "--report",
                                                      "--dot", "--svg"};
    return std::ranges::find(options, option) != options.end();
  }
};

// Those of all options that take one: a file that an option reads is known here by itself.
std::vector<NamedFile> named_files(const CLI::App& command) {
  std::vector<NamedFile> files;
  for (const CLI::Option* const option : command.get_options()) {
    const std::string type = option->get_type_name();
    const bool may_be_name = type == "NAME|FILE";
    if (type != "FILE" && type != "PATH" && !may_be_name) continue;
    for (const std::string& path : option->results()) {
      if (path.empty() || (may_be_name && find_hardware_profile(path) != nullptr)) continue;
      files.push_back({option->get_name(), path});
    }
  }
  return files;
}

}  // namespace

Expected<void> check_files(const CLI::App& command, const std::string& model, bool over_model) {
  const std::vector<NamedFile> files = named_files(command);
  for (const NamedFile& file : files) {
    if (!file.is_written()) continue;
    QUADRANT_CHECK(over_model && file.option == "--output" ? check_output(file.path)
                                                           : check_side_output(file.path, model));
    for (const NamedFile& other : files) {
      if (other.option == file.option || !is_same_file(file.path, other.path)) continue;
      return fail(ErrorCode::usage,
                  fmt::format("two options name this file, {} and {}: give each one of its own",
                              file.option, other.option),
                  {.file = file.path});
    }
  }
  return {};
}

Expected<void> check_hardware_is_kept(const CLI::App& command, const std::string& hardware,
                                      const std::string& recipe) {
  if (hardware.empty() || find_hardware_profile(hardware) != nullptr) return {};
  for (const NamedFile& file : named_files(command)) {
    if (!file.is_written() || !is_same_file(file.path, hardware)) continue;
    return fail(ErrorCode::usage,
                fmt::format("{} would write over the hardware profile of {}: name another file",
                            file.option, recipe),
                {.file = file.path});
  }
  return {};
}

}  // namespace quadrant::cli

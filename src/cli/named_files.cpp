#include "cli/named_files.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/support/ranks.hpp"
#include "support/content_hash.hpp"
#include "support/input_file.hpp"

namespace quadrant::cli {
namespace {

constexpr std::string_view output = "--output";
constexpr std::string_view model = "MODEL";

bool names_files(const CLI::Option& option) {
  constexpr std::array<std::string_view, 3> types{"FILE", "PATH", "NAME|FILE"};
  return option.get_positional() || std::ranges::find(types, option.get_type_name()) != types.end();
}

bool is_written(std::string_view name) {
  constexpr std::array<std::string_view, 8> names{
      output, "OUT", "--save-recipe", "--report", "--dot", "--svg", "--cache", "--checkpoint-file"};
  return std::ranges::find(names, name) != names.end();
}

// Elsewhere `-` stands for standard output, of which a model, or a folder, cannot be made.
Expected<void> check_is_no_dash(const std::string& path, const std::string& name) {
  if (path != "-") return {};
  return fail(ErrorCode::usage,
              fmt::format("{} takes the name of a file, which '-' is not: './-' is one", name));
}

Expected<void> announce_output(const std::string& path, const std::string& name,
                               FileTransaction& files) {
  QUADRANT_CHECK(check_is_no_dash(path, name));
  QUADRANT_CHECK(files.announce(path, name));
  const bool has_weights = name == "OUT" && read_format(path) == ModelFormat::openvino;
  if (!has_weights) return {};
  return files.announce(std::filesystem::path(path).replace_extension(".bin").string(),
                        name + ", whose weights go into a file of their own,");
}

// A model of another format would become ONNX under the name that it has.
bool may_be_replaced(const std::string& name, const std::string& path) {
  return name != model || read_format(path) == ModelFormat::onnx;
}

// Samples may be large, and are told apart by their names.
bool are_samples(const CLI::Option& option, const std::string& path) {
  return option.get_type_name() == "PATH" && !is_statistics_file(path);
}

// Empty for a file that cannot be read: whoever needs it says why.
std::string hash_of_file(const std::string& path) {
  const auto file = InputFile::open(path);
  if (!file) return {};
  constexpr std::uint64_t at_once = std::uint64_t{1} << 20U;
  std::vector<std::byte> bytes(std::min(file->size(), at_once));
  ContentHash hash;
  for (std::uint64_t at = 0; at < file->size(); at += at_once) {
    const auto part = std::span(bytes).first(std::min(file->size() - at, at_once));
    if (!file->read(at, part)) return {};
    hash.add(part);
  }
  return std::to_string(hash.value());
}

}  // namespace

Expected<void> check_same_files(const CLI::App& command, Ranks& ranks) {
  for (const CLI::Option* const option : command.get_options()) {
    const bool is_read = names_files(*option) && !is_written(option->get_name());
    if (!is_read || option->get_positional()) continue;
    for (const std::string& path : option->results()) {
      if (are_samples(*option, path)) continue;
      QUADRANT_CHECK(ranks.check_same(path, hash_of_file(path)));
    }
  }
  return {};
}

Expected<void> announce_files(const CLI::App& command, std::string_view replaceable,
                              FileTransaction& files) {
  for (const CLI::Option* const option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->get_type_name() == "DIR") {
      for (const std::string& path : option->results())
        QUADRANT_CHECK(check_is_no_dash(path, name));
    }
    if (!names_files(*option)) continue;
    for (const std::string& path : option->results()) {
      if (path.empty()) continue;
      if (name == replaceable && may_be_replaced(name, path)) {
        files.allow_over(path, std::string(output));
      }
      QUADRANT_CHECK(is_written(name) ? announce_output(path, name, files) : files.read(path));
    }
  }
  return {};
}

}  // namespace quadrant::cli

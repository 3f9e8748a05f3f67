#include "calibration/data_set_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "support/counted.hpp"
#include "support/input_file.hpp"

namespace quadrant::inline v0::data_set {
namespace {

constexpr std::string_view spaces = " \t\r";
constexpr std::string_view assignment = ":=";

/// Takes the piece up to one of `ends`, and that, off the front of `text`.
std::string_view take(std::string_view& text, std::string_view ends) {
  const std::size_t size = std::min(text.find_first_of(ends), text.size());
  const std::string_view piece = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return piece;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::string_view word = take(line, spaces);
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

Expected<std::vector<std::string>> by_order(std::span<const std::string_view> words,
                                            std::span<const Input> inputs) {
  if (words.size() != inputs.size()) {
    return fail(ErrorCode::invalid_model,
                fmt::format("{}, where the model has {}: {}", counted(words.size(), "path"),
                            counted(inputs.size(), "input"), listed(inputs)));
  }
  return std::vector<std::string>(words.begin(), words.end());
}

Expected<std::vector<std::string>> by_name(std::span<const std::string_view> words,
                                           std::span<const Input> inputs) {
  std::vector<std::string> paths(inputs.size());
  for (const std::string_view word : words) {
    const std::size_t size = word.find(assignment);
    if (size == std::string_view::npos) {
      return fail(ErrorCode::invalid_model,
                  fmt::format("'{}' is not INPUT:=PATH, as others of the line are", word));
    }
    const std::string_view name = word.substr(0, size);
    const auto input = std::ranges::find(inputs, name, &Input::name);
    if (input == inputs.end()) {
      return fail(ErrorCode::invalid_model,
                  fmt::format("the model has no input '{}'; it has {}", name, listed(inputs)));
    }
    std::string& path = paths[static_cast<std::size_t>(input - inputs.begin())];
    if (!path.empty()) {
      return fail(ErrorCode::invalid_model, fmt::format("two paths for the input '{}'", name));
    }
    path = word.substr(size + assignment.size());
    if (path.empty()) {
      return fail(ErrorCode::invalid_model, fmt::format("no path for the input '{}'", name));
    }
  }
  const auto missing = std::ranges::find(paths, std::string());
  if (missing != paths.end()) {
    const Input& input = inputs[static_cast<std::size_t>(missing - paths.begin())];
    return fail(ErrorCode::invalid_model, fmt::format("no path for the input '{}'", input.name));
  }
  return paths;
}

}  // namespace

Expected<std::vector<std::vector<std::string>>> read_list(const std::string& path,
                                                          std::span<const Input> inputs) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 28U;
  QUADRANT_TRY(const InputFile file, InputFile::open(path));
  QUADRANT_TRY(const std::string text, file.text(largest, "lists of samples"));
  std::vector<std::vector<std::string>> samples;
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::vector<std::string_view> words = words_of(take(rest, "\n"));
    if (words.empty() || words[0].front() == '#' || words[0].front() == '%') continue;
    const bool has_names = std::ranges::any_of(words, [](std::string_view word) {
      return word.find(assignment) != std::string_view::npos;
    });
    auto paths = has_names ? by_name(words, inputs) : by_order(words, inputs);
    if (!paths) {
      return fail(ErrorCode::invalid_model,
                  fmt::format("line {}: {}", number, paths.error().message), {.file = path});
    }
    samples.push_back(*std::move(paths));
  }
  return samples;
}

std::string listed_path(const std::string& list, const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path beside = fs::path(list).parent_path() / path;  // `path` alone where it is absolute
  std::error_code ignored;
  return fs::exists(beside, ignored) || !fs::exists(path, ignored) ? beside.string() : path;
}

}  // namespace quadrant::inline v0::data_set

#include "calibration/data_set_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "support/counted.hpp"

namespace quadrant::inline v0::data_set {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Takes the digits off the front of `text`, without leading zeros.
std::string_view take_number(std::string_view& text) noexcept {
  std::size_t size = 0;
  while (size < text.size() && is_digit(text[size])) ++size;
  std::string_view number = text.substr(0, size);
  text.remove_prefix(size);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

std::string_view stem_of(std::string_view name) noexcept { return name.substr(0, name.rfind('.')); }

/// The name of an input, as a file may be called.
std::string safe_name(std::string_view name) {
  std::string safe(name);
  for (char& c : safe) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter && !is_digit(c) && c != '.' && c != '_' && c != '-') c = '_';
  }
  return safe;
}

/// Array files by name without ending.
using Stems = std::multimap<std::string_view, std::string_view, std::less<>>;

Stems stems_of(const Entries& entries) {
  Stems stems;
  for (const std::string& name : entries.files) {
    if (is_array(kind_of(name))) stems.emplace(stem_of(name), name);
  }
  return stems;
}

/// Names of the files for an input that is called `name`.
std::vector<std::string> named_files(const Stems& stems, const std::string& name) {
  std::vector<std::string> found;
  const std::string safe = safe_name(name);
  for (const std::string& stem : {name, safe}) {
    const auto [first, last] = stems.equal_range(stem);
    for (auto i = first; i != last; ++i) found.emplace_back(i->second);
    if (safe == name) break;
  }
  return found;
}

std::string onnx_name(std::string_view what, std::size_t number) {
  return fmt::format("{}_{}.pb", what, number);
}

bool has(const Entries& entries, std::string_view name) {
  return std::ranges::find(entries.files, name) != entries.files.end();
}

/// `output_0.pb` and the like: what the model should give.
bool is_onnx_output(std::string_view name) {
  return name.starts_with("output_") && kind_of(name) == FileKind::pb;
}

}  // namespace

FileKind kind_of(std::string_view path) noexcept {
  constexpr std::array<std::pair<std::string_view, FileKind>, 6> endings{{
      {".npz", FileKind::npz},
      {".npy", FileKind::npy},
      {".pb", FileKind::pb},
      {".raw", FileKind::raw},
      {".bin", FileKind::raw},
      {".txt", FileKind::list},
  }};
  for (const auto& [ending, kind] : endings) {
    if (path.ends_with(ending)) return kind;
  }
  return FileKind::other;
}

bool natural_less(std::string_view a, std::string_view b) noexcept {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view left = take_number(a);
      const std::string_view right = take_number(b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      continue;
    }
    if (a.front() != b.front()) return a < b;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // 01 and 1 are not the same
}

Expected<Entries> entries_of(const std::string& folder) {
  Entries entries;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code ignored;  // a link to nothing is refused when it is read
    (entry->is_directory(ignored) ? entries.folders : entries.files).push_back(std::move(name));
  }
  if (error) {
    return fail(ErrorCode::io, fmt::format("cannot read the folder: {}", error.message()),
                {.file = folder});
  }
  std::ranges::sort(entries.files, natural_less);
  std::ranges::sort(entries.folders, natural_less);
  return entries;
}

std::string path_in(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

Expected<InputFiles> input_files(const std::string& folder, const Entries& entries,
                                 std::span<const Input> inputs) {
  const Stems stems = stems_of(entries);
  const auto refuse = [&](const Input& input, std::string message) {
    return fail(ErrorCode::invalid_model, std::move(message),
                {.file = folder, .tensor = input.name});
  };
  std::map<std::string, const Input*> users;
  InputFiles result;
  bool by_number = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs[i];
    std::vector<std::string> found = named_files(stems, input.name);
    if (found.empty() && has(entries, onnx_name("input", i))) {
      found.push_back(onnx_name("input", i));
      by_number = true;
    }
    if (found.empty()) {
      return refuse(
          input, fmt::format("no file for this input: '{0}.npy', '{0}.pb', '{0}.raw' or "
                             "'{0}.bin', or '{1}'; there is {2}",
                             safe_name(input.name), onnx_name("input", i), listed(entries.files)));
    }
    if (found.size() > 1) {
      return refuse(input, fmt::format("more than one file for this input: {}", listed(found)));
    }
    const auto [user, is_new] = users.emplace(found.front(), &input);
    if (!is_new) {
      return refuse(input, fmt::format("'{}' would be this input and '{}'", found.front(),
                                       user->second->name));
    }
    result.used.push_back(std::move(found.front()));
  }
  const std::string one_more = onnx_name("input", inputs.size());
  if (by_number && has(entries, one_more)) {
    return fail(ErrorCode::invalid_model,
                fmt::format("there is '{}', where the model has {}", one_more,
                            counted(inputs.size(), "input")),
                {.file = folder});
  }
  for (const std::string& name : entries.files) {
    if (is_array(kind_of(name)) && !users.contains(name) && !is_onnx_output(name)) {
      result.ignored.push_back(name);
    }
  }
  return result;
}

bool has_input_file(const Entries& entries, std::span<const Input> inputs) {
  if (has(entries, first_onnx_input)) return true;
  const Stems stems = stems_of(entries);
  return std::ranges::any_of(
      inputs, [&](const Input& input) { return !named_files(stems, input.name).empty(); });
}

}  // namespace quadrant::inline v0::data_set

// Files and folders of samples, by their names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/data_set_inputs.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::data_set {

enum class FileKind : std::uint8_t { npz, npy, pb, raw, list, other };

/// By the end of the name.
[[nodiscard]] FileKind kind_of(std::string_view path) noexcept;

/// Whether files of that kind hold one array each.
[[nodiscard]] constexpr bool is_array(FileKind kind) noexcept {
  return kind == FileKind::npy || kind == FileKind::pb || kind == FileKind::raw;
}

/// Digits count as numbers: `a9` comes before `a10`.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b) noexcept;

/// What is in a folder: names without it, in natural order, without hidden ones.
struct Entries {
  std::vector<std::string> files;
  std::vector<std::string> folders;
};

[[nodiscard]] Expected<Entries> entries_of(const std::string& folder);

/// `folder/name`.
[[nodiscard]] std::string path_in(const std::string& folder, const std::string& name);

/// One file for each input.
struct InputFiles {
  std::vector<std::string> used;     ///< names, in order of the inputs
  std::vector<std::string> ignored;  ///< other arrays, besides ONNX's `output_0.pb`
};

/// Which files of a folder are the arrays of a sample. `invalid_model` where one is missing, or
/// there are several.
[[nodiscard]] Expected<InputFiles> input_files(const std::string& folder, const Entries& entries,
                                               std::span<const Input> inputs);

/// Whether a file is called as one of the inputs, or as ONNX's own tests call the first.
[[nodiscard]] bool has_input_file(const Entries& entries, std::span<const Input> inputs);

/// ONNX's own tests call an array so.
inline constexpr std::string_view first_onnx_input = "input_0.pb";

}  // namespace quadrant::inline v0::data_set

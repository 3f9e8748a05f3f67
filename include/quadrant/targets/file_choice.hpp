// Which file of a model to ship: the float one or the quantized one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/support/expected.hpp"
#include "quadrant/targets/placement.hpp"

namespace quadrant::inline v0 {

/// One of two files of the same model.
struct ModelFile {
  std::uint64_t bytes = 0;  ///< with its data files
  const Placement& placement;
};

enum class FileAdvice : std::uint8_t {
  floating,
  quantized,
  either,   ///< it depends on what matters: size, time to load, or accuracy
  both,     ///< no file runs everywhere, but each runtime has one
  neither,  ///< a runtime takes neither
};

[[nodiscard]] std::string_view to_string(FileAdvice advice) noexcept;

/// The two files on one runtime.
struct RuntimeChoice {
  std::string runtime;
  /// `neither` where both are refused, `either` where both are loaded with as many conversions.
  FileAdvice loads_faster = FileAdvice::either;
  bool takes_float = false;
  bool takes_quantized = false;
};

struct FileChoice {
  FileAdvice advice = FileAdvice::either;
  std::vector<std::string> reasons;  ///< for people, one sentence each
  FileAdvice smaller = FileAdvice::either;
  std::vector<RuntimeChoice> runtimes;
};

/// Decides for all runtimes of the two placements together, by "Balancing DLC File Size, Network
/// Initialization Time and Accuracy" of the Snapdragon Neural Processing Engine's documentation:
///
///   only one file is taken by all runtimes            that one
///   no file is, but each runtime takes one            both
///   a runtime takes neither                           neither
///   some load the quantized file faster, none float   quantized: float has no benefit there
///   some load the float file faster, none quantized   either: size against load and accuracy;
///                                                     float, if the quantized one is not smaller
///   some load the one faster, some the other          quantized, with the cost for the others
///   all convert as much of both                       either
///
/// "Faster" means that fewer elements are converted. `usage` where the runtimes of the two differ,
/// where the first file has quantized parameters, and where the second has none.
[[nodiscard]] Expected<FileChoice> choose_file(const ModelFile& floating,
                                               const ModelFile& quantized);

}  // namespace quadrant::inline v0

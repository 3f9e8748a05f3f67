// quadrant calibrate --moments: second moments of what layers compute on, and their grids.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/checkpoint_options.hpp"
#include "cli/console.hpp"
#include "cli/data_options.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/support/error.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
class Option;
}  // namespace CLI

namespace quadrant::cli {

/// What `calibrate` was asked for, of moments.
struct MomentsOptions {
  std::string moments;  ///< as `settle` finds it; empty: none
  const CLI::Option* option = nullptr;
  std::size_t block = SecondMoments::whole;
  bool says_block = false;
  bool grid_only = false;
  std::string grid;    ///< empty: that of what is merged, or one that is found first
  std::string memory;  ///< empty: 4 GiB of sums
};

/// Adds --moments, --grid-only, --grid and --memory.
void declare(CLI::App& command, MomentsOptions& options);

/// What --moments says. It may stand in front of `model`, without a word of its own, which was
/// taken for one then. `usage` for another word.
[[nodiscard]] Expected<void> settle(MomentsOptions& options, std::string& model);

/// The rest of the call.
struct MomentsCall {
  const std::string& model;
  const std::string& runtime;
  const DataOptions& data;
  SamplePart part;
  const KeepOptions& keep;
  const std::vector<std::string>& merged;
  const std::string& output;
  bool json = false;
};

/// Gathers, merges, writes and prints.
[[nodiscard]] Expected<void> run_moments(const MomentsOptions& options, const MomentsCall& call,
                                         Console& console);

}  // namespace quadrant::cli

// quadrant calibrate --moments: second moments of what layers compute on, and their grids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/checkpoint_options.hpp"
#include "cli/cli11.hpp"
#include "cli/console.hpp"
#include "cli/data_options.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::cli {

/// What `calibrate` was asked for, of moments.
struct MomentsOptions {
  bool moments = false;
  bool grid_only = false;
  std::string grid;  ///< empty: that of what is merged, or one that is found first
};

/// Adds --moments, --grid-only and --grid.
void declare(CLI::App& command, MomentsOptions& options);

/// The rest of the call.
struct MomentsCall {
  const std::string& model;
  const Graph& graph;
  std::uint64_t hash = 0;  ///< of the graph
  const std::string& runtime_name;
  const Runtime& runtime;
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

// What the commands that run a model share: the samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/cli11.hpp"
#include "cli/console.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::cli {

struct DataOptions {
  std::string path;        ///< --data; empty: random samples
  std::size_t random = 0;  ///< --random: how many
  std::uint64_t seed = 1;
  std::vector<std::string> shapes;  ///< of random samples: NAME=2x3

  [[nodiscard]] bool is_given() const noexcept { return !path.empty() || random != 0; }
};

/// Adds --data, --random, --seed and --shape to a subcommand, which must then ask `check`.
void declare(CLI::App& command, DataOptions& options);

/// Adds --convert and --allow-non-finite, for --data and --calibration alike, to a subcommand that
/// has one of these.
void declare_sample_options(CLI::App& command, Console& console);
/// `usage` where those were given and no samples of files to take so.
[[nodiscard]] Expected<void> check_sample_options(const CLI::App& command);

/// Whether there are samples to be had, one way: before the long work.
[[nodiscard]] Expected<void> check(const DataOptions& options);

/// The samples for `graph`.
[[nodiscard]] Expected<std::unique_ptr<DataSet>> open_data(const DataOptions& options,
                                                           const Graph& graph, Console& console);

}  // namespace quadrant::cli

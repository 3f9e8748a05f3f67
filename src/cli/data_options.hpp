// What the commands that run a model share: the samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace quadrant::cli {

struct DataOptions {
  std::string path;        ///< --data; empty: random samples
  std::size_t random = 0;  ///< --random: how many
  std::uint64_t seed = 1;
  std::vector<std::string> shapes;  ///< of random samples: NAME=2x3
  bool convert = false;
  bool allow_non_finite = false;
};

/// Adds --data, --random, --seed, --shape, --convert and --allow-non-finite to a subcommand, which
/// must then ask `check`.
void declare(CLI::App& command, DataOptions& options);

/// Whether there are samples to be had, one way: before the long work.
[[nodiscard]] Expected<void> check(const DataOptions& options);

/// The samples for `graph`.
[[nodiscard]] Expected<std::unique_ptr<DataSet>> open_data(const DataOptions& options,
                                                           const Graph& graph, Console& console);

}  // namespace quadrant::cli

// Models and other files, by path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/console.hpp"
#include "quadrant/engine/plan.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::cli {

/// Reads a model in the format that its ending says: .tflite, .qd for text, ONNX for all others.
[[nodiscard]] Expected<Graph> read_model(const std::string& path, Console& console);

/// The most bytes that a text file may have.
inline constexpr std::uint64_t largest_text = std::uint64_t{1} << 30U;

/// The whole of a text file.
[[nodiscard]] Expected<std::string> read_text(const std::string& path);

/// A plan that `plan -o` saved.
[[nodiscard]] Expected<Plan> read_plan(const std::string& path);

/// Whether a path that --calibration takes is of statistics, not of samples: it ends in `.json`.
[[nodiscard]] bool is_statistics_file(const std::string& path);
/// Statistics that `calibrate -o` saved.
[[nodiscard]] Expected<StatisticsTable> read_statistics(const std::string& path);
/// The same, saved for this model: `usage` for a value that it does not have.
[[nodiscard]] Expected<StatisticsTable> read_statistics_of(const Graph& graph,
                                                           const std::string& path);

/// Bytes of a file; 0 where it cannot be asked.
[[nodiscard]] std::uint64_t file_bytes(const std::string& path);

/// Bytes of the file of a model and of its data files, if it has some.
[[nodiscard]] std::uint64_t model_bytes(const std::string& path, const Graph& graph);

}  // namespace quadrant::cli

// Writes a model in the format that its file's name says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.hpp"
#include "cli/model_format.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/left_alone.hpp"

namespace quadrant::cli {

/// What was written, in the terms of one format.
struct WrittenModel {
  std::uint64_t bytes = 0;
  std::string summary;               ///< what it consists of; may be empty
  std::vector<std::string> remarks;  ///< operation by operation, where there is something to say
};

struct WriteOptions {
  bool qoperators = false;  ///< ONNX's operators on codes
  Executor* executor = nullptr;
};

/// Adds it to the files of `console`.
[[nodiscard]] Expected<WrittenModel> write_model(const Graph& graph, const std::string& path,
                                                 ModelFormat format, const WriteOptions& options,
                                                 Console& console);

/// What the file says otherwise than the graph, or ONNX Runtime computes otherwise than the file.
[[nodiscard]] std::vector<std::string> remarks_of(const OnnxWriteReport& report);

/// `what: name: reason` for each.
void add_remarks(std::vector<std::string>& remarks, std::string_view what,
                 const std::vector<LeftAlone>& items);

}  // namespace quadrant::cli

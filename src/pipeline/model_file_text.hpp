// Models as text, in files: `.qd`.
#pragma once

#include <string>

#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// `invalid_model` for text of a later version.
[[nodiscard]] Expected<Graph> read_text_model(const std::string& path, const RunContext& context);
/// `impossible` for more than `largest_text` bytes.
[[nodiscard]] Expected<WrittenModel> write_text_model(const Graph& graph, const std::string& path,
                                                      const RunContext& context);

}  // namespace quadrant::inline v0

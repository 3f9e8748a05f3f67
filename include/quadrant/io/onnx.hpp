// ONNX files (https://onnx.ai/onnx/repo-docs/IR.html) to graphs and back, opset 7 to 23.
#pragma once

#include <cstdint>
#include <string>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

struct OnnxReadOptions {
  Sink* sink = nullptr;  ///< receives notes about what was found; may be null
};

/// Reads the structure of a model. Contents of tensors stay in the file (or in the external data
/// files it names) and are read when they are needed, so memory does not grow with the weights; the
/// files must not change while the graph lives. Unknown operations, attributes, domains, subgraphs,
/// functions and metadata are carried along and written again.
///
/// Errors: `io` when a file cannot be read; `invalid_model` with file, tensor or node, and byte
/// offset for anything that is not a well-formed model.
[[nodiscard]] Expected<Graph> read_onnx(const std::string& path,
                                        const OnnxReadOptions& options = {});

struct OnnxWriteOptions {
  Executor* executor = nullptr;  ///< null: one thread. The bytes written do not depend on it.
  Sink* sink = nullptr;          ///< progress in bytes, notes about fallbacks; may be null
  /// Tensors of at least this many bytes go to a data file beside the model; the default keeps
  /// everything inline while the model stays below protobuf's 2 GiB.
  std::uint64_t external_from = UINT64_MAX;
};

/// What writing a model did beyond copying.
struct OnnxWriteReport {
  std::uint64_t model_bytes = 0;
  std::uint64_t external_bytes = 0;
  std::string external_file;  ///< empty when all data is inline
  std::int64_t opset_read = 0;
  std::int64_t opset_written = 0;
  /// Why `dequantize` was written as Cast and Mul instead of DequantizeLinear; empty when it was
  /// not.
  std::string fallback_reason;
};

/// Writes `graph` as a model; deferred constants are computed now, in pieces. Quantized types
/// become QuantizeLinear / DequantizeLinear with initializers for scale and zero point. A model
/// whose opset is below 13 (no per-axis DequantizeLinear) is converted to 13 where every operation
/// in it can be, else `dequantize` is written as Cast and Mul, which say the same, and the report
/// says why.
///
/// The file appears complete or not at all: it is written beside `path` and renamed. A data file is
/// written first, under a name made from its contents.
[[nodiscard]] Expected<OnnxWriteReport> write_onnx(const Graph& graph, const std::string& path,
                                                   const OnnxWriteOptions& options = {});

}  // namespace quadrant::inline v0

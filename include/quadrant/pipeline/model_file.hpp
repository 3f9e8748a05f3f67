// Models, read and written in the format that the ending of the file's name says.
//
//   auto model = read_model("model.onnx");
//   auto written = write_model(*model, "model.tflite");
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/run_context.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/left_alone.hpp"

namespace quadrant::inline v0 {

enum class ModelFormat : std::uint8_t {
  onnx,
  tflite,
  openvino,  ///< `.xml`, and a `.bin` beside it
  mlir,      ///< `.mlir`, which is only written
  text,      ///< `.qd`, what ir/text.hpp prints
};

/// `ONNX`, `TFLite`, `OpenVINO`, `MLIR`, `text`
[[nodiscard]] std::string_view to_string(ModelFormat format) noexcept;
/// Of a file that is to be written. `usage` for another ending, with those that there are, and for
/// a link to a file whose ending says another format.
[[nodiscard]] Expected<ModelFormat> model_format(const std::string& path);
/// `usage` where the file is a link to one whose ending says another format than `format`, which is
/// to be written.
[[nodiscard]] Expected<void> check_ending(const std::string& path, ModelFormat format);
/// Of a file that is read: ONNX's have any ending.
[[nodiscard]] ModelFormat read_format(const std::string& path);

/// Contents stay in the file until they are needed: it must not change while the graph lives.
/// Errors are those of the format's reader; `usage` for MLIR, which is written alone, and where
/// ranks do not read the same model.
[[nodiscard]] Expected<Graph> read_model(const std::string& path, const RunContext& context = {});

/// What was written, in the terms of one format.
struct WrittenModel {
  std::uint64_t bytes = 0;           ///< of all files
  std::string summary;               ///< what it consists of; may be empty
  std::vector<std::string> remarks;  ///< operation by operation, where there is something to say
};

struct WriteModelOptions {
  bool qoperators = false;  ///< ONNX's operators on codes
};

/// In the format of `model_format(path)`. Files appear complete or not at all. On ranks, which all
/// call it, ONNX is written by all, and other formats by the first. `impossible` for
/// what the format cannot say.
[[nodiscard]] Expected<WrittenModel> write_model(const Graph& graph, const std::string& path,
                                                 const WriteModelOptions& options = {},
                                                 const RunContext& context = {});

/// Another opset than the graph's, and what an ONNX file says otherwise than the graph, or ONNX
/// Runtime computes otherwise than it.
[[nodiscard]] std::vector<std::string> remarks_of(const OnnxWriteReport& report);
/// Adds `what: name: reason` for each.
void add_remarks(std::vector<std::string>& remarks, std::string_view what,
                 const std::vector<LeftAlone>& items);

/// Bytes of a file; 0 where it cannot be asked.
[[nodiscard]] std::uint64_t file_bytes(const std::string& path);
/// Bytes of the file of a model and of its data files, if it has some.
[[nodiscard]] std::uint64_t model_bytes(const std::string& path, const Graph& graph);

}  // namespace quadrant::inline v0

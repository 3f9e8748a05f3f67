#include "pipeline/model_file_text.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/io/openvino.hpp"
#include "quadrant/io/tflite.hpp"
#include "quadrant/pipeline/model_file.hpp"

namespace quadrant::inline v0 {

namespace {

Expected<Graph> read_alone(const std::string& path, const RunContext& context) {
  QUADRANT_CHECK(context.check_stop());
  switch (read_format(path)) {
    case ModelFormat::tflite:
      return read_tflite(path, context.files);
    case ModelFormat::openvino:
      return read_openvino(
          path,
          {.sink = context.sink, .files = context.files, .follow_links = context.follow_links});
    case ModelFormat::mlir:
      return fail(ErrorCode::usage,
                  "MLIR is written alone: mlir-opt with the plug-in quantizes modules as they are",
                  {.file = path});
    case ModelFormat::text:
      return read_text_model(path, context);
    case ModelFormat::onnx:
      break;
  }
  return read_onnx(
      path, {.sink = context.sink, .files = context.files, .follow_links = context.follow_links});
}

}  // namespace

Expected<Graph> read_model(const std::string& path, const RunContext& context) {
  auto graph = read_alone(path, context);
  if (context.ranks == nullptr) return graph;
  QUADRANT_CHECK(context.ranks->agree(graph.map([](const Graph&) {})));
  const auto hash = in_file(model_hash(*graph, context.executor), path);
  QUADRANT_CHECK(context.ranks->agree(hash.map([](std::uint64_t) {})));
  QUADRANT_CHECK(context.ranks->check_same(path, std::to_string(*hash)));
  return graph;
}

}  // namespace quadrant::inline v0

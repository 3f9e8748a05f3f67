#include <fmt/format.h>

#include <cstdint>

#include "pipeline/model_file_text.hpp"
#include "quadrant/io/mlir.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/io/openvino.hpp"
#include "quadrant/io/tflite.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/support/ranks.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<WrittenModel> write_as_tflite(const Graph& graph, const std::string& path,
                                       const RunContext& context) {
  QUADRANT_TRY(const TfliteWriteReport report, write_tflite(graph, path, {.files = context.files}));
  WrittenModel written{
      report.file_bytes,
      fmt::format("{}, of which {} for the layout", counted(report.operators, "operator"),
                  counted(report.transposes, "transpose")),
      {}};
  add_remarks(written.remarks, "decomposed", report.decomposed);
  add_remarks(written.remarks, "changed", report.changed);
  add_remarks(written.remarks, "not in the file", report.not_honoured);
  return written;
}

Expected<WrittenModel> write_as_openvino(const Graph& graph, const std::string& path,
                                         const RunContext& context) {
  QUADRANT_TRY(const OpenVinoWriteReport report,
               write_openvino(graph, path, {.files = context.files}));
  WrittenModel written{report.xml_bytes + report.bin_bytes,
                       fmt::format("{}, and {} of weights beside", counted(report.layers, "layer"),
                                   format_bytes(report.bin_bytes)),
                       {}};
  add_remarks(written.remarks, "decomposed", report.decomposed);
  return written;
}

Expected<WrittenModel> write_as_mlir(const Graph& graph, const std::string& path,
                                     const RunContext& context) {
  QUADRANT_TRY(const MlirWriteReport report, write_mlir(graph, path, context.files));
  return WrittenModel{report.file_bytes, counted(report.operations, "operation"), {}};
}

Expected<WrittenModel> write_as_onnx(const Graph& graph, const std::string& path,
                                     const WriteModelOptions& options, const RunContext& context) {
  OnnxWriteOptions onnx;
  onnx.executor = context.executor;
  onnx.sink = context.sink;
  onnx.files = context.files;
  onnx.ranks = context.ranks;
  onnx.qoperators = options.qoperators;
  QUADRANT_TRY(const OnnxWriteReport report, write_onnx(graph, path, onnx));
  return WrittenModel{
      report.model_bytes + report.external_bytes,
      onnx.qoperators ? counted(report.qoperators, "operator") + " on codes" : std::string(),
      remarks_of(report)};
}

}  // namespace

std::vector<std::string> remarks_of(const OnnxWriteReport& report) {
  constexpr std::int64_t without_kernels = 28;
  std::vector<std::string> remarks;
  if (report.was_converted) {
    remarks.push_back(fmt::format("opset {} became {}", report.opset_read, report.opset_written));
  }
  if (report.dequantize_linear > 0 && report.opset_written >= without_kernels) {
    remarks.push_back(
        fmt::format("ONNX Runtime (1.32) has no QuantizeLinear and DequantizeLinear of opset {}, "
                    "and does not load the file; OpenVINO does",
                    report.opset_written));
    return remarks;
  }
  if (report.unsigned_activations > 0) {
    remarks.push_back(fmt::format(
        "in the file, codes of 8 bits of {} have no sign: codes and zero points 128 more, for "
        "ONNX Runtime, which does not load some models of opset {} with signed ones",
        counted(report.unsigned_activations, "value"), report.opset_written));
  }
  if (report.rounded_products > 0) {
    remarks.push_back(
        fmt::format("ONNX Runtime rounds the data of up to {} to 8 bits (those by 8-bit weights "
                    "from release "
                    "1.25 on); the session option session.qdq_matmulnbits_accuracy_level = 1 "
                    "leaves them floats",
                    counted(report.rounded_products, "product")));
  }
  return remarks;
}

void add_remarks(std::vector<std::string>& remarks, std::string_view what,
                 const std::vector<LeftAlone>& items) {
  for (const LeftAlone& item : items) {
    remarks.push_back(fmt::format("{}: {}: {}", what, printable(item.name), item.reason));
  }
}

Expected<WrittenModel> write_model(const Graph& graph, const std::string& path,
                                   const WriteModelOptions& options, const RunContext& context) {
  QUADRANT_CHECK(context.check_stop());
  QUADRANT_TRY(const ModelFormat format, model_format(path));
  const bool is_shared = format == ModelFormat::onnx;
  if (!is_shared && !is_first(context.ranks)) return WrittenModel{};
  switch (format) {
    case ModelFormat::tflite:
      return write_as_tflite(graph, path, context);
    case ModelFormat::openvino:
      return write_as_openvino(graph, path, context);
    case ModelFormat::mlir:
      return write_as_mlir(graph, path, context);
    case ModelFormat::text:
      return write_text_model(graph, path, context);
    case ModelFormat::onnx:
      break;
  }
  return write_as_onnx(graph, path, options, context);
}

}  // namespace quadrant::inline v0

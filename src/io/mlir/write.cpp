// Graphs to files.
#include "io/mlir/failure.hpp"
#include "io/mlir/lower.hpp"
#include "quadrant/io/mlir.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/shape_inference.hpp"
#include "quadrant/support/new_file.hpp"

namespace quadrant::inline v0 {
namespace mlir_ir {
namespace {

/// With operations on real values, between conversions.
Graph with_conversions(const Graph& graph) {
  Graph copy = graph;
  make_quantization_explicit(copy);
  value_of(infer_shapes(copy));
  return copy;
}

}  // namespace
}  // namespace mlir_ir

Expected<std::string> mlir_text(const Graph& graph, const MlirWriteOptions& options,
                                MlirWriteReport* report) {
  return mlir_ir::at_border("", [&] {
    MlirWriteReport made;
    mlir_ir::Lowering lowering(mlir_ir::with_conversions(graph), options, made);
    lowering.run();
    std::string text;
    lowering.write([&](std::string_view part) { text += part; });
    made.file_bytes = text.size();
    if (report != nullptr) *report = std::move(made);
    return text;
  });
}

Expected<MlirWriteReport> write_mlir(const Graph& graph, const std::string& path,
                                     const MlirWriteOptions& options) {
  return mlir_ir::at_border(path, [&] {
    MlirWriteReport report;
    mlir_ir::Lowering lowering(mlir_ir::with_conversions(graph), options, report);
    lowering.run();
    NewFile file = mlir_ir::value_of(NewFile::create(path));
    lowering.write([&](std::string_view part) {
      mlir_ir::value_of(file.write(std::as_bytes(std::span(part))));
      report.file_bytes += part.size();
    });
    mlir_ir::value_of(file.commit());
    return report;
  });
}

}  // namespace quadrant::inline v0

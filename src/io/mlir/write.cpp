// Graphs to files.
#include "io/mlir/failure.hpp"
#include "io/mlir/lower.hpp"
#include "ir/aliases.hpp"
#include "ir/explicit_formats.hpp"
#include "ir/explicit_windows.hpp"
#include "ir/known_integers.hpp"
#include "numerics/quantize_constant.hpp"
#include "quadrant/io/mlir.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {
namespace mlir_ir {
namespace {

/// With operations of ONNX's own domain on real values, between conversions; what is known is a
/// constant.
Graph with_conversions(const Graph& graph) {
  Graph copy = graph;
  value_of(resolve_aliases(copy));
  value_of(quantize_constants_of_formats(copy));
  value_of(make_formats_explicit(copy, nullptr));
  make_quantization_explicit(copy);
  value_of(detail::make_windows_explicit(copy));
  value_of(detail::fold_shapes(copy));
  return copy;
}

}  // namespace
}  // namespace mlir_ir

Expected<std::string> mlir_text(const Graph& graph) {
  return mlir_ir::at_border("", [&] {
    mlir_ir::Lowering lowering(mlir_ir::with_conversions(graph));
    lowering.run();
    std::string text;
    lowering.write([&](std::string_view part) { text += part; });
    return text;
  });
}

Expected<MlirWriteReport> write_mlir(const Graph& graph, const std::string& path,
                                     FileTransaction* files) {
  return mlir_ir::at_border(path, [&] {
    mlir_ir::Lowering lowering(mlir_ir::with_conversions(graph));
    lowering.run();
    MlirWriteReport report{0, lowering.operations()};
    FilesOrOwn all(files);
    NewFile file = mlir_ir::value_of(all->create(path));
    lowering.write([&](std::string_view part) {
      mlir_ir::value_of(file.write(std::as_bytes(std::span(part))));
      report.file_bytes += part.size();
    });
    all->add_model(std::move(file));
    mlir_ir::value_of(all.finish());
    return report;
  });
}

}  // namespace quadrant::inline v0

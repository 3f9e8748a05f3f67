// quadrant-export: a function as an ONNX file, which `quadrant convert` makes others of.
#include <fmt/format.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <string>

#include "mlir_plugin/export_graph.hpp"
#include "mlir_plugin/guarded.hpp"
#include "mlir_plugin/one_function.hpp"
#include "mlir_plugin/passes.hpp"
#include "quadrant/io/onnx.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

class ExportPass final : public mlir::PassWrapper<ExportPass, mlir::OperationPass<>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExportPass)

  ExportPass() = default;
  ExportPass(const ExportPass& other) : PassWrapper(other) {}
  ExportPass& operator=(const ExportPass&) = delete;
  ~ExportPass() final = default;

  [[nodiscard]] llvm::StringRef getArgument() const final { return "quadrant-export"; }
  [[nodiscard]] llvm::StringRef getDescription() const final {
    return "Writes a function as an ONNX model; the module stays as it is";
  }

  void runOnOperation() final {
    mlir::Location at = getOperation()->getLoc();
    const auto write = [&]() -> Expected<void> {
      if (!llvm::StringRef(to_).ends_with(".onnx")) {
        return fail(ErrorCode::usage, "quadrant-export{to=FILE.onnx} names the file to write");
      }
      QUADRANT_TRY(const mlir::FunctionOpInterface function,
                   find_one_function(getOperation(), function_.getValue(), getArgument()));
      QUADRANT_TRY(const Graph graph, export_graph(function, at));
      at = function->getLoc();
      QUADRANT_CHECK(write_onnx(graph, to_));
      return {};
    };
    const auto done = guarded(getOperation(), write, [&](const Error& /*error*/) { return at; });
    if (mlir::failed(done)) signalPassFailure();
  }

 private:
  Option<std::string> to_{*this, "to", llvm::cl::desc("the ONNX file to write")};
  Option<std::string> function_{*this, "function", llvm::cl::desc("which; the only one")};
};

}  // namespace

std::unique_ptr<mlir::Pass> make_export_pass() { return std::make_unique<ExportPass>(); }

}  // namespace quadrant::inline v0::mlir_plugin

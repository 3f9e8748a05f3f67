// quadrant-export: a function as an ONNX file, which `quadrant convert` makes others of.
#include <fmt/format.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <string>
#include <vector>

#include "mlir_plugin/export_graph.hpp"
#include "mlir_plugin/guarded.hpp"
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
      QUADRANT_TRY(const mlir::FunctionOpInterface function, find_function());
      QUADRANT_TRY(const Graph graph, export_graph(function, at));
      at = function->getLoc();
      QUADRANT_CHECK(write_onnx(graph, to_));
      return {};
    };
    const auto done = guarded(getOperation(), write, [&](const Error& /*error*/) { return at; });
    if (mlir::failed(done)) signalPassFailure();
  }

 private:
  Expected<mlir::FunctionOpInterface> find_function() {
    if (llvm::isa<mlir::FunctionOpInterface>(getOperation())) {
      return fail(ErrorCode::usage,
                  "quadrant-export writes one file: it runs on the module, and function=NAME says "
                  "which");
    }
    std::vector<mlir::FunctionOpInterface> functions;
    getOperation()->walk([&](mlir::FunctionOpInterface function) {
      const bool is_wanted = function_.empty() || llvm::StringRef(function.getName()) == function_;
      if (!function.isExternal() && is_wanted) functions.push_back(function);
    });
    if (functions.size() == 1) return functions.front();
    return fail(ErrorCode::usage,
                functions.empty()
                    ? fmt::format("there is no function{} with a body",
                                  function_.empty() ? "" : " '" + function_.getValue() + "'")
                    : fmt::format("there are {} functions: function=NAME says which to export",
                                  functions.size()));
  }

  Option<std::string> to_{*this, "to", llvm::cl::desc("the ONNX file to write")};
  Option<std::string> function_{*this, "function", llvm::cl::desc("which; the only one")};
};

}  // namespace

std::unique_ptr<mlir::Pass> make_export_pass() { return std::make_unique<ExportPass>(); }

}  // namespace quadrant::inline v0::mlir_plugin

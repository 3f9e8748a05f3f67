// quadrant-instrument: observers behind the values of a function.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>

#include <string>

#include "mlir_plugin/guarded.hpp"
#include "mlir_plugin/observers.hpp"
#include "mlir_plugin/one_function.hpp"
#include "mlir_plugin/passes.hpp"
#include "mlir_plugin/weights_in_sight.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

class InstrumentPass final : public mlir::PassWrapper<InstrumentPass, mlir::OperationPass<>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InstrumentPass)

  InstrumentPass() = default;
  InstrumentPass(const InstrumentPass& other) : PassWrapper(other) {}
  InstrumentPass& operator=(const InstrumentPass&) = delete;
  ~InstrumentPass() final = default;

  [[nodiscard]] llvm::StringRef getArgument() const final { return "quadrant-instrument"; }
  [[nodiscard]] llvm::StringRef getDescription() const final {
    return "Puts observers into a function: where it runs, they write the statistics of its values";
  }

  void getDependentDialects(mlir::DialectRegistry& registry) const final {
    registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                    mlir::tensor::TensorDialect>();
  }

  void runOnOperation() final {
    mlir::Location at = getOperation()->getLoc();
    const auto done = guarded(
        getOperation(), [&] { return instrument(at); }, [&](const Error& /*error*/) { return at; });
    if (mlir::failed(done)) signalPassFailure();
  }

 private:
  Expected<void> instrument(mlir::Location& at) {
    if (to_.empty()) {
      return fail(ErrorCode::usage,
                  "quadrant-instrument{to=FILE.json} names the file of statistics that the running "
                  "program writes");
    }
    auto module = llvm::dyn_cast<mlir::ModuleOp>(getOperation());
    QUADRANT_TRY(mlir::FunctionOpInterface function,
                 find_one_function(getOperation(), function_.getValue(), getArgument()));
    if (!module) return fail(ErrorCode::usage, "quadrant-instrument runs on a module");
    at = function->getLoc();
    // Values are called as they are when the function is quantized.
    QUADRANT_CHECK(bring_weights_into_sight(module, module->getParentOp(), false, at));
    const std::string name = function.getName().str();
    QUADRANT_TRY(function, find_one_function(module, name, getArgument()));
    at = function->getLoc();
    auto around = function->getParentOfType<mlir::ModuleOp>();
    if (!data_.empty()) QUADRANT_CHECK(add_entry(function, around, entry_, data_));
    return insert_observers(FunctionGraph(function), around, to_);
  }

  Option<std::string> to_{*this, "to", llvm::cl::desc("the file of statistics, of JSON")};
  Option<std::string> function_{*this, "function", llvm::cl::desc("which; the only one")};
  Option<std::string> data_{
      *this, "data", llvm::cl::desc("samples: adds a function that calls it with each of them")};
  Option<std::string> entry_{*this, "entry", llvm::cl::init("main"),
                             llvm::cl::desc("what the function is called that data= adds")};
};

}  // namespace

std::unique_ptr<mlir::Pass> make_instrument_pass() { return std::make_unique<InstrumentPass>(); }

}  // namespace quadrant::inline v0::mlir_plugin

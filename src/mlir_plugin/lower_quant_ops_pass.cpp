// quadrant-lower-quant-ops: no quantized types any more.
#include <fmt/format.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>

#include <string>

#include "mlir_plugin/guarded.hpp"
#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/lower_casts.hpp"
#include "mlir_plugin/passes.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

class LowerQuantOpsPass final : public mlir::PassWrapper<LowerQuantOpsPass, mlir::OperationPass<>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerQuantOpsPass)

  LowerQuantOpsPass() = default;
  LowerQuantOpsPass(const LowerQuantOpsPass& other) : PassWrapper(other) {}
  LowerQuantOpsPass& operator=(const LowerQuantOpsPass&) = delete;
  ~LowerQuantOpsPass() final = default;

  [[nodiscard]] llvm::StringRef getArgument() const final { return "quadrant-lower-quant-ops"; }
  [[nodiscard]] llvm::StringRef getDescription() const final {
    return "Computes quant.dcast and quant.qcast with arith, math and linalg";
  }

  void getDependentDialects(mlir::DialectRegistry& registry) const final {
    registry.insert<QuantDialect, mlir::arith::ArithDialect, mlir::linalg::LinalgDialect,
                    mlir::math::MathDialect, mlir::tensor::TensorDialect>();
  }

  void runOnOperation() final {
    mlir::Location at = getOperation()->getLoc();
    const auto lower = [&]() -> Expected<void> {
      if (ties_ != "half-even" && ties_ != "half-away") {
        return fail(ErrorCode::usage,
                    fmt::format("there is no rounding '{}' of ties: half-even, half-away",
                                ties_.getValue()));
      }
      return lower_casts(getOperation(),
                         ties_ == "half-away" ? TieRule::half_away : TieRule::half_even, at);
    };
    const auto done = guarded(getOperation(), lower, [&](const Error& /*error*/) { return at; });
    if (mlir::failed(done)) signalPassFailure();
  }

 private:
  Option<std::string> ties_{*this, "ties", llvm::cl::init("half-even"),
                            llvm::cl::desc("where the middle of two codes goes: half-even or "
                                           "half-away")};
};

}  // namespace

std::unique_ptr<mlir::Pass> make_lower_quant_ops_pass() {
  return std::make_unique<LowerQuantOpsPass>();
}

}  // namespace quadrant::inline v0::mlir_plugin

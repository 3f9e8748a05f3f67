// quadrant-quantize: the four phases on each function.
#include <fmt/format.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <string>

#include "mlir_plugin/function_graph.hpp"
#include "mlir_plugin/guarded.hpp"
#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/methods.hpp"
#include "mlir_plugin/passes.hpp"
#include "quadrant/engine/explain.hpp"
#include "quadrant/engine/quantize.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

class QuantizePass final : public mlir::PassWrapper<QuantizePass, mlir::OperationPass<>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(QuantizePass)

  QuantizePass() = default;
  QuantizePass(const QuantizePass& other) : PassWrapper(other) {}
  QuantizePass& operator=(const QuantizePass&) = delete;

  [[nodiscard]] llvm::StringRef getArgument() const final { return "quadrant-quantize"; }
  [[nodiscard]] llvm::StringRef getDescription() const final {
    return "Quantizes the weights of each function, in place";
  }

  void getDependentDialects(mlir::DialectRegistry& registry) const final {
    registry.insert<QuantDialect, mlir::arith::ArithDialect, mlir::linalg::LinalgDialect,
                    mlir::tensor::TensorDialect>();
  }

  void runOnOperation() final {
    const auto done = guarded(getOperation(), [&]() -> Expected<void> {
      QUADRANT_TRY(const Registry registry, make_registry());
      std::vector<mlir::FunctionOpInterface> functions;
      getOperation()->walk([&](mlir::FunctionOpInterface function) {
        if (!function.isExternal()) functions.push_back(function);
      });
      for (const mlir::FunctionOpInterface function : functions) {
        QUADRANT_CHECK(quantize_function(function, registry));
      }
      return {};
    });
    if (mlir::failed(done)) signalPassFailure();
  }

 private:
  [[nodiscard]] Expected<Registry> make_registry() const {
    if (scheme_ != "weight-only") {
      return fail(ErrorCode::usage,
                  fmt::format("there is no scheme '{}': weight-only", scheme_.getValue()));
    }
    WeightOnlyOptions options{.bits = bits_};
    if (granularity_ == "tensor") {
      options.granularity = Granularity::Kind::tensor;
    } else if (granularity_ != "channel") {
      return fail(ErrorCode::usage, fmt::format("there is no granularity '{}': channel, tensor",
                                                granularity_.getValue()));
    }
    if (symmetry_ == "asymmetric") {
      options.symmetry = Symmetry::asymmetric;
    } else if (symmetry_ != "symmetric") {
      return fail(ErrorCode::usage, fmt::format("there is no symmetry '{}': symmetric, asymmetric",
                                                symmetry_.getValue()));
    }
    return mlir_weight_only_registry(options);
  }

  Expected<void> quantize_function(mlir::FunctionOpInterface function, const Registry& registry) {
    FunctionGraph graph(function);
    QUADRANT_TRY(const Analysis analysis, quantize(graph, registry));
    (void)analysis;
    return {};
  }

  Option<std::string> scheme_{*this, "scheme", llvm::cl::init("weight-only"),
                              llvm::cl::desc("weight-only")};
  Option<int> bits_{*this, "bits", llvm::cl::init(8), llvm::cl::desc("of the codes: 8 or 4")};
  Option<std::string> granularity_{*this, "granularity", llvm::cl::init("channel"),
                                   llvm::cl::desc("what shares a scale: channel or tensor")};
  Option<std::string> symmetry_{*this, "symmetry", llvm::cl::init("symmetric"),
                                llvm::cl::desc("symmetric, or asymmetric: with zero points")};
};

}  // namespace

std::unique_ptr<mlir::Pass> make_quantize_pass() { return std::make_unique<QuantizePass>(); }

}  // namespace quadrant::inline v0::mlir_plugin

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
#include "mlir_plugin/instrumentation.hpp"
#include "mlir_plugin/methods.hpp"
#include "mlir_plugin/passes.hpp"
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
      std::vector<mlir::FunctionOpInterface> functions;
      getOperation()->walk([&](mlir::FunctionOpInterface function) {
        if (!function.isExternal()) functions.push_back(function);
      });
      for (const mlir::FunctionOpInterface function : functions) {
        QUADRANT_CHECK(quantize_function(function));
      }
      return {};
    });
    if (mlir::failed(done)) signalPassFailure();
  }

 private:
  // Weights alone: the same methods for all functions.
  [[nodiscard]] Expected<WeightOnlyOptions> weight_only_options() const {
    WeightOnlyOptions options{.bits = bits_};
    QUADRANT_TRY(options.granularity, granularity());
    if (symmetry_ == "asymmetric") {
      options.symmetry = Symmetry::asymmetric;
    } else if (symmetry_ != "symmetric") {
      return unknown("symmetry", symmetry_, "symmetric, asymmetric");
    }
    return options;
  }

  [[nodiscard]] Expected<StaticAffineOptions> static_options(StatisticsTable statistics) const {
    StaticAffineOptions options;
    options.statistics = std::make_shared<const StatisticsTable>(std::move(statistics));
    options.weights.bits = bits_;
    QUADRANT_TRY(options.weight_granularity, granularity());
    return options;
  }

  [[nodiscard]] Expected<Granularity::Kind> granularity() const {
    if (granularity_ == "channel") return Granularity::Kind::axis;
    if (granularity_ == "tensor") return Granularity::Kind::tensor;
    return unknown("granularity", granularity_, "channel, tensor");
  }

  [[nodiscard]] Expected<FunctionGraph::Products> products() const {
    if (products_ == "integers") return FunctionGraph::Products::integers;
    if (products_ == "casts") return FunctionGraph::Products::casts;
    return unknown("products", products_, "integers, casts");
  }

  static tl::unexpected<Error> unknown(std::string_view option, std::string_view value,
                                       std::string_view known) {
    return fail(ErrorCode::usage, fmt::format("{}={}: there are {}", option, value, known));
  }

  Expected<void> quantize_function(mlir::FunctionOpInterface function) {
    FunctionGraph graph(function);
    QUADRANT_TRY(const FunctionGraph::Products products, products());
    QUADRANT_TRY(Instrumentation known, read_instrumentation(graph));
    QuantizeOptions run;
    run.couplings = std::move(known.couplings);
    if (scheme_ == "weight-only") {
      QUADRANT_TRY(const WeightOnlyOptions options, weight_only_options());
      QUADRANT_TRY(const Registry registry, mlir_weight_only_registry(options));
      QUADRANT_CHECK(quantize(graph, registry, run));
    } else if (scheme_ == "static") {
      QUADRANT_TRY(StaticAffineOptions options, static_options(std::move(known.statistics)));
      QUADRANT_TRY(const Registry registry, mlir_static_registry(std::move(options)));
      const std::unique_ptr<GainModel> gains = make_gain_model(gains_.getValue());
      if (!gains) return unknown("gains", gains_, "unit, bytes, operations");
      run.gains = gains.get();
      QUADRANT_CHECK(quantize(graph, registry, run));
    } else {
      return unknown("scheme", scheme_, "weight-only, static");
    }
    return graph.finish(products);
  }

  Option<std::string> scheme_{
      *this, "scheme", llvm::cl::init("weight-only"),
      llvm::cl::desc("weight-only, or static: activations, too, by quadrant.stats")};
  Option<int> bits_{*this, "bits", llvm::cl::init(8),
                    llvm::cl::desc("of the codes of weights: 8 or 4")};
  Option<std::string> granularity_{*this, "granularity", llvm::cl::init("channel"),
                                   llvm::cl::desc("what shares a scale: channel or tensor")};
  Option<std::string> symmetry_{
      *this, "symmetry", llvm::cl::init("symmetric"),
      llvm::cl::desc("of weight-only: symmetric, or asymmetric, with zero points")};
  Option<std::string> gains_{
      *this, "gains", llvm::cl::init("operations"),
      llvm::cl::desc("of static, what is worth a conversion: unit, bytes or operations")};
  Option<std::string> products_{
      *this, "products", llvm::cl::init("integers"),
      llvm::cl::desc("of static: sums of integers, or casts around sums of real numbers")};
};

}  // namespace

std::unique_ptr<mlir::Pass> make_quantize_pass() { return std::make_unique<QuantizePass>(); }

}  // namespace quadrant::inline v0::mlir_plugin

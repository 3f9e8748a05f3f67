#include "mlir_plugin/scheme_pass.hpp"

#include <fmt/format.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

#include "mlir_plugin/context_executor.hpp"
#include "mlir_plugin/guarded.hpp"
#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/instrumentation.hpp"
#include "mlir_plugin/methods.hpp"
#include "quadrant/engine/gain.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

tl::unexpected<Error> unknown(std::string_view option, std::string_view value,
                              std::string_view known) {
  return fail(ErrorCode::usage, fmt::format("{}={}: there are {}", option, value, known));
}

}  // namespace

void SchemePass::getDependentDialects(mlir::DialectRegistry& registry) const {
  registry.insert<QuantDialect, mlir::arith::ArithDialect, mlir::linalg::LinalgDialect,
                  mlir::tensor::TensorDialect>();
}

void SchemePass::runOnOperation() {
  const auto done = guarded(getOperation(), [&]() -> Expected<void> {
    std::vector<mlir::FunctionOpInterface> functions;
    getOperation()->walk([&](mlir::FunctionOpInterface function) {
      if (!function.isExternal()) functions.push_back(function);
    });
    for (const mlir::FunctionOpInterface function : functions) QUADRANT_CHECK(run(function));
    return {};
  });
  if (mlir::failed(done)) signalPassFailure();
}

Expected<void> SchemePass::run(mlir::FunctionOpInterface function) {
  FunctionGraph graph(function);
  QUADRANT_TRY(Instrumentation known, read_instrumentation(graph));
  QUADRANT_TRY(const Registry registry, make_registry(std::move(known.statistics)));
  const std::string by_default = scheme_ == "static" ? "operations" : "bytes";
  const std::unique_ptr<GainModel> gains =
      make_gain_model(gains_.empty() ? by_default : gains_.getValue());
  if (!gains) return unknown("gains", gains_, "unit, bytes, operations");
  ContextExecutor executor(function->getContext());
  QuantizeOptions options;
  options.executor = &executor;
  options.gains = gains.get();
  options.couplings = std::move(known.couplings);
  return run(graph, registry, options);
}

Expected<Registry> SchemePass::make_registry(StatisticsTable statistics) const {
  if (scheme_ == "weight-only") {
    QUADRANT_TRY(const WeightOnlyOptions options, weight_only_options());
    return mlir_weight_only_registry(options);
  }
  if (scheme_ == "static") {
    QUADRANT_TRY(StaticAffineOptions options, static_options(std::move(statistics)));
    return mlir_static_registry(std::move(options));
  }
  return unknown("scheme", scheme_, "weight-only, static");
}

Expected<WeightOnlyOptions> SchemePass::weight_only_options() const {
  WeightOnlyOptions options{.bits = bits_};
  QUADRANT_TRY(options.granularity, granularity());
  if (symmetry_ == "asymmetric") {
    options.symmetry = Symmetry::asymmetric;
  } else if (symmetry_ != "symmetric") {
    return unknown("symmetry", symmetry_, "symmetric, asymmetric");
  }
  return options;
}

Expected<StaticAffineOptions> SchemePass::static_options(StatisticsTable statistics) const {
  StaticAffineOptions options;
  options.statistics = std::make_shared<const StatisticsTable>(std::move(statistics));
  options.weights.bits = bits_;
  QUADRANT_TRY(options.weight_granularity, granularity());
  return options;
}

Expected<Granularity::Kind> SchemePass::granularity() const {
  if (granularity_ == "channel") return Granularity::Kind::axis;
  if (granularity_ == "tensor") return Granularity::Kind::tensor;
  return unknown("granularity", granularity_, "channel, tensor");
}

Expected<FunctionGraph::Products> SchemePass::products() const {
  if (products_ == "integers") return FunctionGraph::Products::integers;
  if (products_ == "casts") return FunctionGraph::Products::casts;
  return unknown("products", products_, "integers, casts");
}

}  // namespace quadrant::inline v0::mlir_plugin

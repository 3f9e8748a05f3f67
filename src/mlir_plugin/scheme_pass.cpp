#include "mlir_plugin/scheme_pass.hpp"

#include <fmt/format.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "mlir_plugin/context_executor.hpp"
#include "mlir_plugin/guarded.hpp"
#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/instrumentation.hpp"
#include "mlir_plugin/methods.hpp"
#include "mlir_plugin/weights_in_sight.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/ir/topology.hpp"

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

Expected<void> SchemePass::check_options() const {
  QUADRANT_CHECK(make_registry({}));
  QUADRANT_CHECK(products());
  QUADRANT_CHECK(non_finite());
  QUADRANT_CHECK(gain_model());
  return {};
}

void SchemePass::runOnOperation() {
  mlir::Operation* const root = getOperation();
  mlir::OwningOpRef<mlir::Operation*> copy;
  if (!changes_module()) copy = root->clone();
  if (mlir::failed(guarded(root, [&] { return check_options(); })) ||
      mlir::failed(run(changes_module() ? root : copy.get()))) {
    signalPassFailure();
  }
}

mlir::LogicalResult SchemePass::run(mlir::Operation* root) {
  mlir::Location at = root->getLoc();
  mlir::Operation* const around = getOperation()->getParentOp();
  const auto prepared = guarded(
      root, [&]() -> Expected<void> { return bring_weights_into_sight(root, around, at); },
      [&](const Error& /*error*/) { return at; });
  if (mlir::failed(prepared)) return mlir::failure();
  std::vector<mlir::FunctionOpInterface> functions;
  root->walk([&](mlir::FunctionOpInterface function) {
    if (!function.isExternal()) functions.push_back(function);
  });
  for (const mlir::FunctionOpInterface function : functions) {
    std::optional<FunctionGraph> graph;
    const auto done = guarded(
        function,
        [&]() -> Expected<void> {
          QUADRANT_TRY(const FunctionGraph::Products how, products());
          graph.emplace(function, is_static() ? how : FunctionGraph::Products::casts);
          return run(*graph);
        },
        [&](const Error& error) { return graph->location(error.place); });
    if (mlir::failed(done)) return mlir::failure();
  }
  return mlir::success();
}

Expected<void> SchemePass::run(FunctionGraph& graph) {
  const mlir::FunctionOpInterface function = graph.function();
  if (const auto order = topological_order(graph); !order) {
    mlir::emitWarning(graph.location(order.error().place),
                      "this is computed from its own result: the function is left as it is");
    return {};
  }
  StatisticsTable statistics;
  if (is_static()) {
    QUADRANT_TRY(statistics, read_statistics(graph));
  }
  QUADRANT_TRY(Couplings couplings, read_couplings(graph));
  QUADRANT_TRY(const Registry registry, make_registry(std::move(statistics)));
  QUADRANT_TRY(const std::unique_ptr<GainModel> gains, gain_model());
  ContextExecutor executor(function->getContext());
  QuantizeOptions options;
  options.executor = &executor;
  options.gains = gains.get();
  options.couplings = std::move(couplings);
  QUADRANT_TRY(options.non_finite, non_finite());
  return run(graph, registry, options);
}

Expected<Registry> SchemePass::make_registry(StatisticsTable statistics) const {
  if (scheme_ == "weight-only") {
    QUADRANT_TRY(const WeightOnlyOptions options, weight_only_options());
    return mlir_weight_only_registry(options);
  }
  if (is_static()) {
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
  } else if (!symmetry_.empty() && symmetry_ != "symmetric") {
    return unknown("symmetry", symmetry_, "symmetric, asymmetric");
  }
  return options;
}

Expected<StaticAffineOptions> SchemePass::static_options(StatisticsTable statistics) const {
  if (!symmetry_.empty()) {
    return fail(ErrorCode::usage,
                "symmetry is for scheme=weight-only: static has zero points for activations and "
                "none for weights");
  }
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

Expected<std::unique_ptr<GainModel>> SchemePass::gain_model() const {
  const std::string by_default = is_static() ? "operations" : "bytes";
  auto made = make_gain_model(gains_.empty() ? by_default : gains_.getValue());
  if (!made) return unknown("gains", gains_, "unit, bytes, operations");
  return made;
}

Expected<NonFinitePolicy> SchemePass::non_finite() const {
  if (non_finite_ == "refuse") return NonFinitePolicy::refuse;
  if (non_finite_ == "leave") return NonFinitePolicy::leave_float;
  return unknown("non-finite", non_finite_, "refuse, leave");
}

Expected<FunctionGraph::Products> SchemePass::products() const {
  if (!products_.empty() && !is_static()) {
    return fail(ErrorCode::usage, "products is for scheme=static: weight-only has real products");
  }
  if (products_.empty() || products_ == "integers") return FunctionGraph::Products::integers;
  if (products_ == "casts") return FunctionGraph::Products::casts;
  return unknown("products", products_, "integers, casts");
}

}  // namespace quadrant::inline v0::mlir_plugin

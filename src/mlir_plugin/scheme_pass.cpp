#include "mlir_plugin/scheme_pass.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/BuiltinOps.h>

#include <array>
#include <memory>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include "mlir_plugin/context_executor.hpp"
#include "mlir_plugin/guarded.hpp"
#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/instrumentation.hpp"
#include "mlir_plugin/lost_signs.hpp"
#include "mlir_plugin/methods.hpp"
#include "mlir_plugin/observers.hpp"
#include "mlir_plugin/quantized_parts.hpp"
#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/weights_in_sight.hpp"
#include "numerics/clip_words.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/recipe/documents.hpp"
#include "support/input_file.hpp"

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
  QUADRANT_CHECK(has_real_sums());
  QUADRANT_CHECK(saturation());
  QUADRANT_CHECK(non_finite());
  QUADRANT_CHECK(gain_model());
  return {};
}

void SchemePass::runOnOperation() {
  mlir::Operation* const root = getOperation();
  mlir::OwningOpRef<mlir::Operation*> copy;
  if (!changes_module()) copy = root->clone();
  if (mlir::failed(guarded(root, [&] { return check_options(); })) ||
      mlir::failed(guarded(root, [&] { return read_gathered(); })) ||
      mlir::failed(run(changes_module() ? root : copy.get()))) {
    signalPassFailure();
  }
}

Expected<void> SchemePass::read_gathered() {
  gathered_ = {};
  if (statistics_.empty()) return {};
  if (!is_static()) {
    return fail(ErrorCode::usage, "statistics is for scheme=static: weight-only needs no ranges");
  }
  QUADRANT_TRY(const std::string text, read_text(statistics_));
  QUADRANT_TRY(gathered_, in_file(parse_statistics(text), statistics_));
  return {};
}

mlir::LogicalResult SchemePass::run(mlir::Operation* root) {
  mlir::Location at = root->getLoc();
  mlir::Operation* const around = getOperation()->getParentOp();
  const auto prepared = guarded(
      root,
      [&]() -> Expected<void> { return bring_weights_into_sight(root, around, !is_static(), at); },
      [&](const Error& /*error*/) { return at; });
  if (mlir::failed(prepared)) return mlir::failure();
  arguments_.reset();
  excluded_.clear();
  const auto marked = guarded(root, [&]() -> Expected<void> {
    if (!llvm::isa<mlir::ModuleOp>(root) || is_static()) {
      warn_of_marks(root, is_static() ? "quadrant.weight is for scheme=weight-only"
                                      : "signatures change where the pass runs on the module");
      return {};
    }
    QUADRANT_TRY(const WeightOnlyOptions options, weight_only_options());
    QUADRANT_TRY(WeightOnly scheme, WeightOnly::make(options));
    arguments_.emplace(root, std::move(scheme)).mark_calls();
    return {};
  });
  if (mlir::failed(marked)) return mlir::failure();
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
          auto ran = run(*graph);
          if (!ran && ran.error().remedy == Remedy::leave_non_finite) {
            ran.error().message +=
                fmt::format(": exclude={}, or non-finite=leave", ran.error().place.tensor);
          }
          return ran;
        },
        [&](const Error& error) { return graph->location(error.place); });
    if (mlir::failed(done)) return mlir::failure();
  }
  const auto excluding = guarded(root, [&] { return check_excluded(root); });
  if (mlir::failed(excluding)) return mlir::failure();
  if (!arguments_ || !changes_module()) return mlir::success();
  return guarded(root, [&] { return arguments_->pass_codes(); });
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
    QUADRANT_CHECK(add_gathered(graph, gathered_, statistics));
    has_ranges_ = !statistics.values.empty();
  }
  QUADRANT_TRY(Couplings couplings, read_couplings(graph));
  QUADRANT_TRY(const Registry registry, make_registry(std::move(statistics)));
  QUADRANT_TRY(const std::unique_ptr<GainModel> gains, gain_model());
  ContextExecutor executor(function->getContext());
  QuantizeOptions options;
  options.executor = &executor;
  options.gains = gains.get();
  options.couplings = std::move(couplings);
  options.vetoes = excluded(graph);
  QUADRANT_TRY(options.non_finite, non_finite());
  std::vector<SignedWeight> below_zero;
  if (lacks_negatives(type_)) below_zero = weights_below_zero(graph);
  QUADRANT_TRY(const Analysis analysis, run(graph, registry, options));
  if (analysis.plan.values.empty()) remark_nothing(graph);
  warn_of_clipping(below_zero, analysis.plan, type_);
  return {};
}

Vetoes SchemePass::excluded(const FunctionGraph& graph) {
  const std::set<std::string> names(exclude_.begin(), exclude_.end());
  Vetoes vetoes;
  const auto exclude = [&](NodeId node, const std::string& name) {
    if (!names.contains(name)) return;
    excluded_.insert(name);
    vetoes.emplace(node, "excluded by exclude=" + name);
  };
  for (std::uint32_t index = 0; index < graph.index_bound() && !names.empty(); ++index) {
    const NodeId node{index};
    exclude(node, std::string(graph.name(node)));
    exclude(node,
            fmt::format("{}:{}", std::string_view(graph.function().getName()), graph.name(node)));
    for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
      exclude(node, std::string(graph.value_name({node, i})));
      exclude(node, observed_name(graph, {node, i}));
    }
  }
  return vetoes;
}

// A pass on one function does not know whether others have the name.
Expected<void> SchemePass::check_excluded(mlir::Operation* root) const {
  if (!llvm::isa<mlir::ModuleOp>(root)) return {};
  for (const std::string& name : exclude_) {
    if (excluded_.contains(name)) continue;
    return fail(
        ErrorCode::usage,
        fmt::format("exclude={}: no function has it; quadrant-report says the names", name));
  }
  return {};
}

std::string SchemePass::codes() const {
  return type_.empty() ? "codes" : fmt::format("codes of {}", type_.getValue());
}

std::string SchemePass::fate_of(mlir::Value value) const {
  const auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  return arguments_ && argument ? arguments_->fate_of(argument) : std::string();
}

void SchemePass::remark_nothing(FunctionGraph& graph) const {
  if (llvm::any_of(graph.function().getArguments(),
                   [&](mlir::Value argument) { return !fate_of(argument).empty(); })) {
    return;  // they may, or that they do not is said
  }
  bool has_parts = false;
  const auto could_become_codes = [&](NodeId node) {
    const std::string_view kind = graph.kind(node);
    if (is_static()) return kind == MlirProduct::kind || kind == MlirRealProduct::kind;
    mlir::Operation* const op = graph.operation(node);
    if (op != nullptr && (is_part(*op) || kind == ops::Dequantize::kind)) {
      has_parts = true;
      return false;
    }
    const bool is_constant =
        graph.constant(node) != nullptr || (op != nullptr && contents_of(*op));  // or not read
    return is_constant && is_float(graph.type({node}).element) &&
           graph.type({node}).shape.rank() > 1;
  };
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    if (!could_become_codes({index})) continue;
    std::string why = "quadrant-report says why";
    if (is_static() && has_ranges_) {
      why += "; where conversions cost more than they gain, gains=unit does not count them";
    } else if (is_static()) {
      why =
          "no range of any is known; quadrant.stats says one, and statistics=FILE those that an "
          "instrumented run of the module wrote (quadrant-instrument)";
    }
    mlir::emitRemark(graph.function().getLoc(), "no value becomes codes: " + why);
    return;
  }
  if (!has_parts) return;
  mlir::emitRemark(graph.function().getLoc(),
                   "no value becomes codes: what could is quantized already");
}

Expected<Registry> SchemePass::make_registry(StatisticsTable statistics) const {
  if (scheme_ == "weight-only") {
    QUADRANT_TRY(const WeightOnlyOptions options, weight_only_options());
    return mlir_weight_only_registry(options);
  }
  if (is_static()) {
    QUADRANT_TRY(StaticAffineOptions options, static_options(std::move(statistics)));
    QUADRANT_TRY(const bool has_sums, has_real_sums());
    return mlir_static_registry(std::move(options), has_sums);
  }
  return unknown("scheme", scheme_, "weight-only, static");
}

// The type says what some others would.
Expected<WeightOnlyOptions> SchemePass::options_of_type() const {
  const std::array<std::pair<std::string_view, bool>, 4> others{
      {{"bits", bits_.hasValue()},
       {"symmetry", symmetry_.hasValue()},
       {"granularity", granularity_.hasValue()},
       {"clip", clip_.hasValue()}}};
  for (const auto& [name, is_given] : others) {
    if (!is_given) continue;
    return fail(ErrorCode::usage,
                fmt::format("a type says what {} would: leave one of them out", name));
  }
  WeightOnlyOptions options{.type = type_.getValue()};
  QUADRANT_TRY(options.block_size, block_size());
  if (block_size_.hasValue()) options.granularity = Granularity::Kind::block;
  QUADRANT_TRY(options.scale_type, scale_type());
  return options;
}

Expected<WeightOnlyOptions> SchemePass::weight_only_options() const {
  if (!type_.empty()) return options_of_type();
  WeightOnlyOptions options{.bits = bits_};
  QUADRANT_TRY(options.granularity, granularity());
  QUADRANT_TRY(options.block_size, block_size());
  QUADRANT_TRY(options.scale_type, scale_type());
  if (symmetry_ == "asymmetric") {
    options.symmetry = Symmetry::asymmetric;
  } else if (!symmetry_.empty() && symmetry_ != "symmetric") {
    return unknown("symmetry", symmetry_, "symmetric, asymmetric");
  }
  if (clip_.empty()) return options;
  options.clip = parse_clip(clip_);
  if (!options.clip) {
    return unknown("clip", clip_, fmt::format("{}", fmt::join(std::views::keys(clip_words), ", ")));
  }
  return options;
}

Expected<StaticAffineOptions> SchemePass::static_options(StatisticsTable statistics) const {
  if (!symmetry_.empty()) {
    return fail(ErrorCode::usage,
                "symmetry is for scheme=weight-only: static has zero points for activations and "
                "none for weights");
  }
  if (!type_.empty()) {
    return fail(ErrorCode::usage, "type is for scheme=weight-only: static has integers");
  }
  if (!clip_.empty()) {
    return fail(ErrorCode::usage,
                "clip is for scheme=weight-only: static scales weights by their largest magnitude");
  }
  if (!scales_.empty()) {
    return fail(ErrorCode::usage, "scales is for scheme=weight-only: those of static are float32");
  }
  StaticAffineOptions options;
  options.statistics = std::make_shared<const StatisticsTable>(std::move(statistics));
  options.weights.bits = bits_;
  QUADRANT_CHECK(block_size());
  QUADRANT_TRY(options.weight_granularity, granularity());
  QUADRANT_TRY(options.saturation, saturation());
  return options;
}

Expected<std::optional<ElementType>> SchemePass::scale_type() const {
  if (scales_.empty()) return std::optional<ElementType>();
  if (scales_ == "float32") return std::optional(ElementType::float32);
  if (scales_ == "float16") return std::optional(ElementType::float16);
  return unknown("scales", scales_, "float32, float16");
}

Expected<Granularity::Kind> SchemePass::granularity() const {
  if (granularity_ == "channel") return Granularity::Kind::axis;
  if (granularity_ == "tensor") return Granularity::Kind::tensor;
  if (granularity_ == "block" && has_blocks && !is_static()) return Granularity::Kind::block;
  if (granularity_ == "block") {
    return fail(ErrorCode::usage,
                is_static() ? "granularity=block is for scheme=weight-only: sums of integers have "
                              "one scale for each channel"
                            : "granularity=block: versions of MLIR before 20 have no types with a "
                              "scale for each block: granularity=channel");
  }
  return unknown("granularity", granularity_, "channel, tensor, block");
}

Expected<Saturation> SchemePass::saturation() const {
  if (!saturation_.empty()) {
    if (!is_static()) {
      return fail(ErrorCode::usage, "saturation is for scheme=static: weight-only sums floats");
    }
    const std::optional<Saturation> asked = parse_saturation(saturation_);
    if (!asked) return unknown("saturation", saturation_, "avoid, allow, 7bit");
    return *asked;
  }
  QUADRANT_TRY(const FunctionGraph::Products how, products());
  // Our own sums have 32 bits; of those that another compiler makes nobody knows.
  return how == FunctionGraph::Products::integers ? Saturation::allow : Saturation::avoid;
}

Expected<std::int64_t> SchemePass::block_size() const {
  if (!block_size_.hasValue()) return WeightOnlyOptions().block_size;
  if (granularity_ != "block" && type_.empty()) {
    return fail(ErrorCode::usage, fmt::format("block-size is for granularity=block, and this is {}",
                                              granularity_.getValue()));
  }
  if (block_size_ < 1) {
    return fail(ErrorCode::usage, fmt::format("block-size is a number of values, from 1 on, not {}",
                                              block_size_.getValue()));
  }
  return block_size_;
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

Expected<bool> SchemePass::has_real_sums() const {
  if (!sums_.empty() && !is_static()) {
    return fail(ErrorCode::usage, "sums is for scheme=static: weight-only has float sums");
  }
  if (sums_.empty()) {
    QUADRANT_TRY(const FunctionGraph::Products how, products());
    return how == FunctionGraph::Products::integers;
  }
  if (sums_ == "real") return true;
  if (sums_ == "codes") return false;
  return unknown("sums", sums_, "real, codes");
}

Expected<FunctionGraph::Products> SchemePass::products() const {
  if (!products_.empty() && !is_static()) {
    return fail(ErrorCode::usage, "products is for scheme=static: weight-only has float products");
  }
  if (products_.empty() || products_ == "integers") return FunctionGraph::Products::integers;
  if (products_ == "casts") return FunctionGraph::Products::casts;
  return unknown("products", products_, "integers, casts");
}

}  // namespace quadrant::inline v0::mlir_plugin

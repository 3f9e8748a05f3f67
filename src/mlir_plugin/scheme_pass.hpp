// What passes that decide with a scheme share: its options.
#pragma once

#include <mlir/Pass/Pass.h>

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "mlir_plugin/function_graph.hpp"
#include "mlir_plugin/weight_arguments.hpp"
#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Calls `run` for each function with a body below the operation that it is run on.
class SchemePass : public mlir::OperationPass<> {
 public:
  SchemePass& operator=(const SchemePass&) = delete;
  ~SchemePass() override = default;

  void getDependentDialects(mlir::DialectRegistry& registry) const override;
  void runOnOperation() final;

 protected:
  explicit SchemePass(mlir::TypeID id) : OperationPass(id) {}
  SchemePass(const SchemePass& other) : OperationPass(other) {}
  /// What was decided for the function.
  [[nodiscard]] virtual Expected<Analysis> run(FunctionGraph& graph, const Registry& registry,
                                               const QuantizeOptions& options) = 0;
  /// Otherwise all of it is done with a copy.
  [[nodiscard]] virtual bool changes_module() const = 0;
  [[nodiscard]] Expected<FunctionGraph::Products> products() const;
  [[nodiscard]] bool is_static() const { return scheme_ == "static"; }
  /// What weights become: `codes`, of a type that has been asked for.
  [[nodiscard]] std::string codes() const;
  /// What becomes of it, if it is an argument that is a weight; empty: it is none.
  [[nodiscard]] std::string fate_of(mlir::Value value) const;

 private:
  [[nodiscard]] mlir::LogicalResult run(mlir::Operation* root);
  [[nodiscard]] Expected<void> run(FunctionGraph& graph);
  /// Why no value of the function becomes codes, as a remark, where there is something that could.
  void remark_nothing(FunctionGraph& graph) const;
  [[nodiscard]] Vetoes excluded(const FunctionGraph& graph);
  [[nodiscard]] Expected<void> check_excluded(mlir::Operation* root) const;
  [[nodiscard]] Expected<Registry> make_registry(StatisticsTable statistics) const;
  [[nodiscard]] Expected<WeightOnlyOptions> weight_only_options() const;
  [[nodiscard]] Expected<WeightOnlyOptions> options_of_type() const;
  [[nodiscard]] Expected<StaticAffineOptions> static_options(StatisticsTable statistics) const;
  [[nodiscard]] Expected<std::optional<ElementType>> scale_type() const;
  [[nodiscard]] Expected<Granularity::Kind> granularity() const;
  [[nodiscard]] Expected<std::int64_t> block_size() const;
  [[nodiscard]] Expected<Saturation> saturation() const;
  [[nodiscard]] Expected<NonFinitePolicy> non_finite() const;
  [[nodiscard]] Expected<bool> has_real_sums() const;
  [[nodiscard]] Expected<std::unique_ptr<GainModel>> gain_model() const;
  /// All that do not depend on a function.
  [[nodiscard]] Expected<void> check_options() const;
  [[nodiscard]] Expected<void> read_gathered();

  std::optional<WeightArguments> arguments_;  // of the module that is looked at
  StatisticsTable gathered_;                  // of all functions
  bool has_ranges_ = false;                   // of the function that is looked at
  std::set<std::string> excluded_;            // names that some function has

  Option<std::string> scheme_{
      *this, "scheme", llvm::cl::init("weight-only"),
      llvm::cl::desc("weight-only, or static: activations, too, by quadrant.stats")};
  Option<std::string> type_{
      *this, "type", llvm::cl::init(""),
      llvm::cl::desc("of weight-only: a number format by name or text (nf4, fp8-e4m3, q4_k, "
                     "codebook:16), instead of bits, granularity, symmetry and clip")};
  Option<int> bits_{*this, "bits", llvm::cl::init(8),
                    llvm::cl::desc("of the codes of weights: 8 or 4")};
  Option<std::string> granularity_{*this, "granularity", llvm::cl::init("channel"),
                                   llvm::cl::desc("what shares a scale: channel, tensor, or, of "
                                                  "weight-only from version 20 on, block")};
  Option<int> block_size_{*this, "block-size", llvm::cl::init(32),
                          llvm::cl::desc("of granularity=block, or of a type: along the axis that "
                                         "is summed")};
  Option<std::string> symmetry_{
      *this, "symmetry", llvm::cl::init(""),
      llvm::cl::desc("of weight-only: symmetric (default), or asymmetric, with zero points")};
  Option<std::string> clip_{
      *this, "clip", llvm::cl::init(""),
      llvm::cl::desc("of weight-only: how scales are chosen: absmax, minmax, mse (default: of the "
                     "least squared error for symmetric codes of 4 bits)")};
  Option<std::string> scales_{
      *this, "scales", llvm::cl::init(""),
      llvm::cl::desc(
          "of weight-only: how scales are stored: float32 (default, or as a type has it), "
          "float16")};
  ListOption<std::string> exclude_{
      *this, "exclude",
      llvm::cl::desc("what stays float: names of operations and values, as quadrant-report gives "
                     "them, or with a function in front (f:linalg.matmul#0)")};
  Option<std::string> non_finite_{
      *this, "non-finite", llvm::cl::init("refuse"),
      llvm::cl::desc("weights with NaN or infinity: refuse, or leave them float")};
  Option<std::string> gains_{
      *this, "gains", llvm::cl::init(""),
      llvm::cl::desc("gain model: unit, bytes (weight-only), operations (static)")};
  Option<std::string> products_{
      *this, "products", llvm::cl::init(""),
      llvm::cl::desc("of static: integers (default): sums of them, or casts around float "
                     "sums")};
  Option<std::string> statistics_{
      *this, "statistics", llvm::cl::init(""),
      llvm::cl::desc("of static: a file that an instrumented module wrote; values with "
                     "quadrant.stats have those")};
  Option<std::string> saturation_{
      *this, "saturation", llvm::cl::init(""),
      llvm::cl::desc("of static: whether weights keep sums of two products within 16 bits: avoid "
                     "(default of casts), allow (of integers), 7bit")};
  Option<std::string> sums_{
      *this, "sums", llvm::cl::init(""),
      llvm::cl::desc("of static, where a product's readers want float: real (default with "
                     "products=integers), or codes: rounded by the product's own range")};
};

}  // namespace quadrant::inline v0::mlir_plugin

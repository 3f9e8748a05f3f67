// quadrant-quantize: the four phases on each function.
#include "mlir_plugin/passes.hpp"
#include "mlir_plugin/scheme_pass.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

class QuantizePass final : public mlir::PassWrapper<QuantizePass, SchemePass> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(QuantizePass)

  [[nodiscard]] llvm::StringRef getArgument() const final { return "quadrant-quantize"; }
  [[nodiscard]] llvm::StringRef getDescription() const final {
    return "Quantizes the weights of each function, and activations, in place";
  }

 private:
  [[nodiscard]] bool changes_module() const final { return true; }
  [[nodiscard]] Expected<Analysis> run(FunctionGraph& graph, const Registry& registry,
                                       const QuantizeOptions& options) final {
    QUADRANT_TRY(Analysis analysis, quantize(graph, registry, options));
    QUADRANT_CHECK(graph.finish());
    return analysis;
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> make_quantize_pass() { return std::make_unique<QuantizePass>(); }

}  // namespace quadrant::inline v0::mlir_plugin

// A scheme of one's own: one scale for a whole weight, for matrix products, seen through
// transposes. What a scheme needs: a constraint, a method for each operation, and a dequantizer.
//
//   build/release/bin/example_custom_scheme examples/models/tiny_transformer.onnx /tmp/out.onnx
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "quadrant/engine/macros.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/convert.hpp"
#include "quadrant/numerics/scales.hpp"

namespace {

using namespace quadrant;

// There is one thing to ask for, so all constraints are equal.
struct OneScale {
  [[nodiscard]] static std::size_t hash() { return 0; }
  [[nodiscard]] static std::string print() { return "one scale"; }
  [[nodiscard]] static std::optional<OneScale> parse(std::string_view text) {
    return text == print() ? std::optional(OneScale{}) : std::nullopt;
  }
  friend auto operator<=>(const OneScale&, const OneScale&) = default;
};

struct PerTensor final : Scheme {
  QUADRANT_SCHEME(PerTensor, OneScale, "per_tensor")
  [[nodiscard]] std::string describe() const override { return "bits=8"; }
};

// Roots: float constants can be quantized, whoever asks.
QUADRANT_QUANTIZER(WeightMethod, PerTensor, ops::Constant) {
  [[nodiscard]] Verdict check_eligibility(NodeRef node, const EligibilityContext&) const override {
    const bool is_matrix = is_float(node.type().element) && node.type().shape.rank() >= 2;
    return is_matrix ? Verdict{State::Quantizable} : Verdict{State::Unquantized, "no matrix"};
  }
  void callback(const OneScale&, NodeRef, Asks& asks) const override { asks.accept(); }

  [[nodiscard]] Expected<void> examine(const OneScale&, NodeRef node,
                                       DataContext& context) const override {
    QUADRANT_TRY(ScaleScan scan, scan_symmetric_scales(*node.graph->constant(node.id),
                                                       Granularity::per_tensor(), 127));
    if (scan.non_finite) {
      context.refuse(node.id, "it is not finite");
    } else {
      context.keep(node.id, scan.scales);
    }
    return {};
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    auto type = std::make_shared<UniformType>();
    type->expressed = node.type().element;
    type->storage_min = -127;
    type->scales = context.prepared(node.id);
    QUADRANT_TRY(Constant codes, quantized(*node.graph->constant(node.id), type));
    return context.graph().set_constant(node.id, codes, type);
  }
};

// Passes on what is asked of it: a transpose does not touch a scale that all elements share.
QUADRANT_QUANTIZER(MoveMethod, PerTensor, ops::Transpose, requires_parents(AnyQuantizable)) {
  void callback(const OneScale& wanted, NodeRef, Asks& asks) const override {
    asks.alternative({{0, wanted}});
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return context.set_quantized(node.result(), context.quantization(node.operand(0)));
  }
};

// Gains from a quantized right operand; its own result is float.
QUADRANT_CONSUMER(ProductMethod, PerTensor, ops::MatMul,
                  requires_parents(AnyState, AnyQuantizable)) {
  void request(NodeRef, Asks& asks) const override { asks.benefit(1, {}); }
};

QUADRANT_DEQUANTIZER(PerTensor)(Value quantized, RewriteContext& context) const {
  return context.emit(ops::Dequantize::kind, {quantized}, "float",
                      context.view().type(quantized).expressed());
}

QUADRANT_METHODS(PerTensor) {
  add<WeightMethod>();
  add<MoveMethod>();
  add<ProductMethod>();
}

Expected<void> run(const std::string& in, const std::string& out) {
  QUADRANT_TRY(const Registry registry, RegistryBuilder::of(PerTensor()).freeze());
  QUADRANT_TRY(const Graph graph, read_onnx(in));
  const UnitGain gains;
  QUADRANT_TRY(const QuantizeResult result, quantize(graph, registry, {.gains = &gains}));
  std::cout << result.analysis.plan.values.size() << " values quantized\n";
  QUADRANT_TRY(const OnnxWriteReport report, write_onnx(result.graph, out));
  std::cout << out << ": " << report.model_bytes << " bytes\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " MODEL OUT\n";
    return 2;
  }
  const auto done = run(argv[1], argv[2]);
  if (!done) std::cerr << to_string(done.error()) << '\n';
  return done ? 0 : 1;
}

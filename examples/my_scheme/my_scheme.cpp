#include "my_scheme.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"

namespace my {

using namespace quadrant;

std::optional<TensorWise> TensorWise::parse(std::string_view text) {
  constexpr std::string_view prefix = "bits=";
  if (!text.starts_with(prefix)) return std::nullopt;
  TensorWise parsed;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + prefix.size(), end, parsed.bits);
  const bool is_understood = error == std::errc{} && stop == end;
  if (!is_understood || parsed.bits < 2 || parsed.bits > 16) return std::nullopt;
  return parsed;
}

namespace {

// The smallest power of two that is not below `scale`.
float round_up_to_power_of_two(float scale) {
  int exponent = 0;
  const float fraction = std::frexp(scale, &exponent);  // scale = fraction * 2^exponent
  return std::ldexp(1.0F, fraction == 0.5F ? exponent - 1 : exponent);
}

ElementType storage_type(TensorWise form) {
  return form.bits <= 8 ? ElementType::int8 : ElementType::int16;
}

// A root: a constant does not depend on anybody, so it accepts what is asked of it.
QUADRANT_QUANTIZER(WeightMethod, PowerOfTwo, ops::Constant) {
  // Phase 1, instead of patterns: which constants.
  [[nodiscard]] Verdict check_eligibility(NodeRef node, const EligibilityContext&) const override {
    if (!is_float(node.type().element)) return {State::Unquantized, "it is not float"};
    if (node.type().shape.rank() < 2) return {State::Unquantized, "it is no matrix"};
    return {State::Quantizable};
  }
  // Phase 2.
  void callback(const TensorWise&, NodeRef, Asks& asks) const override { asks.accept(); }
  // Bytes before and after, of which the gain model `bytes` makes a gain: codes and a scale.
  [[nodiscard]] std::optional<StorageChange> storage(const TensorWise& form,
                                                     NodeRef node) const override {
    const Constant& floats = *node.graph->constant(node.id);
    const auto codes =
        static_cast<std::uint64_t>(floats.element_count() * byte_width(storage_type(form)));
    return StorageChange{floats.byte_size(), codes + sizeof(float)};
  }
  // Between phases 3 and 4: the one look at the contents of a constant that was selected.
  [[nodiscard]] Expected<void> examine(const TensorWise& form, NodeRef node,
                                       DataContext& context) const override {
    QUADRANT_TRY(const ParameterScan scan,
                 scan_parameters(*node.graph->constant(node.id), Granularity::per_tensor(),
                                 {.storage = storage_type(form),
                                  .storage_min = -form.largest_code(),
                                  .storage_max = form.largest_code()}));
    if (scan.non_finite) {
      context.refuse("it is not finite");
      return {};
    }
    QUADRANT_TRY(const ConstantBytes exact, scan.scales.read());
    const float scale = round_up_to_power_of_two(exact.as<float>()[0]);
    const float most =
        node.type().element == ElementType::float16 ? 65504.0F : std::numeric_limits<float>::max();
    if (scale > most / static_cast<float>(form.largest_code())) {
      context.refuse("its codes would stand for numbers that its type does not hold");
      return {};
    }
    context.keep(Constant::from_values(ElementType::float32, scan.scales.shape(),
                                       std::span<const float>(&scale, 1)));
    return {};
  }
  // Phase 4: the constant becomes its codes, which are computed when they are read.
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const auto& form = context.selected<TensorWise>(node.result());
    auto type = std::make_shared<UniformType>();
    type->storage = storage_type(form);
    type->expressed = node.type().element;
    type->storage_min = -form.largest_code();
    type->storage_max = form.largest_code();
    type->scales = context.prepared(node.id);
    QUADRANT_TRY(Constant codes, quantized(*node.graph->constant(node.id), type));
    return context.graph().set_constant(node.id, std::move(codes), std::move(type));
  }
};

// A transparent operation: it moves elements, and all of them share the scale, so its result holds
// what its operand holds.
QUADRANT_QUANTIZER(TransposeMethod, PowerOfTwo, ops::Transpose, requires_parents(AnyQuantizable)) {
  void callback(const TensorWise& wanted, NodeRef, Asks& asks) const override {
    asks.alternative({{0, wanted}});
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return context.set_quantized(node.result(), context.quantization(node.operand(0)));
  }
};

// A consumer: it gains when its right operand is quantized; its own result is float.
QUADRANT_CONSUMER(MatMulMethod, PowerOfTwo, ops::MatMul,
                  requires_parents(AnyState, AnyQuantizable)) {
  void request(NodeRef, Asks& asks) const override { asks.benefit(1, scheme().form()); }
};

}  // namespace

// Codes to floats: once for each value, shared by all who read floats.
QUADRANT_DEQUANTIZER(PowerOfTwo)(Value quantized, RewriteContext& context) const {
  return context.dequantize(quantized);
}

// An ordinary function that the engine calls: linkers cannot drop what is listed here.
QUADRANT_METHODS(PowerOfTwo) {
  add<WeightMethod>();
  add<TransposeMethod>();
  add<MatMulMethod>();
}

Expected<QuantizeResult> quantize_power_of_two(const Graph& graph, int bits,
                                               const QuantizeOptions& run) {
  if (bits < 2 || bits > 16) return fail(ErrorCode::usage, "power_of_two has 2 to 16 bits");
  QUADRANT_TRY(const Registry registry, RegistryBuilder::of(PowerOfTwo(TensorWise{bits})).freeze());
  return quantize(graph, registry, run);
}

}  // namespace my

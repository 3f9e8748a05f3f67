// A scheme for the engine's tests whose products compute on codes: the scale, one for each weight,
// is multiplied behind the product, and an addition behind that is rewritten to carry it further:
//
//   (x * codes) * s + b   becomes   (x * codes + b / s) * s
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/engine/macros.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"

namespace scale_behind {

using namespace quadrant;

/// One scale for the whole tensor: there is nothing to choose.
struct OneScale {
  [[nodiscard]] static std::size_t hash() { return 0; }
  [[nodiscard]] static std::string print() { return "one scale"; }
  [[nodiscard]] static std::optional<OneScale> parse(std::string_view text) {
    return text == print() ? std::optional(OneScale{}) : std::nullopt;
  }
  friend auto operator<=>(const OneScale&, const OneScale&) = default;
};

struct Scheme final : quadrant::Scheme {
  QUADRANT_SCHEME(Scheme, OneScale, "scale_behind")
  [[nodiscard]] std::string describe() const override { return "int8"; }
};

struct Multiply {
  static constexpr std::string_view kind = "multiply";
};
struct Divide {
  static constexpr std::string_view kind = "divide";
};
struct Add {  // operands: the sum so far, a bias
  static constexpr std::string_view kind = "add";
};

inline Constant scalar(float value) {
  return Constant::from_values(ElementType::float32, Shape(std::vector<std::int64_t>{}),
                               std::span<const float>(&value, 1));
}

inline std::shared_ptr<const UniformType> codes_of_scale(float scale) {
  auto type = std::make_shared<UniformType>();
  type->storage_min = -127;
  type->scales = scalar(scale);
  return type;
}

inline std::vector<float> read_floats(const Constant& constant) {
  const auto contents = constant.read();
  const auto values = contents->as<float>();
  return {values.begin(), values.end()};
}

inline Expected<Value> emit_scalar(float value, RewriteContext& context) {
  NodeSpec spec;
  spec.kind = ops::Constant::kind;
  spec.name = "scale";
  spec.results.push_back(
      {"scale", {ElementType::float32, Shape(std::vector<std::int64_t>{}), nullptr}});
  spec.constant = scalar(value);
  QUADRANT_TRY(const NodeId node, context.graph().emit(std::move(spec)));
  return Value{node};
}

/// The codes as floats, unscaled.
inline Expected<Value> emit_unscaled(Value codes, RewriteContext& context) {
  const TensorType type = context.view().type(codes);
  const auto emit = [&](std::string_view kind, Value from, ElementType element,
                        Quantization quantization) {
    return context.emit(kind, {from}, "unscaled",
                        TensorType{element, type.shape, std::move(quantization)});
  };
  QUADRANT_TRY(const Value plain, emit(ops::StorageCast::kind, codes, type.element, nullptr));
  QUADRANT_TRY(const Value unit,
               emit(ops::StorageCast::kind, plain, type.element, codes_of_scale(1)));
  return emit(ops::Dequantize::kind, unit, type.uniform()->expressed, nullptr);
}

/// Whoever reads the node's result reads it multiplied by `scale` instead.
inline Expected<void> put_behind(NodeRef node, Value scale, RewriteContext& context) {
  const Value result = node.result();
  QUADRANT_TRY(const Value scaled, context.emit(Multiply::kind, {result, scale},
                                                std::string(context.view().value_name(result)),
                                                context.view().type(result)));
  return context.replace(result, scaled);
}

// Biases have one axis and stay float.
QUADRANT_QUANTIZER(WeightMethod, Scheme, ops::Constant) {
  [[nodiscard]] Verdict check_eligibility(NodeRef node, const EligibilityContext&) const override {
    if (node.type().shape.rank() != 2) return {State::Unquantized, "it is no matrix"};
    return {State::Quantizable};
  }
  void callback(const OneScale&, NodeRef, Asks& asks) const override { asks.accept(); }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const std::vector<float> values = read_floats(*node.graph->constant(node.id));
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::fabs(value));
    const float scale = largest / 127;
    std::vector<std::int8_t> codes;
    for (const float value : values) {
      codes.push_back(static_cast<std::int8_t>(std::lround(value / scale)));
    }
    return context.graph().set_constant(node.id,
                                        Constant::from_values(ElementType::int8, node.type().shape,
                                                              std::span<const std::int8_t>(codes)),
                                        codes_of_scale(scale));
  }
};

QUADRANT_CONSUMER(MatMulMethod, Scheme, ops::MatMul,
                  requires_parents(AnyUnquantized, AnyQuantizable)) {
  void request(NodeRef, Asks& asks) const override { asks.take(1, {}); }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    if (context.read<OneScale>(node, 1) == nullptr) return {};
    const Value codes = node.operand(1);
    const float scale = read_floats(context.quantization(codes)->scales).front();
    QUADRANT_TRY(const Value unscaled, emit_unscaled(codes, context));
    QUADRANT_CHECK(context.graph().set_operand(node.id, 1, unscaled));
    QUADRANT_TRY(const Value factor, emit_scalar(scale, context));
    return put_behind(node, factor, context);
  }
};

// It asks for nothing: it only has the scale, if one was put in front of it, go on behind it.
QUADRANT_CONSUMER(AddMethod, Scheme, Add, requires_parents(AnyConsumer, AnyUnquantized)) {
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const NodeRef scaled{node.graph, node.operand(0).node};
    if (scaled.kind() != Multiply::kind) return {};
    const Value unscaled = scaled.operand(0);
    const Value scale = scaled.operand(1);
    const Value bias = node.operand(1);
    QUADRANT_TRY(const Value divided,
                 context.emit(Divide::kind, {bias, scale},
                              std::string(context.view().value_name(bias)) + "_unscaled",
                              context.view().type(bias)));
    QUADRANT_CHECK(context.graph().set_operand(node.id, 0, unscaled));
    QUADRANT_CHECK(context.graph().set_operand(node.id, 1, divided));
    return put_behind(node, scale, context);
  }
};

inline QUADRANT_DEQUANTIZER(Scheme)(Value quantized, RewriteContext& context) const {
  return context.emit(ops::Dequantize::kind, {quantized},
                      std::string(context.view().value_name(quantized)),
                      context.view().type(quantized).expressed());
}

inline QUADRANT_METHODS(Scheme) {
  add<WeightMethod>();
  add<MatMulMethod>();
  add<AddMethod>();
}

}  // namespace scale_behind

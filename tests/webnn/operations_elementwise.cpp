// Functions of elements: unary, binary, logical, activations, casts.
#include <fmt/format.h>

#include <array>

#include "case_file.hpp"
#include "operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::webnn {
namespace {

/// One node, of the same operands.
Result plain(Operation& operation, std::string_view kind) {
  return only(operation.graph.add(kind, operation.inputs));
}

/// An option that becomes an attribute.
struct RealOption {
  const char* webnn;
  const char* onnx;
  double fallback;
};

template <RealOption const&... options>
Result with_reals(Operation& operation, std::string_view kind) {
  Attributes attributes;
  (attributes.set(options.onnx, operation.options.real(options.webnn, options.fallback)), ...);
  return only(operation.graph.add(kind, operation.inputs, std::move(attributes)));
}

constexpr RealOption elu_alpha{"alpha", "alpha", 1};
constexpr RealOption leaky_alpha{"alpha", "alpha", 0.01};
constexpr RealOption sigmoid_alpha{"alpha", "alpha", 0.2};
constexpr RealOption sigmoid_beta{"beta", "beta", 0.5};

Result linear(Operation& operation, std::string_view /*kind*/) {
  GraphBuilder& graph = operation.graph;
  const ElementType element = graph.element(operation.input(0));
  QUADRANT_TRY(const Value alpha, graph.number(element, operation.options.real("alpha", 1)));
  QUADRANT_TRY(const Value beta, graph.number(element, operation.options.real("beta", 0)));
  QUADRANT_TRY(const Value product, graph.add(ops::Multiply::kind, {operation.input(0), alpha}));
  return only(graph.add(ops::Add::kind, {product, beta}));
}

Result clamp(Operation& operation, std::string_view kind) {
  GraphBuilder& graph = operation.graph;
  std::vector<Value> operands{operation.input(0)};
  for (const char* key : {"minValue", "maxValue"}) {
    operands.emplace_back();
    if (!operation.options.has(key)) continue;
    QUADRANT_TRY(operands.back(),
                 graph.number(graph.element(operands[0]), operation.options.real(key, 0)));
  }
  return only(graph.add(kind, operands));
}

// --- truth values, which WebNN has no type for: they are uint8 ---

Result as_bytes(Operation& operation, Expected<Value> truth) {
  QUADRANT_TRY(const Value value, std::move(truth));
  return only(operation.graph.cast(value, ElementType::uint8));
}

Expected<Value> as_boolean(GraphBuilder& graph, Value value) {
  if (graph.element(value) == ElementType::boolean) return value;
  return graph.cast(value, ElementType::boolean);
}

/// Of numbers.
Result test(Operation& operation, std::string_view kind) {
  return as_bytes(operation, operation.graph.add(kind, operation.inputs));
}

Result not_equal(Operation& operation, std::string_view kind) {
  QUADRANT_TRY(const Value equal, operation.graph.add(kind, operation.inputs));
  return as_bytes(operation, operation.graph.add("onnx.Not", {equal}));
}

/// Of truth values.
Result logical(Operation& operation, std::string_view kind) {
  std::vector<Value> operands;
  for (const Value input : operation.inputs) {
    QUADRANT_TRY(operands.emplace_back(), as_boolean(operation.graph, input));
  }
  return as_bytes(operation, operation.graph.add(kind, std::move(operands)));
}

Result where(Operation& operation, std::string_view kind) {
  QUADRANT_TRY(const Value condition, as_boolean(operation.graph, operation.input(0)));
  return only(operation.graph.add(kind, {condition, operation.input(1), operation.input(2)}));
}

Result cast(Operation& operation, std::string_view /*kind*/) {
  const std::string name = operation.options.text("type", "");
  const auto type = data_type_named(name);
  if (!type) return refuse(fmt::format("a cast to no type of WebNN's: '{}'", name));
  return only(operation.graph.cast(operation.input(0), *type));
}

constexpr std::array elementwise_table{
    OperationEntry{"abs", plain, "onnx.Abs"},
    OperationEntry{"ceil", plain, "onnx.Ceil"},
    OperationEntry{"cos", plain, "onnx.Cos"},
    OperationEntry{"erf", plain, "onnx.Erf"},
    OperationEntry{"exp", plain, "onnx.Exp"},
    OperationEntry{"floor", plain, "onnx.Floor"},
    OperationEntry{"gelu", plain, "onnx.Gelu"},
    OperationEntry{"hardSwish", plain, "onnx.HardSwish"},
    OperationEntry{"identity", plain, ops::Identity::kind},
    OperationEntry{"log", plain, "onnx.Log"},
    OperationEntry{"neg", plain, "onnx.Neg"},
    OperationEntry{"reciprocal", plain, "onnx.Reciprocal"},
    OperationEntry{"relu", plain, "onnx.Relu"},
    OperationEntry{"roundEven", plain, "onnx.Round"},
    OperationEntry{"sigmoid", plain, "onnx.Sigmoid"},
    OperationEntry{"sign", plain, "onnx.Sign"},
    OperationEntry{"sin", plain, "onnx.Sin"},
    OperationEntry{"softplus", plain, "onnx.Softplus"},
    OperationEntry{"softsign", plain, "onnx.Softsign"},
    OperationEntry{"sqrt", plain, "onnx.Sqrt"},
    OperationEntry{"tan", plain, "onnx.Tan"},
    OperationEntry{"tanh", plain, "onnx.Tanh"},

    OperationEntry{"elu", with_reals<elu_alpha>, "onnx.Elu"},
    OperationEntry{"leakyRelu", with_reals<leaky_alpha>, "onnx.LeakyRelu"},
    OperationEntry{"hardSigmoid", with_reals<sigmoid_alpha, sigmoid_beta>, "onnx.HardSigmoid"},
    OperationEntry{"linear", linear, {}},
    OperationEntry{"clamp", clamp, "onnx.Clip"},

    OperationEntry{"add", plain, ops::Add::kind, 2, 2},
    OperationEntry{"div", plain, "onnx.Div", 2, 2},
    OperationEntry{"max", plain, "onnx.Max", 2, 2},
    OperationEntry{"min", plain, "onnx.Min", 2, 2},
    OperationEntry{"mul", plain, ops::Multiply::kind, 2, 2},
    OperationEntry{"pow", plain, "onnx.Pow", 2, 2},
    OperationEntry{"prelu", plain, "onnx.PRelu", 2, 2},
    OperationEntry{"sub", plain, "onnx.Sub", 2, 2},

    OperationEntry{"equal", test, "onnx.Equal", 2, 2},
    OperationEntry{"greater", test, "onnx.Greater", 2, 2},
    OperationEntry{"greaterOrEqual", test, "onnx.GreaterOrEqual", 2, 2},
    OperationEntry{"isInfinite", test, "onnx.IsInf"},
    OperationEntry{"isNaN", test, "onnx.IsNaN"},
    OperationEntry{"lesser", test, "onnx.Less", 2, 2},
    OperationEntry{"lesserOrEqual", test, "onnx.LessOrEqual", 2, 2},
    OperationEntry{"notEqual", not_equal, "onnx.Equal", 2, 2},

    OperationEntry{"logicalAnd", logical, "onnx.And", 2, 2},
    OperationEntry{"logicalNot", logical, "onnx.Not"},
    OperationEntry{"logicalOr", logical, "onnx.Or", 2, 2},
    OperationEntry{"logicalXor", logical, "onnx.Xor", 2, 2},

    OperationEntry{"where", where, "onnx.Where", 3, 3},
    OperationEntry{"cast", cast, {}},
};

}  // namespace

std::span<const OperationEntry> elementwise_operations() noexcept { return elementwise_table; }

}  // namespace quadrant::webnn

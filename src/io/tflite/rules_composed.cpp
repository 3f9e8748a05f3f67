// Operations on one real number after the other that have no operator: formulas of several.
#include <algorithm>
#include <array>
#include <cmath>

#include "io/tflite/chain.hpp"
#include "io/tflite/elementwise.hpp"
#include "io/tflite/failure.hpp"
#include "ir/ops/elementwise.hpp"
#include "numerics/elementary_fake_quantize.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

double attribute(const NodeRef& node, std::string_view name, double fallback) {
  return node.attribute_or<double>(name, fallback);
}

/// positive * max(x, 0) + negative * (exp(min(x, 0) / width) - 1)
struct Exponential {
  double positive = 1.0;
  double negative = 1.0;
  double width = 1.0;
};

TensorId exponential(Chain& chain, TensorId x, const Exponential& form) {
  const auto scaled = [&](TensorId of, double factor) {
    return factor == 1.0 ? of : chain.apply(MUL, {of, chain.real(factor)});
  };
  const TensorId above = scaled(chain.apply(RELU, {x}), form.positive);
  const TensorId below = scaled(chain.apply(MINIMUM, {x, chain.real(0.0)}), 1.0 / form.width);
  return chain.apply(ADD, {above, scaled(chain.apply(ELU, {below}), form.negative)});
}

TensorId elu(Chain& chain, TensorId x, const NodeRef& node) {
  return exponential(chain, x, {.negative = attribute(node, "alpha", 1.0)});
}

TensorId selu(Chain& chain, TensorId x, const NodeRef& node) {
  // The operation's own default values.
  const double alpha = attribute(node, "alpha", 1.67326319217681884765625);
  const double gamma = attribute(node, "gamma", 1.05070102214813232421875);
  return exponential(chain, x, {.positive = gamma, .negative = gamma * alpha});
}

TensorId celu(Chain& chain, TensorId x, const NodeRef& node) {
  const double alpha = attribute(node, "alpha", 1.0);
  if (!(alpha > 0.0)) impossible("an alpha that is not positive");
  return exponential(chain, x, {.negative = alpha, .width = alpha});
}

TensorId softsign(Chain& chain, TensorId x, const NodeRef& /*node*/) {
  const TensorId size = chain.apply(ABS, {x});
  return chain.apply(DIV, {x, chain.apply(ADD, {size, chain.real(1.0)})});
}

/// max(x, 0) + log(1 + exp(-|x|)): no number on the way is too large.
TensorId softplus(Chain& chain, TensorId x, const NodeRef& /*node*/) {
  const TensorId small = chain.apply(EXP, {chain.apply(NEG, {chain.apply(ABS, {x})})});
  const TensorId rest = chain.apply(LOG, {chain.apply(ADD, {small, chain.real(1.0)})});
  return chain.apply(ADD, {chain.apply(RELU, {x}), rest});
}

TensorId mish(Chain& chain, TensorId x, const NodeRef& node) {
  return chain.apply(MUL, {x, chain.apply(TANH, {softplus(chain, x, node)})});
}

/// max(0, min(1, alpha * x + beta))
TensorId hard_sigmoid(Chain& chain, TensorId x, const NodeRef& node) {
  const TensorId scaled = chain.apply(MUL, {x, chain.real(attribute(node, "alpha", 0.2))});
  const TensorId shifted = chain.apply(ADD, {scaled, chain.real(attribute(node, "beta", 0.5))});
  return chain.apply(RELU_0_TO_1, {shifted});
}

/// Formula 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical Functions (1964):
/// 1 - (a1 t + ... + a5 t^5) exp(-x^2) with t = 1 / (1 + p x), for x >= 0; the error is at most
/// 1.5e-7, and as much again is rounding to float32.
TensorId erf(Chain& chain, TensorId x, const NodeRef& /*node*/) {
  constexpr double p = 0.3275911;
  constexpr std::array a{0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429};
  const TensorId one = chain.real(1.0);
  const TensorId size = chain.apply(ABS, {x});
  const TensorId grown = chain.apply(ADD, {chain.apply(MUL, {size, chain.real(p)}), one});
  const TensorId t = chain.apply(DIV, {one, grown});
  TensorId sum = chain.apply(MUL, {t, chain.real(a.back())});
  for (std::size_t i = a.size() - 1; i-- > 0;) {
    sum = chain.apply(MUL, {chain.apply(ADD, {sum, chain.real(a[i])}), t});
  }
  const TensorId bell = chain.apply(EXP, {chain.apply(NEG, {chain.apply(MUL, {x, x})})});
  const TensorId whole = chain.apply(SUB, {one, chain.apply(MUL, {sum, bell})});
  return chain.apply(MUL, {chain.apply(SIGN, {x}), whole});
}

TensorId tangent(Chain& chain, TensorId x, const NodeRef& /*node*/) {
  return chain.apply(DIV, {chain.apply(SIN, {x}), chain.apply(COS, {x})});
}

/// 1 for each number of x: the operands of ATAN2 have to have one shape.
TensorId ones(Chain& chain, TensorId x) {
  const TensorId one = chain.real(1.0);
  return chain.apply(MAXIMUM, {chain.apply(MINIMUM, {x, one}), one});
}

TensorId arc_tangent(Chain& chain, TensorId x, const NodeRef& /*node*/) {
  return chain.apply(ATAN2, {x, ones(chain, x)});
}

/// sqrt((1 - x) (1 + x))
TensorId other_leg(Chain& chain, TensorId x) {
  const TensorId one = chain.real(1.0);
  const TensorId less = chain.apply(SUB, {one, x});
  return chain.apply(SQRT, {chain.apply(MUL, {less, chain.apply(ADD, {x, one})})});
}

TensorId arc_sine(Chain& chain, TensorId x, const NodeRef& /*node*/) {
  return chain.apply(ATAN2, {x, other_leg(chain, x)});
}

TensorId arc_cosine(Chain& chain, TensorId x, const NodeRef& /*node*/) {
  return chain.apply(ATAN2, {other_leg(chain, x), x});
}

/// exp(|x|) / 2 times `factor`, in two steps: no number on the way is larger than the result.
TensorId half_power(Chain& chain, TensorId size, TensorId factor) {
  const TensorId root = chain.apply(EXP, {chain.apply(MUL, {size, chain.real(0.5)})});
  const TensorId part = chain.apply(MUL, {root, chain.apply(MUL, {factor, chain.real(0.5)})});
  return chain.apply(MUL, {root, part});
}

/// (1 - exp(-2 |x|)) exp(|x|) / 2, with the sign of x: ELU is exact near 0.
TensorId hyperbolic_sine(Chain& chain, TensorId x, const NodeRef& /*node*/) {
  const TensorId size = chain.apply(ABS, {x});
  const TensorId grown = chain.apply(ELU, {chain.apply(MUL, {size, chain.real(-2.0)})});
  const TensorId whole = half_power(chain, size, chain.apply(NEG, {grown}));
  return chain.apply(MUL, {chain.apply(SIGN, {x}), whole});
}

/// (1 + exp(-2 |x|)) exp(|x|) / 2
TensorId hyperbolic_cosine(Chain& chain, TensorId x, const NodeRef& /*node*/) {
  const TensorId size = chain.apply(ABS, {x});
  const TensorId small = chain.apply(EXP, {chain.apply(MUL, {size, chain.real(-2.0)})});
  return half_power(chain, size, chain.apply(ADD, {small, chain.real(1.0)}));
}

/// sign(x) log(|x| + sqrt(x^2 + 1))
TensorId area_sine(Chain& chain, TensorId x, const NodeRef& /*node*/) {
  const TensorId size = chain.apply(ABS, {x});
  const TensorId square = chain.apply(ADD, {chain.apply(MUL, {x, x}), chain.real(1.0)});
  const TensorId sum = chain.apply(ADD, {size, chain.apply(SQRT, {square})});
  return chain.apply(MUL, {chain.apply(SIGN, {x}), chain.apply(LOG, {sum})});
}

/// log(x + sqrt(x - 1) sqrt(x + 1))
TensorId area_cosine(Chain& chain, TensorId x, const NodeRef& /*node*/) {
  const TensorId one = chain.real(1.0);
  const TensorId below = chain.apply(SQRT, {chain.apply(SUB, {x, one})});
  const TensorId above = chain.apply(SQRT, {chain.apply(ADD, {x, one})});
  return chain.apply(LOG, {chain.apply(ADD, {x, chain.apply(MUL, {below, above})})});
}

/// log((1 + x) / (1 - x)) / 2
TensorId area_tangent(Chain& chain, TensorId x, const NodeRef& /*node*/) {
  const TensorId one = chain.real(1.0);
  const TensorId above = chain.apply(ADD, {x, one});
  const TensorId ratio = chain.apply(DIV, {above, chain.apply(SUB, {one, x})});
  return chain.apply(MUL, {chain.apply(LOG, {ratio}), chain.real(0.5)});
}

/// x sigmoid(alpha x)
TensorId swish(Chain& chain, TensorId x, const NodeRef& node) {
  const double alpha = attribute(node, "alpha", 1.0);
  const TensorId scaled = alpha == 1.0 ? x : chain.apply(MUL, {x, chain.real(alpha)});
  return chain.apply(MUL, {x, chain.apply(LOGISTIC, {scaled})});
}

struct Formula {
  std::string_view kind;
  TensorId (*made)(Chain& chain, TensorId x, const NodeRef& node);
  std::string_view how;
};

constexpr std::array formulas{
    Formula{ops::Acos::kind, arc_cosine, "arithmetic, SQRT and ATAN2"},
    Formula{ops::Acosh::kind, area_cosine, "arithmetic, SQRT and LOG"},
    Formula{ops::Asin::kind, arc_sine, "arithmetic, SQRT and ATAN2"},
    Formula{ops::Asinh::kind, area_sine, "arithmetic, SQRT and LOG"},
    Formula{ops::Atan::kind, arc_tangent, "ATAN2 of x and 1"},
    Formula{ops::Atanh::kind, area_tangent, "arithmetic and LOG"},
    Formula{ops::Cosh::kind, hyperbolic_cosine, "arithmetic and EXP"},
    Formula{ops::Sinh::kind, hyperbolic_sine, "arithmetic, ELU and EXP"},
    Formula{ops::Swish::kind, swish, "LOGISTIC and MUL"},
    Formula{ops::Tan::kind, tangent, "SIN, COS and DIV"},
    Formula{ops::Celu::kind, celu, "RELU and ELU, with factors"},
    Formula{ops::Elu::kind, elu, "RELU and ELU, with a factor"},
    Formula{ops::Erf::kind, erf,
            "arithmetic and EXP (Abramowitz and Stegun 7.1.26), at most 5e-7 off"},
    Formula{ops::HardSigmoid::kind, hard_sigmoid, "MUL, ADD and RELU_0_TO_1"},
    Formula{ops::Mish::kind, mish, "EXP, LOG, TANH and arithmetic"},
    Formula{ops::Selu::kind, selu, "RELU and ELU, with factors"},
    Formula{ops::Softplus::kind, softplus, "EXP, LOG and arithmetic"},
    Formula{ops::Softsign::kind, softsign, "ABS, ADD and DIV"},
};

/// What all of these share; gives the chain's operand.
TensorId begin(Lowering& lowering, const NodeRef& node, const Axes& axes) {
  const Value operand = node.operand(0);
  const TensorType type = lowering.type(operand);
  if (type.element != ElementType::float32) {
    impossible(fmt::format("computes in {}", to_string(type.element)));
  }
  lowering.settle(node.result(), type.element, type.shape);
  return lowering.tensor(operand, axes);
}

void lower_formula(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Formula& formula = *std::ranges::find(formulas, rule.kind, &Formula::kind);
  const Value operand = node.operand(0);
  const Shape shape = lowering.ranked(operand);
  const Axes axes = lowering.axes(operand);
  const TensorId x = begin(lowering, node, axes);
  lowering.decomposed(node, std::string(formula.how));
  Chain chain(lowering, node, arranged(shape, axes));
  chain.finish(node.result(), formula.made(chain, x, node), axes);
}

bool is_plain_elu(const NodeRef& node) { return attribute(node, "alpha", 1.0) == 1.0; }

void lower_elu(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  is_plain_elu(node) ? lower_unary(lowering, node, rule) : lower_formula(lowering, node, rule);
}

/// x where it is larger than alpha, else 0. Not a product, since 0 times infinity is no number.
void lower_thresholded_relu(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value operand = node.operand(0);
  const Shape shape = lowering.ranked(operand);
  const Axes axes = lowering.axes(operand);
  const TensorId x = begin(lowering, node, axes);
  lowering.decomposed(node, "GREATER and SELECT_V2");
  const TensorId larger =
      lowering.temporary(node, "larger", {ElementType::boolean, arranged(shape, axes), nullptr});
  Model& model = lowering.model();
  const auto alpha = static_cast<float>(attribute(node, "alpha", 1.0));
  emit_elementwise(model, GREATER, {x, model.real(alpha)}, larger);
  const TensorId zero = model.real(0.0F);
  emit_elementwise(model, rule.code, {larger, x, zero}, lowering.define(node.result(), axes));
}

/// x + bias below -lambd, x - bias above lambd, else 0.
void lower_shrink(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value operand = node.operand(0);
  const Axes axes = lowering.axes(operand);
  const Shape shape = arranged(lowering.ranked(operand), axes);
  const TensorId x = begin(lowering, node, axes);
  lowering.decomposed(node, "ADD, GREATER, LESS and SELECT_V2");
  const double lambda = attribute(node, "lambd", 0.5);
  const double bias = attribute(node, "bias", 0.0);
  Chain chain(lowering, node, shape);
  // x moved by `by` where it is beyond `bound`, else `otherwise`.
  const auto moved = [&](BuiltinOperator beyond, double bound, double by, TensorId otherwise) {
    const TensorId is_there =
        lowering.temporary(node, "is_there", {ElementType::boolean, shape, nullptr});
    emit_elementwise(lowering.model(), beyond, {x, chain.real(bound)}, is_there);
    return chain.apply(rule.code, {is_there, chain.apply(ADD, {x, chain.real(by)}), otherwise});
  };
  const TensorId above = moved(GREATER, lambda, -bias, chain.real(0.0));
  chain.finish(node.result(), moved(LESS, -lambda, bias, above), axes);
}

void lower_fake_quantize(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  lowering.decomposed(node, "SUB, DIV, MUL, ROUND, ADD and SELECT_V2");
  lowering.compute_by(node, add_elementary_fake_quantize);
}

constexpr std::array composed_rows{
    Rule{.kind = ops::FakeQuantize::kind, .lower = lower_fake_quantize},
    Rule{.kind = ops::Acos::kind, .lower = lower_formula},
    Rule{.kind = ops::Acosh::kind, .lower = lower_formula},
    Rule{.kind = ops::Asin::kind, .lower = lower_formula},
    Rule{.kind = ops::Asinh::kind, .lower = lower_formula},
    Rule{.kind = ops::Atan::kind, .lower = lower_formula},
    Rule{.kind = ops::Atanh::kind, .lower = lower_formula},
    Rule{.kind = ops::Celu::kind, .lower = lower_formula},
    Rule{.kind = ops::Cosh::kind, .lower = lower_formula},
    Rule{.kind = ops::Elu::kind,
         .lower = lower_elu,
         .code = ELU,
         .codes = Codes::all,
         .fits = is_plain_elu},
    Rule{.kind = ops::Erf::kind, .lower = lower_formula},
    Rule{.kind = ops::HardSigmoid::kind, .lower = lower_formula},
    Rule{.kind = ops::Mish::kind, .lower = lower_formula},
    Rule{.kind = ops::Selu::kind, .lower = lower_formula},
    Rule{.kind = ops::Shrink::kind, .lower = lower_shrink, .code = SELECT_V2},
    Rule{.kind = ops::Sinh::kind, .lower = lower_formula},
    Rule{.kind = ops::Softplus::kind, .lower = lower_formula},
    Rule{.kind = ops::Softsign::kind, .lower = lower_formula},
    Rule{.kind = ops::Swish::kind, .lower = lower_formula},
    Rule{.kind = ops::Tan::kind, .lower = lower_formula},
    Rule{.kind = ops::ThresholdedRelu::kind, .lower = lower_thresholded_relu, .code = SELECT_V2},
};

}  // namespace

std::span<const Rule> composed_rules() noexcept { return composed_rows; }

}  // namespace quadrant::inline v0::tflite

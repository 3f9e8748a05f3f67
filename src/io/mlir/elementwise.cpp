// What computes one element from one element of each operand.
#include "ir/ops/elementwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "io/mlir/failure.hpp"
#include "io/mlir/rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_ir {
namespace {

// --- operations that MLIR has --------------------------------------------------------------------

struct UnaryOperation {
  std::string_view kind;
  std::string_view op;  ///< on real numbers
};

constexpr std::array unary_operations{
    UnaryOperation{ops::Abs::kind, "math.absf"},
    UnaryOperation{ops::Acos::kind, "math.acos"},
    UnaryOperation{ops::Acosh::kind, "math.acosh"},
    UnaryOperation{ops::Asin::kind, "math.asin"},
    UnaryOperation{ops::Asinh::kind, "math.asinh"},
    UnaryOperation{ops::Atan::kind, "math.atan"},
    UnaryOperation{ops::Atanh::kind, "math.atanh"},
    UnaryOperation{ops::Ceil::kind, "math.ceil"},
    UnaryOperation{ops::Cos::kind, "math.cos"},
    UnaryOperation{ops::Cosh::kind, "math.cosh"},
    UnaryOperation{ops::Erf::kind, "math.erf"},
    UnaryOperation{ops::Exp::kind, "math.exp"},
    UnaryOperation{ops::Floor::kind, "math.floor"},
    UnaryOperation{ops::Log::kind, "math.log"},
    UnaryOperation{ops::Neg::kind, "arith.negf"},
    UnaryOperation{ops::Round::kind, "math.roundeven"},
    UnaryOperation{ops::Sin::kind, "math.sin"},
    UnaryOperation{ops::Sinh::kind, "math.sinh"},
    UnaryOperation{ops::Sqrt::kind, "math.sqrt"},
    UnaryOperation{ops::Tan::kind, "math.tan"},
    UnaryOperation{ops::Tanh::kind, "math.tanh"},
};

void lower_unary(LoweredNode& node) {
  const auto* const found =
      std::ranges::find(unary_operations, node.node().kind(), &UnaryOperation::kind);
  const Term x = node.operand(0);
  if (is_float(x.type.element)) {
    node.finish(node.each(found->op, x));
    return;
  }
  if (!is_integer(x.type.element)) impossible("numbers that are truth values");
  const bool is_absolute = found->kind == ops::Abs::kind;
  if (!is_absolute && found->kind != ops::Neg::kind) {
    impossible("integers");
  }
  node.finish(node.map(std::array{x}, x.type.element, x.type.shape, [&](Region& region) {
    const Scalar& value = region.argument(0);
    const Scalar negative = region.subtract(region.number(value, 0), value);
    return is_absolute ? region.larger(value, negative) : negative;
  }));
}

/// Of two operands or, where ONNX has so, of any number.
void lower_together(LoweredNode& node, const Arithmetic& arithmetic) {
  Term result = node.operand(0);
  for (std::size_t i = 1; i < node.operand_count(); ++i) {
    const Term next = node.operand(i);
    const Shape shape = i + 1 == node.operand_count()
                            ? node.result_shape()
                            : broadcast_shape(result.type.shape, next.type.shape);
    result = node.together(arithmetic, result, next, shape);
  }
  node.finish(result);
}

void lower_add(LoweredNode& node) { lower_together(node, addition); }
void lower_subtract(LoweredNode& node) { lower_together(node, subtraction); }
void lower_multiply(LoweredNode& node) { lower_together(node, multiplication); }
void lower_divide(LoweredNode& node) { lower_together(node, division); }
void lower_max(LoweredNode& node) { lower_together(node, maximum); }
void lower_min(LoweredNode& node) { lower_together(node, minimum); }

void lower_mean(LoweredNode& node) {
  Term sum = node.operand(0);
  for (std::size_t i = 1; i < node.operand_count(); ++i) {
    const Term next = node.operand(i);
    sum = node.together(addition, sum, next, broadcast_shape(sum.type.shape, next.type.shape));
  }
  const auto count = static_cast<double>(node.operand_count());
  node.finish(node.map(std::array{sum}, sum.type.element, sum.type.shape, [&](Region& region) {
    return region.divide(region.argument(0), region.number(region.argument(0), count));
  }));
}

/// Of integers the remainder has the sign of the divisor, unless `fmod` is set: then that of the
/// dividend, as it always has of real numbers.
void lower_remainder(LoweredNode& node) {
  const bool is_of_dividend = node.attribute_or<std::int64_t>("fmod", 0) != 0;
  const std::array operands{node.operand(0), node.operand(1)};
  const ElementType element = node.result_element();
  node.finish(node.map(operands, element, node.result_shape(), [&](Region& region) {
    const Scalar& divisor = region.argument(1);
    const Scalar rest =
        region.apply(operation_of(remainder_of_division, element), {region.argument(0), divisor});
    if (is_of_dividend || is_float(element) || is_unsigned(element)) return rest;
    const Scalar zero = region.number(rest, 0);
    const auto is_negative = [&](const Scalar& value) {
      return region.test(Region::Test::less, value, zero);
    };
    const Scalar differ = region.apply("arith.xori", {is_negative(rest), is_negative(divisor)});
    const Scalar moves =
        region.apply("arith.andi", {differ, region.test(Region::Test::unequal, rest, zero)});
    return region.select(moves, region.add(rest, divisor), rest);
  }));
}

// --- bits and truth values -----------------------------------------------------------------------

void lower_bits(LoweredNode& node, std::string_view op) {
  const std::array operands{node.operand(0), node.operand(1)};
  node.finish(node.map(operands, node.result_element(), node.result_shape(), [&](Region& region) {
    return region.apply(op, {region.argument(0), region.argument(1)});
  }));
}

void lower_and(LoweredNode& node) { lower_bits(node, "arith.andi"); }
void lower_or(LoweredNode& node) { lower_bits(node, "arith.ori"); }
void lower_xor(LoweredNode& node) { lower_bits(node, "arith.xori"); }

void lower_shift(LoweredNode& node) {
  const bool is_left = node.attribute_or<std::string>("direction", "") == "LEFT";
  lower_bits(node, is_left ? "arith.shli" : "arith.shrui");
}

/// All bits the other way: exclusive or with ones alone.
void lower_complement(LoweredNode& node) {
  const Term x = node.operand(0);
  node.finish(node.map(std::array{x}, x.type.element, x.type.shape, [](Region& region) {
    const Scalar& value = region.argument(0);
    return region.apply("arith.xori",
                        {value, region.subtract(region.number(value, 0), region.number(value, 1))});
  }));
}

void lower_not(LoweredNode& node) {
  const Term x = node.operand(0);
  node.finish(node.map(std::array{x}, ElementType::boolean, x.type.shape, [](Region& region) {
    const Scalar& value = region.argument(0);
    return region.apply("arith.xori", {value, region.number(value, 1)});
  }));
}

void lower_comparison(LoweredNode& node, Region::Test test, bool swaps) {
  const std::array operands{node.operand(swaps ? 1 : 0), node.operand(swaps ? 0 : 1)};
  node.finish(node.map(operands, ElementType::boolean, node.result_shape(), [&](Region& region) {
    return region.test(test, region.argument(0), region.argument(1));
  }));
}

void lower_equal(LoweredNode& node) { lower_comparison(node, Region::Test::equal, false); }
void lower_less(LoweredNode& node) { lower_comparison(node, Region::Test::less, false); }
void lower_greater(LoweredNode& node) { lower_comparison(node, Region::Test::less, true); }
void lower_at_most(LoweredNode& node) {
  lower_comparison(node, Region::Test::less_or_equal, false);
}
void lower_at_least(LoweredNode& node) {
  lower_comparison(node, Region::Test::less_or_equal, true);
}

/// Of one operand, which is real numbers.
void lower_question(LoweredNode& node, FunctionRef<Scalar(Region&, const Scalar&)> question) {
  const Term x = node.operand(0);
  if (!is_float(x.type.element)) impossible("integers");
  node.finish(node.map(std::array{x}, ElementType::boolean, x.type.shape,
                       [&](Region& region) { return question(region, region.argument(0)); }));
}

void lower_is_nan(LoweredNode& node) {
  lower_question(node, [](Region& region, const Scalar& x) {
    return region.test(Region::Test::unequal, x, x);
  });
}

void lower_is_inf(LoweredNode& node) {
  lower_question(node, [&](Region& region, const Scalar& x) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto asked = [&](std::string_view name, double value) {
      return node.attribute_or<std::int64_t>(name, 1) != 0
                 ? region.test(Region::Test::equal, x, region.number(x, value))
                 : region.number(ElementType::boolean, 0);
    };
    return region.apply("arith.ori",
                        {asked("detect_negative", -infinity), asked("detect_positive", infinity)});
  });
}

void lower_where(LoweredNode& node) {
  const std::array operands{node.operand(0), node.operand(1), node.operand(2)};
  node.finish(node.map(operands, node.result_element(), node.result_shape(), [](Region& region) {
    return region.select(region.argument(0), region.argument(1), region.argument(2));
  }));
}

// --- formulas ------------------------------------------------------------------------------------

/// One element of operand 0 after the other, which are real numbers.
void lower_formula(LoweredNode& node, FunctionRef<Scalar(Region&, const Scalar&)> formula) {
  const Term x = node.operand(0);
  if (!is_float(x.type.element)) impossible("integers");
  node.finish(node.map(std::array{x}, x.type.element, x.type.shape,
                       [&](Region& region) { return formula(region, region.argument(0)); }));
}

/// max(x, 0), of integers, too.
void lower_relu(LoweredNode& node) {
  const Term x = node.operand(0);
  node.finish(node.map(std::array{x}, x.type.element, x.type.shape, [](Region& region) {
    return region.larger(region.argument(0), region.number(region.argument(0), 0));
  }));
}

/// The larger of the lower bound and x first, as ONNX says.
void lower_clip(LoweredNode& node) {
  const Term x = node.operand(0);
  std::vector<Term> operands{x};
  std::array<std::size_t, 2> places{0, 0};
  std::array<std::optional<double>, 2> numbers;
  constexpr std::array names{"min", "max"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    // Integers as they are: not all of them are a double.
    if (node.has(i + 1) && (node.constant(i + 1) == nullptr || !is_float(x.type.element))) {
      places[i] = operands.size();
      operands.push_back(node.operand(i + 1));
    } else {
      numbers[i] = node.real(i + 1, names[i]);
    }
  }
  node.finish(node.map(operands, x.type.element, x.type.shape, [&](Region& region) {
    const auto bound = [&](std::size_t i) {
      return places[i] != 0 ? region.argument(places[i])
                            : region.number(region.argument(0), *numbers[i]);
    };
    Scalar value = region.argument(0);
    if (places[0] != 0 || numbers[0]) value = region.larger(value, bound(0));
    if (places[1] != 0 || numbers[1]) value = region.smaller(value, bound(1));
    return value;
  }));
}

/// 1 / (1 + exp(-x))
Scalar sigmoid(Region& region, const Scalar& x) {
  const Scalar one = region.number(x, 1);
  const Scalar power = region.apply("math.exp", {region.apply("arith.negf", {x})});
  return region.divide(one, region.add(one, power));
}

void lower_sigmoid(LoweredNode& node) {
  lower_formula(node, [](Region& region, const Scalar& x) { return sigmoid(region, x); });
}

void lower_swish(LoweredNode& node) {
  const auto alpha = node.attribute_or<double>("alpha", 1);
  lower_formula(node, [&](Region& region, const Scalar& x) {
    const Scalar scaled = alpha == 1 ? x : region.multiply(x, region.number(x, alpha));
    return region.multiply(x, sigmoid(region, scaled));
  });
}

void lower_reciprocal(LoweredNode& node) {
  lower_formula(
      node, [](Region& region, const Scalar& x) { return region.divide(region.number(x, 1), x); });
}

/// max(0, min(1, alpha x + beta))
Scalar hard_sigmoid(Region& region, const Scalar& x, double alpha, double beta) {
  const Scalar line =
      region.add(region.multiply(x, region.number(x, alpha)), region.number(x, beta));
  return region.larger(region.smaller(line, region.number(x, 1)), region.number(x, 0));
}

void lower_hard_sigmoid(LoweredNode& node) {
  const auto alpha = node.attribute_or<double>("alpha", 0.2);
  const auto beta = node.attribute_or<double>("beta", 0.5);
  lower_formula(
      node, [&](Region& region, const Scalar& x) { return hard_sigmoid(region, x, alpha, beta); });
}

void lower_hard_swish(LoweredNode& node) {
  lower_formula(node, [](Region& region, const Scalar& x) {
    return region.multiply(x, hard_sigmoid(region, x, 1.0 / 6, 0.5));
  });
}

/// x where it is above 0, else `below`.
Scalar bent(Region& region, const Scalar& x, const Scalar& below) {
  return region.select(region.test(Region::Test::less, x, region.number(x, 0)), below, x);
}

void lower_leaky_relu(LoweredNode& node) {
  const auto alpha = node.attribute_or<double>("alpha", 0.01);
  lower_formula(node, [&](Region& region, const Scalar& x) {
    return bent(region, x, region.multiply(x, region.number(x, alpha)));
  });
}

void lower_prelu(LoweredNode& node) {
  const std::array operands{node.operand(0), node.operand(1)};
  node.finish(node.map(operands, node.result_element(), node.result_shape(), [](Region& region) {
    const Scalar& x = region.argument(0);
    return bent(region, x, region.multiply(x, region.argument(1)));
  }));
}

void lower_elu(LoweredNode& node) {
  const bool is_selu = node.node().kind() == ops::Selu::kind;
  const auto alpha = node.attribute_or<double>("alpha", is_selu ? 1.67326319217681884765625 : 1);
  const auto gamma = is_selu ? node.attribute_or<double>("gamma", 1.05070102214813232421875) : 1;
  lower_formula(node, [&](Region& region, const Scalar& x) {
    const Scalar curve = region.apply("math.expm1", {x});
    const Scalar whole = bent(region, x, region.multiply(curve, region.number(x, alpha)));
    return is_selu ? region.multiply(whole, region.number(x, gamma)) : whole;
  });
}

/// max(x, 0) + min(0, alpha (exp(x / alpha) - 1))
void lower_celu(LoweredNode& node) {
  const auto alpha = node.attribute_or<double>("alpha", 1);
  lower_formula(node, [&](Region& region, const Scalar& x) {
    const Scalar slope = region.number(x, alpha);
    const Scalar zero = region.number(x, 0);
    const Scalar curve = region.apply("math.expm1", {region.divide(x, slope)});
    return region.add(region.larger(x, zero), region.smaller(zero, region.multiply(slope, curve)));
  });
}

/// x + bias below -lambda, x - bias above lambda, else 0.
void lower_shrink(LoweredNode& node) {
  const auto bias = node.attribute_or<double>("bias", 0);
  const auto lambda = node.attribute_or<double>("lambd", 0.5);
  lower_formula(node, [&](Region& region, const Scalar& x) {
    const auto number = [&](double value) { return region.number(x, value); };
    const Scalar above = region.select(region.test(Region::Test::less, number(lambda), x),
                                       region.subtract(x, number(bias)), number(0));
    return region.select(region.test(Region::Test::less, x, number(-lambda)),
                         region.add(x, number(bias)), above);
  });
}

/// x where it is above alpha, else 0.
void lower_thresholded_relu(LoweredNode& node) {
  const auto alpha = node.attribute_or<double>("alpha", 1);
  lower_formula(node, [&](Region& region, const Scalar& x) {
    const Scalar is_above = region.test(Region::Test::less, region.number(x, alpha), x);
    return region.select(is_above, x, region.number(x, 0));
  });
}

/// log(1 + exp(x)), as max(x, 0) + log1p(exp(-|x|)), which does not overflow.
Scalar softplus(Region& region, const Scalar& x) {
  const Scalar size = region.apply("math.absf", {x});
  const Scalar power = region.apply("math.exp", {region.apply("arith.negf", {size})});
  return region.add(region.larger(x, region.number(x, 0)), region.apply("math.log1p", {power}));
}

void lower_softplus(LoweredNode& node) {
  lower_formula(node, [](Region& region, const Scalar& x) { return softplus(region, x); });
}

/// x tanh(log(1 + exp(x)))
void lower_mish(LoweredNode& node) {
  lower_formula(node, [](Region& region, const Scalar& x) {
    return region.multiply(x, region.apply("math.tanh", {softplus(region, x)}));
  });
}

void lower_softsign(LoweredNode& node) {
  lower_formula(node, [](Region& region, const Scalar& x) {
    const Scalar size = region.apply("math.absf", {x});
    return region.divide(x, region.add(region.number(x, 1), size));
  });
}

/// x / 2 (1 + erf(x / sqrt 2)), or the curve of tanh that comes close to it.
void lower_gelu(LoweredNode& node) {
  const auto how = node.attribute_or<std::string>("approximate", "none");
  if (how != "none" && how != "tanh") invalid(fmt::format("approximate {}", printable(how)));
  lower_formula(node, [&](Region& region, const Scalar& x) {
    const auto number = [&](double value) { return region.number(x, value); };
    Scalar curve;
    if (how == "none") {
      curve = region.apply("math.erf", {region.multiply(x, number(std::sqrt(0.5)))});
    } else {
      const Scalar cube = region.multiply(region.multiply(x, x), x);
      const Scalar sum = region.add(x, region.multiply(cube, number(0.044715)));
      const double factor = std::sqrt(2 / std::numbers::pi);
      curve = region.apply("math.tanh", {region.multiply(sum, number(factor))});
    }
    return region.multiply(region.multiply(x, number(0.5)), region.add(curve, number(1)));
  });
}

/// -1, 0 or 1, by the type of x.
void lower_sign(LoweredNode& node) {
  const Term x = node.operand(0);
  node.finish(node.map(std::array{x}, x.type.element, x.type.shape, [](Region& region) {
    const Scalar& value = region.argument(0);
    const Scalar zero = region.number(value, 0);
    const Scalar above =
        region.select(region.test(Region::Test::less, zero, value), region.number(value, 1), zero);
    return region.select(region.test(Region::Test::less, value, zero), region.number(value, -1),
                         above);
  }));
}

void lower_pow(LoweredNode& node) {
  const std::array operands{node.operand(0), node.operand(1)};
  const ElementType element = node.result_element();
  if (!is_float(element)) impossible("integers");
  node.finish(node.map(operands, element, node.result_shape(), [&](Region& region) {
    return region.apply("math.powf",
                        {region.argument(0), region.cast(region.argument(1), element)});
  }));
}

void lower_cast(LoweredNode& node) {
  const ElementType element = node.result_type().element;
  if (bit_width(element) == 0) impossible("a cast to a type that MLIR has none of");
  node.finish(node.cast(node.operand(0), element));
}

constexpr auto lowered_elementwise = [] {
  constexpr std::array others{
      LowerRule{ops::Add::kind, lower_add},
      LowerRule{ops::Sum::kind, lower_add},
      LowerRule{ops::Sub::kind, lower_subtract},
      LowerRule{ops::Multiply::kind, lower_multiply},
      LowerRule{ops::Div::kind, lower_divide},
      LowerRule{ops::Max::kind, lower_max},
      LowerRule{ops::Min::kind, lower_min},
      LowerRule{ops::Mean::kind, lower_mean},
      LowerRule{ops::And::kind, lower_and},
      LowerRule{ops::Or::kind, lower_or},
      LowerRule{ops::Xor::kind, lower_xor},
      LowerRule{ops::Not::kind, lower_not},
      LowerRule{ops::Equal::kind, lower_equal},
      LowerRule{ops::Less::kind, lower_less},
      LowerRule{ops::LessOrEqual::kind, lower_at_most},
      LowerRule{ops::Greater::kind, lower_greater},
      LowerRule{ops::GreaterOrEqual::kind, lower_at_least},
      LowerRule{ops::Where::kind, lower_where},
      LowerRule{ops::Relu::kind, lower_relu},
      LowerRule{ops::Clip::kind, lower_clip},
      LowerRule{ops::Sigmoid::kind, lower_sigmoid},
      LowerRule{ops::Sign::kind, lower_sign},
      LowerRule{ops::Swish::kind, lower_swish},
      LowerRule{ops::Reciprocal::kind, lower_reciprocal},
      LowerRule{ops::HardSigmoid::kind, lower_hard_sigmoid},
      LowerRule{ops::HardSwish::kind, lower_hard_swish},
      LowerRule{ops::LeakyRelu::kind, lower_leaky_relu},
      LowerRule{ops::PRelu::kind, lower_prelu},
      LowerRule{ops::Elu::kind, lower_elu},
      LowerRule{ops::Selu::kind, lower_elu},
      LowerRule{ops::Softplus::kind, lower_softplus},
      LowerRule{ops::Softsign::kind, lower_softsign},
      LowerRule{ops::Gelu::kind, lower_gelu},
      LowerRule{ops::Pow::kind, lower_pow},
      LowerRule{ops::Cast::kind, lower_cast},
      LowerRule{ops::BitShift::kind, lower_shift},
      LowerRule{ops::BitwiseAnd::kind, lower_and},
      LowerRule{ops::BitwiseNot::kind, lower_complement},
      LowerRule{ops::BitwiseOr::kind, lower_or},
      LowerRule{ops::BitwiseXor::kind, lower_xor},
      LowerRule{ops::CastLike::kind, lower_cast},
      LowerRule{ops::Celu::kind, lower_celu},
      LowerRule{ops::IsInf::kind, lower_is_inf},
      LowerRule{ops::IsNaN::kind, lower_is_nan},
      LowerRule{ops::Mish::kind, lower_mish},
      LowerRule{ops::Mod::kind, lower_remainder},
      LowerRule{ops::Shrink::kind, lower_shrink},
      LowerRule{ops::ThresholdedRelu::kind, lower_thresholded_relu},
  };
  std::array<LowerRule, unary_operations.size() + others.size()> rows{};
  std::size_t next = 0;
  for (const UnaryOperation& unary : unary_operations) rows.at(next++) = {unary.kind, lower_unary};
  for (const LowerRule& other : others) rows.at(next++) = other;
  return rows;
}();

}  // namespace

LowerRules elementwise_rules() noexcept { return lowered_elementwise; }

}  // namespace quadrant::inline v0::mlir_ir

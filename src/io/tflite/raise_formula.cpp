// Operators on plain numbers that ONNX says by several operations, or by one with other operands.
#include <algorithm>
#include <array>

#include "io/tflite/failure.hpp"
#include "io/tflite/steps.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/reductions.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

/// Whether no tensor of the operator holds codes, and it has operands that are all there.
bool has_numbers(const Raising& raising, const RaisedOp& op) {
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (op.input(i) == no_tensor || raising.type(op.input(i)).is_quantized()) return false;
  }
  return op.input_count() > 0 && !raising.type(op.output()).is_quantized();
}

bool has_reals(const Raising& raising, const RaisedOp& op) {
  return has_numbers(raising, op) && raising.type(op.input(0)).element == ElementType::float32;
}

/// Of integers, what is left of a division goes first: ONNX rounds quotients towards 0.
bool raise_floor_div(Raising& raising, const RaisedOp& op) {
  if (!has_numbers(raising, op) || op.input_count() != 2) return false;
  Steps steps(raising, op.output());
  const Value a = raising.plain(op.input(0));
  const Value b = raising.plain(op.input(1));
  if (has_reals(raising, op)) {
    steps.finish(ops::Floor::kind, {steps.apply(ops::Div::kind, {a, b})});
    return true;
  }
  const Value whole = steps.apply(ops::Sub::kind, {a, steps.apply(ops::Mod::kind, {a, b})});
  steps.finish(ops::Div::kind, {whole, b});
  return true;
}

/// Of real numbers ONNX's remainder has the sign of the dividend, the file's that of the divisor.
bool raise_floor_mod(Raising& raising, const RaisedOp& op) {
  if (!has_reals(raising, op) || op.input_count() != 2) return false;
  Steps steps(raising, op.output());
  const Value a = raising.plain(op.input(0));
  const Value b = raising.plain(op.input(1));
  const Value zero = steps.number(0.0, op.input(0));
  const Value rest =
      steps.apply(ops::Mod::kind, {a, b}, {{"fmod", std::int64_t{1}}}, raising.type(op.output()));
  const Value signs_differ = steps.apply(
      ops::Xor::kind,
      {steps.apply(ops::Less::kind, {rest, zero}), steps.apply(ops::Less::kind, {b, zero})});
  const Value is_rest = steps.apply(ops::Not::kind, {steps.apply(ops::Equal::kind, {rest, zero})});
  steps.finish(ops::Where::kind, {steps.apply(ops::And::kind, {is_rest, signs_differ}),
                                  steps.apply(ops::Add::kind, {rest, b}), rest});
  return true;
}

bool raise_add_n(Raising& raising, const RaisedOp& op) {
  if (!has_numbers(raising, op)) return false;
  Steps steps(raising, op.output());
  std::vector<Value> operands;
  for (std::size_t i = 0; i < op.input_count(); ++i) operands.push_back(raising.plain(op.input(i)));
  if (has_reals(raising, op)) {
    steps.finish(ops::Sum::kind, std::move(operands));
    return true;
  }
  Value sum = operands.front();
  for (std::size_t i = 1; i + 1 < operands.size(); ++i) {
    sum = steps.apply(ops::Add::kind, {sum, operands[i]});
  }
  if (operands.size() == 1) {
    steps.finish(ops::Identity::kind, {sum});
  } else {
    steps.finish(ops::Add::kind, {sum, operands.back()});
  }
  return true;
}

bool raise_zeros(Raising& raising, const RaisedOp& op) {
  if (!has_numbers(raising, op)) return false;
  Steps steps(raising, op.output());
  const Value shape = steps.apply(ops::ShapeOf::kind, {raising.plain(op.input(0))});
  const ElementType element = raising.type(op.output()).element;
  const auto width = static_cast<std::size_t>(byte_width(element));
  steps.finish(ops::ConstantOfShape::kind, {shape},
               {{"value", Constant::from_bytes(element, Shape{1},
                                               std::vector<std::byte>(width, std::byte{0}))}});
  return true;
}

bool raise_fill(Raising& raising, const RaisedOp& op) {
  if (!has_numbers(raising, op) || op.input_count() != 2 || raising.rank(op.input(1)) != 0) {
    return false;
  }
  Steps(raising, op.output())
      .finish(ops::Expand::kind,
              {raising.plain(op.input(1)), raising.wide_integers(op.input(0), op.output())});
  return true;
}

bool raise_rank(Raising& raising, const RaisedOp& op) {
  if (op.input(0) == no_tensor) return false;
  Steps steps(raising, op.output());
  const Value shape = steps.apply(ops::ShapeOf::kind, {raising.plain(op.input(0))});
  return raising.add_wide(ops::Size::kind, {shape}, op.output());
}

bool raise_range(Raising& raising, const RaisedOp& op) {
  if (!has_numbers(raising, op) || op.input_count() != 3) return false;
  std::vector<Value> operands;
  for (std::size_t i = 0; i < 3; ++i) {
    if (raising.rank(op.input(i)) != 0) return false;
    operands.push_back(raising.plain(op.input(i)));
  }
  Steps(raising, op.output()).finish(ops::Range::kind, std::move(operands));
  return true;
}

/// Along the last axis; a norm below this counts as it.
bool raise_l2_normalization(Raising& raising, const RaisedOp& op) {
  constexpr double least = 1e-6;
  const auto* options = op.op->builtin_options_as_L2NormOptions();
  if (!options || !has_reals(raising, op)) return false;
  Steps steps(raising, op.output());
  const Value data = raising.plain(op.input(0));
  const Value norm =
      steps.apply(ops::ReduceL2::kind, {data}, {{"axes", std::vector<std::int64_t>{-1}}});
  const Value divisor = steps.apply(ops::Max::kind, {norm, steps.number(least, op.input(0))});
  raising.add_activated(ops::Div::kind, {data, divisor}, op.output(),
                        plain_axes(raising.rank(op.output())),
                        options->fused_activation_function());
  return true;
}

/// ONNX divides the sum of squares by how many there are, TFLite does not.
bool raise_local_response(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_LocalResponseNormalizationOptions();
  if (!options || !has_reals(raising, op) || raising.rank(op.input(0)) != 4 ||
      options->radius() < 0) {
    return false;
  }
  const std::int64_t size = 2 * std::int64_t{options->radius()} + 1;
  const Axes axes = channels_last(4);
  raising.add(ops::LRN::kind, {raising.value(op.input(0), axes)}, op.output(), axes,
              {{"size", size},
               {"alpha", static_cast<double>(options->alpha()) * static_cast<double>(size)},
               {"beta", static_cast<double>(options->beta())},
               {"bias", static_cast<double>(options->bias())}});
  return true;
}

bool raise_cumulative_sum(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_CumsumOptions();
  if (!options || !has_numbers(raising, op) || op.input_count() != 2) return false;
  Steps(raising, op.output())
      .finish(ops::CumSum::kind, {raising.plain(op.input(0)), raising.plain(op.input(1))},
              {{"exclusive", std::int64_t{options->exclusive() ? 1 : 0}},
               {"reverse", std::int64_t{options->reverse() ? 1 : 0}}});
  return true;
}

/// SELECT, whose condition may also be one value for each index of the first axis.
bool raise_select(Raising& raising, const RaisedOp& op) {
  if (!has_numbers(raising, op) || op.input_count() != 3) return false;
  const std::int64_t rank = raising.rank(op.output());
  const std::int64_t given = raising.rank(op.input(0));
  if (given != 0 && given != 1 && given != rank) return false;
  Steps steps(raising, op.output());
  Value condition = raising.plain(op.input(0));
  if (given == 1 && rank > 1) {
    std::vector<std::int64_t> axes;
    for (std::int64_t axis = 1; axis < rank; ++axis) axes.push_back(axis);
    condition = steps.unsqueeze(condition, axes);
  }
  steps.finish(ops::Where::kind,
               {condition, raising.plain(op.input(1)), raising.plain(op.input(2))});
  return true;
}

/// MATRIX_DIAG and MATRIX_SET_DIAG: a vector on the diagonal of zeros, or of matrices.
bool raise_diagonal(Raising& raising, const RaisedOp& op) {
  const bool sets = op.code == BuiltinOperator::MATRIX_SET_DIAG;
  if (!has_numbers(raising, op) || op.input_count() != (sets ? 2 : 1)) return false;
  const TensorId diagonal = op.input(sets ? 1 : 0);
  const Shape& shape = raising.type(op.output()).shape;
  const std::int64_t rank = shape.rank();
  if (rank < 2 || raising.rank(diagonal) + 1 != rank) return false;
  constexpr std::int64_t largest = 1 << 12;
  const std::int64_t rows = shape[rank - 2].value_or(0);
  const std::int64_t columns = shape[rank - 1].value_or(0);
  if (rows < 1 || rows > columns || columns > largest || (!sets && rows != columns)) return false;
  std::vector<std::byte> mask;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    mask.push_back(std::byte{i / columns == i % columns ? std::uint8_t{1} : std::uint8_t{0}});
  }
  Steps steps(raising, op.output());
  const Value is_diagonal = steps.constant(
      Constant::from_bytes(ElementType::boolean, Shape{rows, columns}, std::move(mask)));
  // Rows, one element each: no more of them than columns.
  const Value values = steps.unsqueeze(raising.plain(diagonal), {-1});
  const Value others = sets ? raising.plain(op.input(0)) : steps.number(0.0, diagonal);
  steps.finish(ops::Where::kind, {is_diagonal, values, others});
  return true;
}

bool raise_bitwise_xor(Raising& raising, const RaisedOp& op) {
  if (!has_numbers(raising, op) || op.input_count() != 2) return false;
  Steps(raising, op.output())
      .finish(ops::BitwiseXor::kind, {raising.plain(op.input(0)), raising.plain(op.input(1))});
  return true;
}

using enum BuiltinOperator;

constexpr std::array raise_formula_rows{
    RaiseRule{FLOOR_DIV, raise_floor_div},
    RaiseRule{FLOOR_MOD, raise_floor_mod},
    RaiseRule{ADD_N, raise_add_n},
    RaiseRule{ZEROS_LIKE, raise_zeros},
    RaiseRule{FILL, raise_fill},
    RaiseRule{RANK, raise_rank},
    RaiseRule{RANGE, raise_range},
    RaiseRule{L2_NORMALIZATION, raise_l2_normalization},
    RaiseRule{LOCAL_RESPONSE_NORMALIZATION, raise_local_response},
    RaiseRule{CUMSUM, raise_cumulative_sum},
    RaiseRule{SELECT, raise_select},
    RaiseRule{MATRIX_DIAG, raise_diagonal},
    RaiseRule{MATRIX_SET_DIAG, raise_diagonal},
    RaiseRule{BITWISE_XOR, raise_bitwise_xor},
};

}  // namespace

std::span<const RaiseRule> raise_formula_rules() noexcept { return raise_formula_rows; }

}  // namespace quadrant::inline v0::tflite

// What makes one element of all along some axes.
#include <algorithm>
#include <array>

#include "io/tflite/chain.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/rules.hpp"
#include "ir/ops/reductions.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

/// The order of the axes that are left when those of `gone` are not.
Axes without(const Axes& axes, const std::vector<bool>& gone) {
  Axes left;
  for (const std::int32_t axis : axes) {
    if (gone[static_cast<std::size_t>(axis)]) continue;
    left.push_back(axis -
                   static_cast<std::int32_t>(std::count(gone.begin(), gone.begin() + axis, true)));
  }
  return left;
}

Shape reduced(const Shape& shape, const std::vector<bool>& gone, bool keep) {
  std::vector<Extent> extents;
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (!gone[static_cast<std::size_t>(axis)]) {
      extents.push_back(shape[axis]);
    } else if (keep) {
      extents.push_back(1);
    }
  }
  return Shape(std::move(extents));
}

/// Where the axes of `gone` are in a tensor laid out as `axes`.
std::vector<std::int32_t> positions_of(const Axes& axes, const std::vector<bool>& gone) {
  std::vector<std::int32_t> positions;
  for (std::size_t axis = 0; axis < gone.size(); ++axis) {
    if (gone[axis]) positions.push_back(position(axes, static_cast<std::int64_t>(axis)));
  }
  std::ranges::sort(positions);
  return positions;
}

void emit_reduction(Model& model, BuiltinOperator code, TensorId from,
                    const std::vector<std::int32_t>& positions, bool keep, TensorId to) {
  schema::ReducerOptionsT options;
  options.keep_dims = keep;
  model.emit({code}, {from, model.integers(positions)}, {to}, options);
}

void reduce(Lowering& lowering, const NodeRef& node, BuiltinOperator code,
            const std::vector<bool>& gone, bool keep) {
  const Value data = node.operand(0);
  const Shape shape = lowering.ranked(data);
  lowering.settle(node.result(), lowering.type(data).element, reduced(shape, gone, keep));
  const Axes axes = lowering.axes(data);
  const TensorId from = lowering.tensor(data, axes);
  emit_reduction(lowering.model(), code, from, positions_of(axes, gone), keep,
                 lowering.define(node.result(), keep ? axes : without(axes, gone)));
}

/// Which axes the node reduces; empty where it reduces none, and means it.
std::vector<bool> axes_of(const Lowering& lowering, const NodeRef& node) {
  const Shape& shape = lowering.ranked(node.operand(0));
  auto axes = node.attribute_or<std::vector<std::int64_t>>("axes", {});
  if (!node.operand(1).is_absent()) axes = lowering.integers(node.operand(1));
  if (axes.empty() && node.attribute_or<std::int64_t>("noop_with_empty_axes", 0) != 0) return {};
  std::vector<bool> gone(static_cast<std::size_t>(shape.rank()), axes.empty());
  for (const std::int64_t given : axes) {
    const auto axis = normalize_axis(given, shape.rank());
    if (!axis) invalid("an axis outside of the operand");
    gone[static_cast<std::size_t>(*axis)] = true;
  }
  return gone;
}

bool keeps(const NodeRef& node) { return node.attribute_or<std::int64_t>("keepdims", 1) != 0; }

void lower_reduction(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const std::vector<bool> gone = axes_of(lowering, node);
  if (gone.empty()) {
    lowering.settle(node.result(), lowering.type(node.operand(0)).element,
                    lowering.ranked(node.operand(0)));
    lowering.alias(node.result(), node.operand(0));
    return;
  }
  reduce(lowering, node, rule.code, gone, keeps(node));
}

void lower_arg(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const Shape shape = lowering.ranked(data);
  const auto axis = normalize_axis(node.attribute_or<std::int64_t>("axis", 0), shape.rank());
  if (!axis) invalid("an axis outside of the operand");
  if (node.attribute_or<std::int64_t>("select_last_index", 0) != 0) {
    impossible("the last of equal elements");
  }
  const bool keep = node.attribute_or<std::int64_t>("keepdims", 1) != 0;
  std::vector<bool> gone(static_cast<std::size_t>(shape.rank()), false);
  gone[static_cast<std::size_t>(*axis)] = true;
  lowering.settle(node.result(), ElementType::int64, reduced(shape, gone, keep));
  const Axes axes = lowering.axes(data);
  const Axes left = without(axes, gone);
  const TensorId from = lowering.tensor(data, axes);
  const TensorType indices{ElementType::int64, arranged(reduced(shape, gone, false), left),
                           nullptr};
  Model& model = lowering.model();
  const TensorId to =
      keep ? lowering.temporary(node, "indices", indices) : lowering.define(node.result(), left);
  schema::OperatorT& made =
      model.emit({rule.code}, {from, model.integer(position(axes, *axis))}, {to});
  if (rule.code == ARG_MAX) {
    schema::ArgMaxOptionsT options;
    options.output_type = schema::TensorType::INT64;
    made.builtin_options.Set(options);
  } else {
    schema::ArgMinOptionsT options;
    options.output_type = schema::TensorType::INT64;
    made.builtin_options.Set(options);
  }
  if (keep) lowering.reshape(to, lowering.define(node.result(), axes));
}

/// What is done to each element before a sum, and to the sum. CUSTOM: nothing.
struct Sum {
  std::string_view kind;
  BuiltinOperator before = CUSTOM;
  BuiltinOperator after = CUSTOM;
  std::string_view how;
};

constexpr std::array sums{
    Sum{ops::ReduceL1::kind, ABS, CUSTOM, "ABS and SUM"},
    Sum{ops::ReduceL2::kind, MUL, SQRT, "MUL, SUM and SQRT"},
    Sum{ops::ReduceSumSquare::kind, MUL, CUSTOM, "MUL and SUM"},
    Sum{ops::ReduceLogSum::kind, CUSTOM, LOG, "SUM and LOG"},
    Sum{ops::GlobalLpPool::kind, MUL, SQRT, "MUL, SUM and SQRT"},
};

/// A sum of real numbers that are computed from the operand's elements.
struct RealSum {
  std::vector<bool> gone;
  std::vector<std::int32_t> positions;
  bool keep = true;
  Axes axes;         ///< of the operand
  Axes result_axes;  ///< of the result
  Shape shape;       ///< of the operand's tensor
  Shape kept;        ///< the same with extents of 1
  Shape result;      ///< of the result's tensor
  TensorId from = no_tensor;
};

/// The axes of a whole image.
std::vector<bool> spatial_axes(const Lowering& lowering, const NodeRef& node) {
  const std::int64_t rank = lowering.ranked(node.operand(0)).rank();
  if (rank < 3) impossible("an operand that is no image");
  std::vector<bool> gone(static_cast<std::size_t>(rank), true);
  gone[0] = gone[1] = false;
  return gone;
}

void lower_global_pool(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  reduce(lowering, node, rule.code, spatial_axes(lowering, node), true);
}

RealSum real_sum(Lowering& lowering, const NodeRef& node) {
  const Value data = node.operand(0);
  const TensorType type = lowering.type(data);
  if (type.element != ElementType::float32) {
    impossible(fmt::format("computes in {}", to_string(type.element)));
  }
  const bool is_pool = node.kind() == ops::GlobalLpPool::kind;
  if (is_pool && node.attribute_or<std::int64_t>("p", 2) != 2) impossible("a norm other than 2");
  RealSum sum{.gone = is_pool ? spatial_axes(lowering, node) : axes_of(lowering, node),
              .keep = keeps(node)};
  if (sum.gone.empty()) impossible("no axes");
  lowering.settle(node.result(), type.element, reduced(type.shape, sum.gone, sum.keep));
  sum.axes = lowering.axes(data);
  sum.result_axes = sum.keep ? sum.axes : without(sum.axes, sum.gone);
  sum.positions = positions_of(sum.axes, sum.gone);
  sum.shape = arranged(type.shape, sum.axes);
  sum.kept = arranged(reduced(type.shape, sum.gone, true), sum.axes);
  sum.result = arranged(reduced(type.shape, sum.gone, sum.keep), sum.result_axes);
  sum.from = lowering.tensor(data, sum.axes);
  return sum;
}

void lower_sum(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Sum& parts = *std::ranges::find(sums, rule.kind, &Sum::kind);
  const RealSum sum = real_sum(lowering, node);
  lowering.decomposed(node, std::string(parts.how));
  Chain chain(lowering, node, sum.shape);
  TensorId value = sum.from;
  if (parts.before == MUL) value = chain.apply(MUL, {value, value});
  if (parts.before == ABS) value = chain.apply(ABS, {value});
  chain.set_shape(sum.result);
  const TensorId total = chain.next();
  emit_reduction(lowering.model(), SUM, value, sum.positions, sum.keep, total);
  chain.finish(node.result(), parts.after == CUSTOM ? total : chain.apply(parts.after, {total}),
               sum.result_axes);
}

/// The largest element is taken out of the sum, so that no exponential is too large.
void lower_log_sum_exp(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const RealSum sum = real_sum(lowering, node);
  lowering.decomposed(node, "REDUCE_MAX, SUB, EXP, SUM, LOG and ADD");
  Model& model = lowering.model();
  Chain chain(lowering, node, sum.shape);
  const TensorId largest = chain.next(sum.kept);
  emit_reduction(model, REDUCE_MAX, sum.from, sum.positions, true, largest);
  const TensorId powers = chain.apply(EXP, {chain.apply(SUB, {sum.from, largest})});
  chain.set_shape(sum.kept);
  const TensorId total = chain.next();
  emit_reduction(model, SUM, powers, sum.positions, true, total);
  TensorId result = chain.apply(ADD, {chain.apply(LOG, {total}), largest});
  if (!sum.keep) {
    const TensorId narrow = chain.next(sum.result);
    lowering.reshape(result, narrow);
    result = narrow;
  }
  chain.finish(node.result(), result, sum.result_axes);
}

constexpr std::array reduction_rows{
    Rule{.kind = ops::GlobalAveragePool::kind,
         .lower = lower_global_pool,
         .code = MEAN,
         .codes = Codes::all},
    Rule{.kind = ops::GlobalMaxPool::kind,
         .lower = lower_global_pool,
         .code = REDUCE_MAX,
         .codes = Codes::all,
         .same = true},
    Rule{.kind = ops::ReduceMean::kind,
         .lower = lower_reduction,
         .code = MEAN,
         .codes = Codes::all,
         .data = 1},
    Rule{.kind = ops::ReduceSum::kind,
         .lower = lower_reduction,
         .code = SUM,
         .codes = Codes::all,
         .data = 1},
    Rule{.kind = ops::ReduceMax::kind,
         .lower = lower_reduction,
         .code = REDUCE_MAX,
         .codes = Codes::all,
         .data = 1,
         .same = true},
    Rule{.kind = ops::ReduceMin::kind,
         .lower = lower_reduction,
         .code = REDUCE_MIN,
         .codes = Codes::all,
         .data = 1,
         .same = true},
    Rule{.kind = ops::ReduceProd::kind, .lower = lower_reduction, .code = REDUCE_PROD, .data = 1},
    Rule{.kind = ops::ReduceL1::kind, .lower = lower_sum, .data = 1},
    Rule{.kind = ops::ReduceL2::kind, .lower = lower_sum, .data = 1},
    Rule{.kind = ops::ReduceSumSquare::kind, .lower = lower_sum, .data = 1},
    Rule{.kind = ops::ReduceLogSum::kind, .lower = lower_sum, .data = 1},
    Rule{.kind = ops::GlobalLpPool::kind, .lower = lower_sum, .data = 1},
    Rule{.kind = ops::ReduceLogSumExp::kind, .lower = lower_log_sum_exp, .data = 1},
    Rule{.kind = ops::ArgMax::kind, .lower = lower_arg, .code = ARG_MAX, .codes = Codes::operands},
    Rule{.kind = ops::ArgMin::kind, .lower = lower_arg, .code = ARG_MIN, .codes = Codes::operands},
};

}  // namespace

std::span<const Rule> reduction_rules() noexcept { return reduction_rows; }

}  // namespace quadrant::inline v0::tflite

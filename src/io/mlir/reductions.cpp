#include "io/mlir/reductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "io/mlir/failure.hpp"
#include "io/mlir/rules.hpp"
#include "io/mlir/text.hpp"
#include "ir/ops/reductions.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_ir {

Term reduced(LoweredNode& node, const Term& term, std::span<const std::int64_t> axes,
             const Arithmetic& arithmetic, double first) {
  const Shape& shape = term.type.shape;
  const auto loops = static_cast<std::size_t>(shape.rank());
  std::string kinds(loops, 'p');
  for (const std::int64_t axis : axes) kinds[static_cast<std::size_t>(axis)] = 'r';
  std::vector<std::int64_t> kept;
  std::vector<Extent> extents;
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (kinds[static_cast<std::size_t>(axis)] == 'r') continue;
    kept.push_back(axis);
    extents.push_back(shape[axis]);
  }
  const ElementType element = term.type.element;
  const std::array reads{Read{term, identity_map(loops)}};
  return node.loop(reads, node.filled(element, Shape(std::move(extents)), first),
                   map_of_loops(loops, kept), kinds, [&](Region& region) {
                     return region.apply(operation_of(arithmetic, element),
                                         {region.argument(1), region.argument(0)});
                   });
}

Term mean_over(LoweredNode& node, const Term& term, std::span<const std::int64_t> axes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) count *= term.type.shape[axis].value();
  const Term sum = reduced(node, term, axes, addition, 0);
  return node.map(std::array{sum}, sum.type.element, sum.type.shape, [&](Region& region) {
    return region.divide(region.argument(0),
                         region.number(region.argument(0), static_cast<double>(count)));
  });
}

Term with_axes(LoweredNode& node, const Term& term, std::span<const std::int64_t> axes) {
  std::vector<Extent> extents(term.type.shape.extents().begin(), term.type.shape.extents().end());
  for (const std::int64_t axis : axes) extents.insert(extents.begin() + axis, 1);
  return node.reshaped(term, Shape(std::move(extents)));
}

double least_of(ElementType element) {
  if (is_float(element)) return -std::numeric_limits<double>::infinity();
  const auto range = integer_range(element);
  if (!range) impossible(fmt::format("the largest of numbers of type {}", to_string(element)));
  return static_cast<double>(range->min);
}

double most_of(ElementType element) {
  if (is_float(element)) return std::numeric_limits<double>::infinity();
  const auto range = integer_range(element);
  if (!range) impossible(fmt::format("the smallest of numbers of type {}", to_string(element)));
  return static_cast<double>(range->max);
}

namespace {

/// In rising order; all of them where none are named, unless that means that nothing is done.
std::vector<std::int64_t> reduced_axes(const LoweredNode& node) {
  const std::int64_t rank = node.shape(0).rank();
  const auto given = node.list(1, "axes");
  std::vector<std::int64_t> axes;
  if (!given || given->empty()) {
    if (node.attribute_or<std::int64_t>("noop_with_empty_axes", 0) != 0) return {};
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  for (const std::int64_t one : *given) {
    const auto axis = normalize_axis(one, rank);
    if (!axis) invalid("the axes");
    axes.push_back(*axis);
  }
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) invalid("an axis twice");
  return axes;
}

void finish_reduced(LoweredNode& node, const Term& term) {
  node.finish(node.reshaped(term, node.result_shape()));
}

Term squared(LoweredNode& node, const Term& x) {
  return node.together(multiplication, x, x, x.type.shape);
}

void lower_reduce_sum(LoweredNode& node) {
  finish_reduced(node, reduced(node, node.operand(0), reduced_axes(node), addition, 0));
}

void lower_reduce_product(LoweredNode& node) {
  finish_reduced(node, reduced(node, node.operand(0), reduced_axes(node), multiplication, 1));
}

void lower_reduce_mean(LoweredNode& node) {
  finish_reduced(node, mean_over(node, node.operand(0), reduced_axes(node)));
}

void lower_reduce_max(LoweredNode& node) {
  finish_reduced(node, reduced(node, node.operand(0), reduced_axes(node), maximum,
                               least_of(node.result_element())));
}

void lower_reduce_min(LoweredNode& node) {
  finish_reduced(node, reduced(node, node.operand(0), reduced_axes(node), minimum,
                               most_of(node.result_element())));
}

void lower_reduce_squares(LoweredNode& node) {
  const Term x = squared(node, node.operand(0));
  Term sum = reduced(node, x, reduced_axes(node), addition, 0);
  if (node.node().kind() == ops::ReduceL2::kind) {
    if (!is_float(x.type.element)) impossible("a root of integers");
    sum = node.each("math.sqrt", sum);
  }
  finish_reduced(node, sum);
}

void lower_reduce_sizes(LoweredNode& node) {
  const Term x = node.operand(0);
  if (!is_float(x.type.element)) impossible("the sizes of integers");
  finish_reduced(node, reduced(node, node.each("math.absf", x), reduced_axes(node), addition, 0));
}

void lower_reduce_log(LoweredNode& node) {
  const Term x = node.operand(0);
  if (!is_float(x.type.element)) impossible("a logarithm of integers");
  finish_reduced(node, node.each("math.log", reduced(node, x, reduced_axes(node), addition, 0)));
}

/// m + log(sum(exp(x - m))) with m = max(x): no number on the way is too large.
void lower_reduce_log_of_exponents(LoweredNode& node) {
  const Term x = node.operand(0);
  const ElementType element = x.type.element;
  if (!is_float(element)) impossible("a logarithm of integers");
  const std::vector<std::int64_t> axes = reduced_axes(node);
  const Term largest = reduced(node, x, axes, maximum, least_of(element));
  const Term below = node.together(subtraction, x, with_axes(node, largest, axes), x.type.shape);
  const Term sum = reduced(node, node.each("math.exp", below), axes, addition, 0);
  finish_reduced(node,
                 node.together(addition, largest, node.each("math.log", sum), largest.type.shape));
}

constexpr std::array lowered_reductions{
    LowerRule{ops::ReduceL1::kind, lower_reduce_sizes},
    LowerRule{ops::ReduceLogSum::kind, lower_reduce_log},
    LowerRule{ops::ReduceLogSumExp::kind, lower_reduce_log_of_exponents},
    LowerRule{ops::ReduceL2::kind, lower_reduce_squares},
    LowerRule{ops::ReduceMax::kind, lower_reduce_max},
    LowerRule{ops::ReduceMean::kind, lower_reduce_mean},
    LowerRule{ops::ReduceMin::kind, lower_reduce_min},
    LowerRule{ops::ReduceProd::kind, lower_reduce_product},
    LowerRule{ops::ReduceSum::kind, lower_reduce_sum},
    LowerRule{ops::ReduceSumSquare::kind, lower_reduce_squares},
};

}  // namespace

LowerRules reductions_rules() noexcept { return lowered_reductions; }

}  // namespace quadrant::inline v0::mlir_ir

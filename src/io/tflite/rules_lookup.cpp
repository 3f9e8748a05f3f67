// What finds, counts, orders or scatters elements, and what masks them.
#include <algorithm>
#include <array>
#include <limits>

#include "io/tflite/elementwise.hpp"
#include "io/tflite/extents.hpp"
#include "io/tflite/failure.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/reductions.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

/// The one integer of an operand that says how.
std::int64_t single(const Lowering& lowering, Value value) {
  const std::vector<std::int64_t> numbers = lowering.integers(value);
  if (numbers.size() != 1) invalid("a list where one integer is needed");
  return numbers.front();
}

std::int64_t inside_rank(std::int64_t axis, std::int64_t rank) {
  const auto found = normalize_axis(axis, rank);
  if (!found) invalid("an axis outside of the operand");
  return *found;
}

/// The order there is if `axis` is the last one in it, else the plain one with it at the end.
Axes axes_with_last(const Lowering& lowering, Value value, std::int64_t axis) {
  Axes axes = lowering.axes(value);
  if (axes.back() == axis) return axes;
  axes = plain_axes(lowering.shape(value).rank());
  axes.erase(axes.begin() + axis);
  axes.push_back(static_cast<std::int32_t>(axis));
  return axes;
}

void emit_cast(Model& model, TensorId from, TensorId to) {
  schema::CastOptionsT options;
  options.in_data_type = model.tensor(from).type;
  options.out_data_type = model.tensor(to).type;
  model.emit({CAST}, {from}, {to}, options);
}

void lower_cumulative_sum(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const Shape shape = lowering.ranked(data);
  const std::int64_t axis = inside_rank(single(lowering, node.operand(1)), shape.rank());
  lowering.settle(node.result(), lowering.type(data).element, shape);
  const Axes axes = lowering.axes(data);
  const TensorId from = lowering.tensor(data, axes);
  schema::CumsumOptionsT options;
  options.exclusive = node.attribute_or<std::int64_t>("exclusive", 0) != 0;
  options.reverse = node.attribute_or<std::int64_t>("reverse", 0) != 0;
  Model& model = lowering.model();
  const TensorId along = model.integer(position(axes, axis));
  model.emit({rule.code}, {from, along}, {lowering.define(node.result(), axes)}, options);
}

/// The largest along the last axis, in their order; the smallest are the largest of the negatives.
void lower_top(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const TensorType type = lowering.type(data);
  const Shape shape = lowering.ranked(data);
  if (shape.rank() < 1) impossible("an operand without axes");
  const std::int64_t axis = inside_rank(node.attribute_or<std::int64_t>("axis", -1), shape.rank());
  const bool has_operand = !node.operand(1).is_absent();
  const std::int64_t count =
      has_operand ? single(lowering, node.operand(1)) : node.attribute_or<std::int64_t>("k", 0);
  const bool is_smallest = node.attribute_or<std::int64_t>("largest", 1) == 0;
  if (is_smallest && type.element != ElementType::float32) impossible("the smallest of integers");
  std::vector<Extent> extents(shape.extents().begin(), shape.extents().end());
  extents[static_cast<std::size_t>(axis)] = count;
  const Shape found(extents);
  const Value values = node.result(0);
  lowering.settle(values, type.element, found);
  const Axes axes = axes_with_last(lowering, data, axis);
  Model& model = lowering.model();
  TensorId from = lowering.tensor(data, axes);
  const auto temporary = [&](std::string_view what, ElementType element, const Shape& of) {
    return lowering.temporary(node, what, {element, arranged(of, axes), nullptr});
  };
  if (is_smallest) {
    lowering.decomposed(node, "TOPK_V2 of the negatives");
    const TensorId negative = temporary("negative", type.element, shape);
    emit_elementwise(model, NEG, {from}, negative);
    from = negative;
  }
  const TensorId largest =
      is_smallest ? temporary("largest", type.element, found) : lowering.define(values, axes);
  const TensorId places = temporary("places", ElementType::int32, found);
  model.emit({rule.code}, {from, model.integer(static_cast<std::int32_t>(count))},
             {largest, places}, schema::TopKV2OptionsT{});
  if (is_smallest) emit_elementwise(model, NEG, {largest}, lowering.define(values, axes));
  if (lowering.graph().result_count(node.id) > 1) {
    lowering.settle(node.result(1), ElementType::int64, found);
    emit_cast(model, places, lowering.define(node.result(1), axes));
  }
}

/// Indices below 0 count from the end; TFLite knows no such ones.
void lower_one_hot(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value indices = node.operand(0);
  const TensorType type = lowering.type(indices);
  if (!is_integer(type.element)) impossible("indices that are float");
  const Shape shape = lowering.ranked(indices);
  const std::int64_t depth = single(lowering, node.operand(1));
  const std::int64_t axis =
      inside_rank(node.attribute_or<std::int64_t>("axis", -1), shape.rank() + 1);
  const Constant* numbers = lowering.constant(node.operand(2));
  if (!numbers || numbers->element_count() != 2) impossible("values that are computed");
  std::vector<Extent> extents(shape.extents().begin(), shape.extents().end());
  extents.insert(extents.begin() + axis, depth);
  lowering.settle(node.result(), numbers->element(), Shape(std::move(extents)));
  lowering.decomposed(node, "LESS, ADD and SELECT_V2 for indices from the end, and ONE_HOT");
  Model& model = lowering.model();
  const TensorId given = lowering.plain(indices);
  TensorId from = given;
  if (type.element != ElementType::int64) {
    from = lowering.temporary(node, "wide", {ElementType::int64, shape, nullptr});
    emit_cast(model, given, from);
  }
  const auto whole = [&](std::int64_t value) {
    return model.add_constant(
        lowering.name(node, "number"),
        make_zero_points(ElementType::int64, Shape::scalar(), std::span(&value, 1)), nullptr, {});
  };
  const TensorId is_below =
      lowering.temporary(node, "is_below", {ElementType::boolean, shape, nullptr});
  const TensorId moved = lowering.temporary(node, "moved", {ElementType::int64, shape, nullptr});
  const TensorId chosen = lowering.temporary(node, "chosen", {ElementType::int64, shape, nullptr});
  emit_elementwise(model, LESS, {from, whole(0)}, is_below);
  emit_elementwise(model, ADD, {from, whole(depth)}, moved);
  emit_elementwise(model, SELECT_V2, {is_below, moved, from}, chosen);
  const ConstantBytes bytes = value_of(numbers->read());
  const auto half = bytes.bytes().size() / 2;
  const auto number = [&](std::string_view what, std::size_t at) {
    const auto part = bytes.bytes().subspan(at, half);
    return model.add_constant(
        lowering.name(node, what),
        Constant::from_bytes(numbers->element(), Shape::scalar(), {part.begin(), part.end()}),
        nullptr, {});
  };
  const TensorId off = number("off", 0);
  schema::OneHotOptionsT options;
  options.axis = static_cast<std::int32_t>(axis);
  const std::vector<TensorId> operands{chosen, model.integer(static_cast<std::int32_t>(depth)),
                                       number("on", half), off};
  model.emit({rule.code}, operands, {lowering.define(node.result(), plain_axes(shape.rank() + 1))},
             options);
}

void lower_range(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  Tensors operands;
  for (std::size_t i = 0; i < 3; ++i) {
    if (lowering.ranked(node.operand(i)).element_count() != 1) invalid("a limit that is a list");
    TensorId operand = lowering.plain(node.operand(i));
    if (lowering.shape(node.operand(i)).rank() != 0) {
      const TensorId scalar = lowering.temporary(
          node, "limit", {lowering.type(node.operand(i)).element, Shape::scalar(), nullptr});
      lowering.reshape(operand, scalar);
      operand = scalar;
    }
    operands.push_back(operand);
  }
  lowering.settle(node.result(), lowering.type(node.operand(0)).element, Shape{Extent::open()});
  lowering.model().emit({rule.code}, std::move(operands),
                        {lowering.define(node.result(), plain_axes(1))}, schema::RangeOptionsT{});
}

/// WHERE gives a row for each place, ONNX a column.
void lower_places(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const std::int64_t rank = lowering.ranked(node.operand(0)).rank();
  if (rank < 1) impossible("an operand without axes");
  lowering.settle(node.result(), ElementType::int64, Shape{rank, Extent::open()});
  const TensorId from = lowering.plain(node.operand(0));
  const TensorId rows = lowering.temporary(
      node, "places", {ElementType::int64, Shape{Extent::open(), rank}, nullptr});
  lowering.model().emit({rule.code}, {from}, {rows}, schema::WhereOptionsT{});
  lowering.alias(node.result(), rows, {1, 0});
}

/// In the order in which they come first, and where each element is among them.
void lower_unique(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const Shape shape = lowering.ranked(data);
  const auto is_other = [](const Use& use) { return use.result == 1 || use.result == 3; };
  if (node.attribute_or<std::int64_t>("sorted", 1) != 0) impossible("elements that are sorted");
  if (shape.rank() != 1) impossible("elements along several axes");
  if (std::ranges::any_of(lowering.graph().uses(node.id), is_other)) {
    impossible("where elements come first, or how often");
  }
  const TensorId from = lowering.plain(data);
  lowering.settle(node.result(), lowering.type(data).element, Shape{Extent::open()});
  const TensorId found = lowering.define(node.result(), plain_axes(1));
  TensorId places = no_tensor;
  if (lowering.graph().result_count(node.id) > 2) {
    lowering.settle(node.result(2), ElementType::int64, shape);
    places = lowering.define(node.result(2), plain_axes(1));
  } else {
    places = lowering.temporary(node, "places", {ElementType::int64, shape, nullptr});
  }
  schema::UniqueOptionsT options;
  options.idx_out_type = schema::TensorType::INT64;
  lowering.model().emit({rule.code}, {from}, {found, places}, options);
}

/// SCATTER_ND sums into zeros: places that are named once take what is put there.
void lower_scatter(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const TensorType type = lowering.type(data);
  const Shape shape = lowering.ranked(data);
  const Shape where = lowering.ranked(node.operand(1));
  const std::int64_t depth = where.rank() > 0 ? where[where.rank() - 1].value_or(0) : 0;
  if (depth < 1 || depth > shape.rank()) impossible("indices of an unknown depth");
  const auto reduction = node.attribute_or<std::string>("reduction", "none");
  const bool adds = reduction == "add";
  if (!adds && reduction != "none") impossible("reduction " + reduction);
  lowering.settle(node.result(), type.element, shape);
  lowering.decomposed(node,
                      adds ? "SCATTER_ND and ADD" : "SCATTER_ND of the updates and of a mask");
  Model& model = lowering.model();
  const Axes plain = plain_axes(shape.rank());
  const TensorId from = lowering.plain(data);
  const TensorId updates = lowering.plain(node.operand(2));
  const Constant* constant = lowering.constant(node.operand(1));
  if (constant == nullptr) {
    lowering.not_honoured(node, "indices that count from the end");
  } else {
    const auto values = value_of(read_integers(*constant, constant->element_count()));
    if (std::ranges::any_of(values, [](std::int64_t index) { return index < 0; })) {
      impossible("indices that count from the end");
    }
  }
  const TensorId given = lowering.plain(node.operand(1));
  TensorId places = given;
  if (lowering.type(node.operand(1)).element != ElementType::int32) {
    places = lowering.temporary(node, "places", {ElementType::int32, where, nullptr});
    emit_cast(model, given, places);
  }
  const TensorId result = lowering.define(node.result(), plain);
  const TensorId extents = lowering.extents(from, result, plain);
  const auto scattered = [&](std::string_view what, TensorId of, ElementType element) {
    const TensorId to = lowering.temporary(node, what, {element, shape, nullptr});
    model.emit({rule.code}, {places, of, extents}, {to}, schema::ScatterNdOptionsT{});
    return to;
  };
  const TensorId put = scattered("put", updates, type.element);
  if (adds) {
    emit_elementwise(model, ADD, {from, put}, result);
    return;
  }
  const Shape put_shape = lowering.ranked(node.operand(2));
  const auto count = put_shape.element_count();
  constexpr std::int64_t largest = std::int64_t{1} << 24U;
  if (!count || *count > largest) impossible("updates of an unknown number");
  const TensorId ones = model.add_constant(
      lowering.name(node, "ones"),
      Constant::from_bytes(ElementType::boolean, put_shape,
                           std::vector<std::byte>(static_cast<std::size_t>(*count), std::byte{1})),
      nullptr, plain_axes(put_shape.rank()));
  emit_elementwise(model, SELECT_V2, {scattered("mask", ones, ElementType::boolean), put, from},
                   result);
}

void lower_reverse_sequence(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const Shape shape = lowering.ranked(data);
  lowering.settle(node.result(), lowering.type(data).element, shape);
  const Axes axes = lowering.axes(data);
  const TensorId from = lowering.tensor(data, axes);
  const TensorId lengths = lowering.plain(node.operand(1));
  const auto at = [&](std::string_view name, std::int64_t fallback) {
    return position(axes,
                    inside_rank(node.attribute_or<std::int64_t>(name, fallback), shape.rank()));
  };
  schema::ReverseSequenceOptionsT options;
  options.seq_dim = at("time_axis", 0);
  options.batch_dim = at("batch_axis", 1);
  lowering.model().emit({rule.code}, {from, lengths}, {lowering.define(node.result(), axes)},
                        options);
}

/// The product of the extents.
void lower_size(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const Shape shape = lowering.ranked(data);
  lowering.settle(node.result(), ElementType::int64, Shape::scalar());
  if (const auto count = shape.element_count()) {
    const std::int64_t number = *count;
    lowering.define_constant(node.result(), make_zero_points(ElementType::int64, Shape::scalar(),
                                                             std::span(&number, 1)));
    return;
  }
  Model& model = lowering.model();
  const TensorId extents =
      lowering.temporary(node, "extents", {ElementType::int64, Shape{shape.rank()}, nullptr});
  schema::ShapeOptionsT options;
  options.out_type = schema::TensorType::INT64;
  model.emit({SHAPE}, {lowering.plain(data)}, {extents}, options);
  const TensorId first = model.integers({0});
  model.emit({rule.code}, {extents, first}, {lowering.define(node.result(), {})},
             schema::ReducerOptionsT{});
}

/// The upper or lower triangle of matrices; zeros elsewhere.
void lower_triangle(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const TensorType type = lowering.type(data);
  const Shape shape = lowering.ranked(data);
  if (shape.rank() < 2) invalid("an operand that is no matrix");
  const std::int64_t rows = shape[shape.rank() - 2].value_or(-1);
  const std::int64_t columns = shape[shape.rank() - 1].value_or(-1);
  constexpr std::int64_t largest = std::int64_t{1} << 24U;
  if (rows < 0 || columns < 0 || saturating_multiply(rows, columns) > largest) {
    impossible("matrices whose extents are known only at run time");
  }
  const std::int64_t k = node.operand(1).is_absent() ? 0 : single(lowering, node.operand(1));
  const bool is_upper = node.attribute_or<std::int64_t>("upper", 1) != 0;
  std::vector<std::byte> mask;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const std::int64_t diagonal = i % columns - i / columns;
    const bool is_kept = is_upper ? diagonal >= k : diagonal <= k;
    mask.push_back(std::byte{is_kept ? std::uint8_t{1} : std::uint8_t{0}});
  }
  lowering.settle(node.result(), type.element, shape);
  lowering.decomposed(node, "a SELECT_V2 by a constant mask");
  Model& model = lowering.model();
  const TensorId is_inside = model.add_constant(
      lowering.name(node, "mask"),
      Constant::from_bytes(ElementType::boolean, Shape{rows, columns}, std::move(mask)), nullptr,
      plain_axes(2));
  const auto width = static_cast<std::size_t>(byte_width(type.element));
  const TensorId zero =
      model.add_constant(lowering.name(node, "zero"),
                         Constant::from_bytes(type.element, Shape::scalar(),
                                              std::vector<std::byte>(width, std::byte{0})),
                         nullptr, {});
  const TensorId from = lowering.plain(data);
  emit_elementwise(model, rule.code, {is_inside, from, zero},
                   lowering.define(node.result(), plain_axes(shape.rank())));
}

/// No number is the only one that does not equal itself.
void lower_is_nan(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  lowering.settle(node.result(), ElementType::boolean, lowering.ranked(data));
  const Axes axes = lowering.axes(data);
  const TensorId from = lowering.tensor(data, axes);
  emit_elementwise(lowering.model(), rule.code, {from, from}, lowering.define(node.result(), axes));
}

void lower_is_infinite(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const Shape shape = lowering.ranked(data);
  const bool positive = node.attribute_or<std::int64_t>("detect_positive", 1) != 0;
  const bool negative = node.attribute_or<std::int64_t>("detect_negative", 1) != 0;
  if (!positive && !negative) impossible("neither infinity");
  lowering.settle(node.result(), ElementType::boolean, shape);
  const Axes axes = lowering.axes(data);
  TensorId from = lowering.tensor(data, axes);
  Model& model = lowering.model();
  if (positive && negative) {
    const TensorId size =
        lowering.temporary(node, "size", {ElementType::float32, arranged(shape, axes), nullptr});
    emit_elementwise(model, ABS, {from}, size);
    from = size;
  }
  constexpr float infinite = std::numeric_limits<float>::infinity();
  const TensorId wanted = model.real(positive ? infinite : -infinite);
  emit_elementwise(model, rule.code, {from, wanted}, lowering.define(node.result(), axes));
}

constexpr std::array lookup_rows{
    Rule{.kind = ops::CumSum::kind, .lower = lower_cumulative_sum, .code = CUMSUM, .data = 1},
    Rule{.kind = ops::TopK::kind, .lower = lower_top, .code = TOPK_V2, .data = 1},
    Rule{.kind = ops::OneHot::kind, .lower = lower_one_hot, .code = ONE_HOT, .first = 2},
    Rule{.kind = ops::Range::kind, .lower = lower_range, .code = RANGE},
    Rule{.kind = ops::NonZero::kind, .lower = lower_places, .code = WHERE},
    Rule{.kind = ops::Unique::kind, .lower = lower_unique, .code = UNIQUE},
    Rule{.kind = ops::ScatterND::kind, .lower = lower_scatter, .code = SCATTER_ND, .data = 1},
    Rule{.kind = ops::ReverseSequence::kind,
         .lower = lower_reverse_sequence,
         .code = REVERSE_SEQUENCE,
         .data = 1},
    Rule{.kind = ops::Size::kind, .lower = lower_size, .code = REDUCE_PROD, .codes = Codes::any},
    Rule{.kind = ops::Trilu::kind, .lower = lower_triangle, .code = SELECT_V2, .data = 1},
    Rule{.kind = ops::IsNaN::kind, .lower = lower_is_nan, .code = NOT_EQUAL},
    Rule{.kind = ops::IsInf::kind, .lower = lower_is_infinite, .code = EQUAL},
    Rule{.kind = ops::BitwiseXor::kind,
         .lower = lower_broadcasting,
         .code = BITWISE_XOR,
         .elements = 2},
};

}  // namespace

std::span<const Rule> lookup_rules() noexcept { return lookup_rows; }

}  // namespace quadrant::inline v0::tflite

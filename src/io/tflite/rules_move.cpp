// What moves elements, copies them, or leaves some out.
#include <algorithm>
#include <array>
#include <limits>

#include "io/tflite/extents.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/number.hpp"
#include "io/tflite/rules.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/ops.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using enum BuiltinOperator;

std::vector<std::int32_t> narrowed(std::span<const std::int64_t> values) {
  std::vector<std::int32_t> result;
  for (const std::int64_t value : values) {
    constexpr std::int64_t lowest = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t highest = std::numeric_limits<std::int32_t>::max();
    result.push_back(static_cast<std::int32_t>(std::clamp(value, lowest, highest)));
  }
  return result;
}

/// One for each axis of the tensor, from one for each axis of the value.
std::vector<std::int32_t> arranged_list(const std::vector<std::int64_t>& values, const Axes& axes) {
  std::vector<std::int64_t> result;
  for (const std::int32_t axis : axes) result.push_back(values[static_cast<std::size_t>(axis)]);
  return narrowed(result);
}

std::vector<std::int64_t> list_of(const Lowering& lowering, const NodeRef& node,
                                  std::size_t operand, std::string_view attribute) {
  if (!node.operand(operand).is_absent()) return lowering.integers(node.operand(operand));
  return node.attribute_or<std::vector<std::int64_t>>(attribute, {});
}

TensorId int32_of(Lowering& lowering, const NodeRef& node, Value value) {
  const TensorId tensor = lowering.plain(value);
  if (lowering.type(value).element == ElementType::int32) return tensor;
  const TensorId cast =
      lowering.temporary(node, "int32", {ElementType::int32, lowering.ranked(value), nullptr});
  schema::CastOptionsT options;
  options.in_data_type = lowering.model().tensor(tensor).type;
  options.out_data_type = schema::TensorType::INT32;
  lowering.model().emit({CAST}, {tensor}, {cast}, options);
  return cast;
}

// --- the same elements under another shape
// --------------------------------------------------------

/// What a Reshape asks for: an extent, -1 for what is left, or a known or unknown one of `from`.
struct Asked {
  IntegerList extents;
  std::vector<bool> copied;  ///< whether it is the operand's
};

Asked asked_shape(const NodeRef& node, const Shape& from, IntegerList extents) {
  Asked asked{.extents = std::move(extents), .copied = {}};
  const bool copies = node.attribute_or<std::int64_t>("allowzero", 0) == 0;
  for (std::size_t i = 0; i < asked.extents.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    const bool is_copied = copies && asked.extents[i].number == 0 && axis < from.rank();
    asked.copied.push_back(is_copied);
    if (is_copied) {
      const auto number = from[axis].known();
      asked.extents[i] = number ? KnownInteger{.number = number}
                                : KnownInteger{std::nullopt, node.operand(0), axis};
    }
  }
  return asked;
}

/// The shape that operand 1 asks for, where it follows from other shapes in part.
void settle_reshape(Lowering& lowering, const NodeRef& node, const Asked& asked) {
  const Shape from = lowering.ranked(node.operand(0));
  const Shape shape = shape_of(asked.extents);
  std::vector<Extent> extents(shape.extents().begin(), shape.extents().end());
  const auto unknown = std::ranges::count(extents, false, &Extent::is_known);
  if (const auto count = from.element_count(); unknown == 1 && count) {
    Extent& open = *std::ranges::find(extents, false, &Extent::is_known);
    open = 1;
    const std::int64_t others = Shape(extents).element_count().value_or(0);
    open = others > 0 && *count % others == 0 ? Extent(*count / others) : Extent::open();
  }
  lowering.settle(node.result(), lowering.type(node.operand(0)).element, Shape(std::move(extents)));
}

/// For each axis of a reshaped value the one of the operand that it is; `no_axis` for others.
Axes sources_of(const Lowering& lowering, const NodeRef& node, const Asked& asked,
                const Shape& from, const Shape& to) {
  Axes sources(static_cast<std::size_t>(to.rank()), no_axis);
  if (node.kind() == ops::Reshape::kind) {
    for (std::size_t i = 0; i < asked.copied.size() && i < sources.size(); ++i) {
      if (asked.copied[i]) sources[i] = static_cast<std::int32_t>(i);
    }
    return sources;
  }
  if (node.kind() == ops::Flatten::kind) {
    if (node.attribute_or<std::int64_t>("axis", 1) == 1 && to.rank() == 2) sources[0] = 0;
    return sources;
  }
  // Squeeze leaves axes of the operand out, Unsqueeze puts axes in: the others keep their order.
  const bool is_wider = to.rank() > from.rank();
  const std::int64_t rank = std::max(from.rank(), to.rank());
  std::vector<bool> is_named(static_cast<std::size_t>(rank), false);
  for (const std::int64_t given : list_of(lowering, node, 1, "axes")) {
    const auto axis = normalize_axis(given, rank);
    if (axis) is_named[static_cast<std::size_t>(*axis)] = true;
  }
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < is_named.size(); ++axis) {
    if (is_named[axis]) continue;
    if (is_wider) {
      sources[axis] = static_cast<std::int32_t>(next++);
    } else if (next < sources.size()) {
      sources[next++] = static_cast<std::int32_t>(axis);
    }
  }
  return sources;
}

void lower_reshape(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const Value result = node.result();
  const Shape from_shape = lowering.ranked(data);
  const bool is_reshape = node.kind() == ops::Reshape::kind;
  const auto known = is_reshape ? lowering.open_integers(node.operand(1)) : std::nullopt;
  const Asked asked = known ? asked_shape(node, from_shape, *known) : Asked{};
  if (known) settle_reshape(lowering, node, asked);
  const Shape shape = lowering.ranked(result);
  if (const Constant* constant = lowering.constant(data); constant && shape.is_static()) {
    lowering.define_constant(result, constant->reshaped(shape));
    return;
  }
  const Axes plain = plain_axes(shape.rank());
  if (std::ranges::count(shape.extents(), false, &Extent::is_known) <= 1) {
    const TensorId from = lowering.in_plain_order(data);
    lowering.reshape(from, lowering.define(result, plain));
    return;
  }
  const bool has_copies = std::ranges::find(asked.copied, true) != asked.copied.end();
  const TensorId from = lowering.plain(data);
  if (is_reshape && !has_copies) {
    const TensorId extents = int32_of(lowering, node, node.operand(1));
    lowering.model().emit({RESHAPE}, {from, extents}, {lowering.define(result, plain)});
    return;
  }
  lowering.reshape(from, lowering.define(result, plain),
                   sources_of(lowering, node, asked, from_shape, shape));
}

// --- copies -----------------------------------------------------------------------------------

/// A shape of `rank` extents with ones in front, `wide` in all.
TensorId widened_shape(Lowering& lowering, const NodeRef& node, TensorId shape, std::int64_t rank,
                       std::int64_t wide) {
  if (rank == wide) return shape;
  Model& model = lowering.model();
  const std::vector<std::int32_t> ones(static_cast<std::size_t>(wide - rank), 1);
  const TensorId to =
      lowering.temporary(node, "wide_shape", {ElementType::int32, Shape{wide}, nullptr});
  model.emit({CONCATENATION}, {model.integers(ones), shape}, {to}, schema::ConcatenationOptionsT{});
  return to;
}

/// BROADCAST_TO takes the result's shape: of each axis the larger of both extents, of which one may
/// be 1 where only the run tells.
TensorId stretched_shape(Lowering& lowering, const NodeRef& node, TensorId from,
                         std::int64_t rank) {
  const Shape& data = lowering.shape(node.operand(0));
  const Shape& target = lowering.ranked(node.operand(1));
  if (target.rank() != 1 || !target[0].is_known()) impossible("a shape of an unknown rank");
  const TensorId wanted = widened_shape(lowering, node, int32_of(lowering, node, node.operand(1)),
                                        target[0].value(), rank);
  if (data.element_count() == 1) return wanted;
  const TensorType list{ElementType::int32, Shape{data.rank()}, nullptr};
  const TensorId own = lowering.temporary(node, "operand_shape", list);
  Model& model = lowering.model();
  model.emit({SHAPE}, {from}, {own}, int32_shape());
  const TensorId larger =
      lowering.temporary(node, "shape", {ElementType::int32, Shape{rank}, nullptr});
  model.emit({MAXIMUM}, {wanted, widened_shape(lowering, node, own, data.rank(), rank)}, {larger},
             schema::MaximumMinimumOptionsT{});
  return larger;
}

void lower_expand(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  if (const auto known = lowering.open_integers(node.operand(1))) {
    lowering.settle(node.result(), lowering.type(data).element,
                    broadcast_shape(lowering.ranked(data), shape_of(*known)));
  }
  const Shape shape = lowering.ranked(node.result());
  Model& model = lowering.model();
  const TensorId from = lowering.plain(data);
  const TensorId extents = shape.is_static() ? model.integers(narrowed(shape.known_extents()))
                                             : stretched_shape(lowering, node, from, shape.rank());
  model.emit({BROADCAST_TO}, {from, extents},
             {lowering.define(node.result(), plain_axes(shape.rank()))});
}

void lower_tile(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const std::vector<std::int64_t> repeats = lowering.integers(node.operand(1));
  const Shape shape = lowering.ranked(data);
  if (static_cast<std::int64_t>(repeats.size()) != shape.rank()) invalid("repeats of other axes");
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] < 0) invalid("a negative number of repeats");
    extents.push_back(shape.extents()[i].transformed(
        [&](std::int64_t extent) { return saturating_multiply(extent, repeats[i]); }));
  }
  lowering.settle(node.result(), lowering.type(data).element, Shape(std::move(extents)));
  const Axes axes = lowering.axes(data);
  const TensorId from = lowering.tensor(data, axes);
  Model& model = lowering.model();
  const TensorId times = model.integers(arranged_list(repeats, axes));
  model.emit({TILE}, {from, times}, {lowering.define(node.result(), axes)});
}

// --- parts ------------------------------------------------------------------------------------

/// A STRIDED_SLICE along one axis.
struct SlicedAxis {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
  bool to_end = false;             ///< down to the front, with a step backwards
  Extent extent = Extent::open();  ///< of the result
};

/// By the operands. Beside an extent that only the run tells, TFLite counts and limits begin and
/// end as ONNX does.
std::vector<SlicedAxis> open_slices(const Lowering& lowering, const NodeRef& node) {
  const Value data = node.operand(0);
  const Shape& shape = lowering.ranked(data);
  const auto starts = list_of(lowering, node, 1, "starts");
  auto axes = list_of(lowering, node, 3, "axes");
  const auto steps = list_of(lowering, node, 4, "steps");
  IntegerList ends;
  if (!node.operand(2).is_absent()) {
    ends = lowering.open_integers(node.operand(2)).value_or(IntegerList{});
  } else {
    for (const auto end : list_of(lowering, node, 2, "ends")) ends.push_back({.number = end});
  }
  if (axes.empty()) {
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      (!steps.empty() && steps.size() != starts.size())) {
    impossible("starts, ends, axes and steps that are computed, or of different lengths");
  }
  std::vector<SlicedAxis> slices;
  for (const Extent extent : shape.extents()) slices.push_back({.to_end = true, .extent = extent});
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto axis = normalize_axis(axes[i], shape.rank());
    if (!axis) invalid("an axis outside of the operand");
    SlicedAxis& slice = slices[static_cast<std::size_t>(*axis)];
    slice.step = steps.empty() ? 1 : steps[i];
    if (slice.step < 1) impossible("a step backwards beside an unknown extent");
    const bool is_open = is_extent(lowering.graph(), ends[i], data, *axis);
    if (!is_open && !ends[i].number) impossible("an end that is computed");
    slice.begin = starts[i];
    slice.end = is_open ? 0 : *ends[i].number;
    slice.to_end = is_open || slice.end >= std::numeric_limits<std::int32_t>::max();
    if (!slice.extent.is_known()) continue;
    const std::int64_t extent = slice.extent.value();
    const auto inside = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + extent : at, 0, extent);
    };
    slice.begin = inside(slice.begin);
    slice.end = slice.to_end ? extent : inside(slice.end);
    slice.extent =
        std::max<std::int64_t>((slice.end - slice.begin + slice.step - 1) / slice.step, 0);
  }
  return slices;
}

std::vector<SlicedAxis> slices_of(const Lowering& lowering, const NodeRef& node) {
  const auto ranges = ops::Slice{node}.ranges();
  if (!ranges) return open_slices(lowering, node);
  std::vector<SlicedAxis> slices;
  for (const auto& range : *ranges) {
    const std::int64_t end = range.start + range.step * range.count;
    slices.push_back({.begin = range.start,
                      .end = std::max<std::int64_t>(end, 0),
                      .step = range.step,
                      .to_end = end < 0,
                      .extent = range.count});
  }
  return slices;
}

void lower_slice(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const std::vector<SlicedAxis> slices = slices_of(lowering, node);
  std::vector<Extent> extents;
  for (const SlicedAxis& slice : slices) extents.push_back(slice.extent);
  lowering.settle(node.result(), lowering.type(data).element, Shape(std::move(extents)));

  const Axes axes = lowering.axes(data);
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  std::vector<std::int64_t> step;
  schema::StridedSliceOptionsT options;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const SlicedAxis& slice = slices[static_cast<std::size_t>(axes[i])];
    begin.push_back(slice.begin);
    end.push_back(slice.end);
    step.push_back(slice.step);
    if (slice.to_end) options.end_mask |= static_cast<std::int32_t>(1U << i);
  }
  const TensorId from = lowering.tensor(data, axes);
  Model& model = lowering.model();
  const std::vector<TensorId> operands{from, model.integers(narrowed(begin)),
                                       model.integers(narrowed(end)),
                                       model.integers(narrowed(step))};
  model.emit({STRIDED_SLICE}, operands, {lowering.define(node.result(), axes)}, options);
}

void lower_split(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const Shape shape = lowering.ranked(data);
  const ops::Split split{node};
  const auto axis = split.axis();
  const auto parts = split.sizes();
  if (!axis || !parts || parts->empty()) impossible("parts whose sizes are not known");
  const std::uint32_t count = lowering.graph().result_count(node.id);
  if (count != parts->size()) invalid("other results than parts");
  const Axes axes = lowering.axes(data);
  const std::vector<std::int32_t> sizes = narrowed(*parts);
  const TensorId from = lowering.tensor(data, axes);
  Tensors results;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::vector<Extent> extents(shape.extents().begin(), shape.extents().end());
    extents[static_cast<std::size_t>(*axis)] = sizes[i];
    lowering.settle(node.result(i), lowering.type(data).element, Shape(std::move(extents)));
    results.push_back(lowering.define(node.result(i), axes));
  }
  Model& model = lowering.model();
  const TensorId along = model.integer(position(axes, *axis));
  if (std::ranges::adjacent_find(sizes, std::not_equal_to<>()) == sizes.end()) {
    schema::SplitOptionsT options;
    options.num_splits = static_cast<std::int32_t>(count);
    model.emit({SPLIT}, {along, from}, std::move(results), options);
  } else {
    schema::SplitVOptionsT options;
    options.num_splits = static_cast<std::int32_t>(count);
    model.emit({SPLIT_V}, {from, model.integers(sizes), along}, std::move(results), options);
  }
}

void lower_concat(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const std::vector<Value> operands(node.operands().begin(), node.operands().end());
  const auto axis = ops::Concat{node}.axis();
  if (!axis) impossible("an axis that is not known");
  const Shape shape = lowering.ranked(node.result());
  const Axes axes = lowering.common_axes(operands, shape.rank());
  Tensors tensors;
  for (const Value operand : operands) tensors.push_back(lowering.tensor(operand, axes));
  schema::ConcatenationOptionsT options;
  options.axis = position(axes, *axis);
  lowering.model().emit({CONCATENATION}, std::move(tensors), {lowering.define(node.result(), axes)},
                        options);
}

/// Indices, which TFLite wants not to be negative: one after the other along axes of `extents`,
/// which repeat.
TensorId indices_of(Lowering& lowering, const NodeRef& node, Value indices,
                    std::span<const Extent> extents) {
  const Constant* constant = lowering.constant(indices);
  if (!constant) {
    lowering.not_honoured(node, "indices that count from the end");
    return lowering.plain(indices);
  }
  auto values = value_of(read_integers(*constant, constant->element_count()));
  if (std::ranges::none_of(values, [](std::int64_t index) { return index < 0; })) {
    return lowering.plain(indices);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0) continue;
    const auto extent = extents[i % extents.size()].known();
    if (!extent) impossible("indices that count from an end that is not known");
    values[i] += *extent;
  }
  return lowering.model().add_constant(std::string(lowering.graph().value_name(indices)),
                                       Constant::from_values(ElementType::int64, constant->shape(),
                                                             std::span<const std::int64_t>(values)),
                                       nullptr, plain_axes(constant->shape().rank()));
}

void lower_gather(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const Value indices = node.operand(1);
  const Shape shape = lowering.ranked(data);
  const std::int64_t rank = lowering.ranked(indices).rank();
  const auto axis = ops::Gather{node}.axis();
  if (!axis) impossible("an axis that is not known");
  // One dimension of indices takes the place of the axis; others need the plain order.
  const Axes axes = rank == 1 ? lowering.axes(data) : plain_axes(shape.rank());
  const TensorId from = lowering.tensor(data, axes);
  schema::GatherOptionsT options;
  options.axis = position(axes, *axis);
  const TensorId which = indices_of(lowering, node, indices,
                                    shape.extents().subspan(static_cast<std::size_t>(*axis), 1));
  lowering.model().emit(
      {rule.code}, {from, which},
      {lowering.define(node.result(),
                       rank == 1 ? axes : plain_axes(lowering.ranked(node.result()).rank()))},
      options);
}

/// GATHER takes one index along the axis behind those that indices and data share.
void lower_batched_gather(Lowering& lowering, const NodeRef& node, std::int64_t batch) {
  const Value data = node.operand(0);
  const Value indices = node.operand(1);
  const Shape shape = lowering.ranked(data);
  const Shape where = lowering.ranked(indices);
  const std::int64_t rank = where.rank() - 1;
  if (batch < 1 || batch > rank || batch >= shape.rank() || !surely_equal(where[rank], 1)) {
    impossible("batch_dims and indices of several axes");
  }
  std::vector<Extent> list(where.extents().begin(), where.extents().end() - 1);
  std::vector<Extent> extents = list;
  extents.insert(extents.end(), shape.extents().begin() + batch + 1, shape.extents().end());
  lowering.settle(node.result(), lowering.type(data).element, Shape(extents));
  const TensorId from = lowering.plain(data);
  const TensorId given = indices_of(lowering, node, indices,
                                    shape.extents().subspan(static_cast<std::size_t>(batch), 1));
  const TensorId which =
      lowering.temporary(node, "indices", {lowering.type(indices).element, Shape(list), nullptr});
  lowering.reshape(given, which, plain_axes(rank));
  schema::GatherOptionsT options;
  options.axis = static_cast<std::int32_t>(batch);
  options.batch_dims = static_cast<std::int32_t>(batch);
  lowering.model().emit(
      {GATHER}, {from, which},
      {lowering.define(node.result(), plain_axes(static_cast<std::int64_t>(extents.size())))},
      options);
}

void lower_gather_nd(Lowering& lowering, const NodeRef& node, const Rule& rule) {
  const Value data = node.operand(0);
  const Value indices = node.operand(1);
  const auto batch = node.attribute_or<std::int64_t>("batch_dims", 0);
  if (batch != 0) {
    lower_batched_gather(lowering, node, batch);
    return;
  }
  const Shape shape = lowering.ranked(data);
  const Shape where = lowering.ranked(indices);
  const std::int64_t depth = where.rank() > 0 ? where[where.rank() - 1].value_or(0) : 0;
  if (depth < 1 || depth > shape.rank()) impossible("indices of an unknown depth");
  std::vector<Extent> extents(where.extents().begin(), where.extents().end() - 1);
  extents.insert(extents.end(), shape.extents().begin() + depth, shape.extents().end());
  lowering.settle(node.result(), lowering.type(data).element, Shape(std::move(extents)));
  const TensorId from = lowering.plain(data);
  const TensorId which =
      indices_of(lowering, node, indices, shape.extents().first(static_cast<std::size_t>(depth)));
  lowering.model().emit(
      {rule.code}, {from, which},
      {lowering.define(node.result(), plain_axes(lowering.ranked(node.result()).rank()))},
      schema::GatherNdOptionsT{});
}

// --- borders ----------------------------------------------------------------------------------

void lower_pad(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  const TensorType type = lowering.type(data);
  const Shape shape = lowering.ranked(data);
  const auto rank = static_cast<std::size_t>(shape.rank());
  const std::vector<std::int64_t> given = list_of(lowering, node, 1, "pads");
  std::vector<std::int64_t> which(rank);
  for (std::size_t i = 0; i < rank; ++i) which[i] = static_cast<std::int64_t>(i);
  if (!node.operand(3).is_absent()) which = lowering.integers(node.operand(3));
  if (given.size() != 2 * which.size()) invalid("pads of other axes");

  std::vector<std::int64_t> before(rank, 0);
  std::vector<std::int64_t> after(rank, 0);
  std::vector<Extent> extents(shape.extents().begin(), shape.extents().end());
  for (std::size_t i = 0; i < which.size(); ++i) {
    const auto axis = normalize_axis(which[i], shape.rank());
    if (!axis) invalid("an axis outside of the operand");
    const auto at = static_cast<std::size_t>(*axis);
    before[at] = given[i];
    after[at] = given[which.size() + i];
    if (before[at] < 0 || after[at] < 0) impossible("negative pads");
    extents[at] = extents[at].transformed([&](std::int64_t extent) {
      return saturating_add(extent, saturating_add(before[at], after[at]));
    });
  }
  lowering.settle(node.result(), type.element, Shape(std::move(extents)));

  const Axes axes = lowering.axes(data);
  std::vector<std::int64_t> table;
  for (const std::int32_t axis : axes) {
    table.push_back(before[static_cast<std::size_t>(axis)]);
    table.push_back(after[static_cast<std::size_t>(axis)]);
  }
  const std::vector<std::int32_t> pads = narrowed(table);
  Model& model = lowering.model();
  const TensorId from = lowering.tensor(data, axes);
  const TensorId pads_tensor =
      model.add_constant(lowering.name(node, "pads"),
                         Constant::from_values(ElementType::int32, Shape{shape.rank(), 2},
                                               std::span<const std::int32_t>(pads)),
                         nullptr, plain_axes(2));
  const TensorId to = lowering.define(node.result(), axes);
  const auto mode = node.attribute_or<std::string>("mode", "constant");
  if (mode == "reflect") {
    model.emit({MIRROR_PAD}, {from, pads_tensor}, {to}, schema::MirrorPadOptionsT{});
    return;
  }
  if (mode != "constant") impossible(fmt::format("mode {}", mode));
  const Value filling = node.operand(2);
  const bool is_computed = !filling.is_absent() && !lowering.is_free(filling);
  const bool is_plain = !type.is_quantized() && !is_float(type.element);
  if (is_computed || (is_plain && !filling.is_absent())) {
    if (!have_same_parameters(lowering.type(filling), type)) {
      impossible("a filling that is computed, with other parameters than the operand's");
    }
    model.emit({PADV2}, {from, pads_tensor, lowering.plain(filling)}, {to},
               schema::PadV2OptionsT{});
    return;
  }
  const std::vector<float> values =
      filling.is_absent()
          ? std::vector<float>{static_cast<float>(node.attribute_or<double>("value", 0.0))}
          : lowering.reals(filling);
  if (values.size() != 1) invalid("a filling that is not one number");
  if (values.front() == 0.0F) {
    model.emit({PAD}, {from, pads_tensor}, {to}, schema::PadOptionsT{});
    return;
  }
  // Of codes the nearest, as if real values had been padded and then quantized.
  const TensorId value = number_tensor(lowering, node, "filling", type, values.front());
  model.emit({PADV2}, {from, pads_tensor, value}, {to}, schema::PadV2OptionsT{});
}

BuiltinOperator pad_kernel(const Lowering& /*lowering*/, const NodeRef& node) {
  return node.attribute_or<std::string>("mode", "constant") == "reflect" ? MIRROR_PAD : PADV2;
}

// --- shapes -----------------------------------------------------------------------------------

void lower_shape(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const Value data = node.operand(0);
  if (node.graph->attribute(node.id, "start") || node.graph->attribute(node.id, "end")) {
    impossible("a part of a shape that is not known");
  }
  const std::int64_t rank = lowering.ranked(data).rank();
  lowering.settle(node.result(), ElementType::int64, Shape{rank});
  schema::ShapeOptionsT options;
  options.out_type = schema::TensorType::INT64;
  const TensorId from = lowering.plain(data);
  lowering.model().emit({SHAPE}, {from}, {lowering.define(node.result(), plain_axes(1))}, options);
}

/// Of a shape that only the run tells.
void lower_fill(Lowering& lowering, const NodeRef& node, const Constant& value) {
  const Value shape = node.operand(0);
  const Shape& length = lowering.ranked(shape);
  if (const auto known = lowering.open_integers(shape)) {
    lowering.settle(node.result(), value.element(), shape_of(*known));
  } else if (length.rank() == 1 && length[0].is_known()) {
    const std::vector open(static_cast<std::size_t>(length[0].value()), Extent::open());
    lowering.settle(node.result(), value.element(), Shape(open));
  }
  Model& model = lowering.model();
  const Axes axes = plain_axes(lowering.ranked(node.result()).rank());
  const TensorId extents = lowering.plain(shape);
  const TensorId filling = model.add_constant(lowering.name(node, "value"),
                                              value.reshaped(Shape::scalar()), nullptr, {});
  model.emit({FILL}, {extents, filling}, {lowering.define(node.result(), axes)},
             schema::FillOptionsT{});
}

void lower_constant_of_shape(Lowering& lowering, const NodeRef& node, const Rule& /*rule*/) {
  const float zero = 0.0F;
  const auto value = node.attribute_or<Constant>(
      "value", Constant::from_values(ElementType::float32, Shape{1}, std::span(&zero, 1)));
  if (value.element_count() != 1) invalid("a value that is not one number");
  const auto known = lowering.open_integers(node.operand(0));
  if (!known || !shape_of(*known).is_static()) {
    lower_fill(lowering, node, value);
    return;
  }
  const Shape shape = shape_of(*known);
  const auto count = shape.element_count();
  constexpr std::int64_t largest = std::int64_t{1} << 24U;
  if (!count || *count < 0 || *count > largest) impossible("a large constant");
  const ConstantBytes one = value_of(value.read());
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < *count; ++i) {
    bytes.insert(bytes.end(), one.bytes().begin(), one.bytes().end());
  }
  lowering.settle(node.result(), value.element(), shape);
  lowering.define_constant(node.result(),
                           Constant::from_bytes(value.element(), shape, std::move(bytes)));
}

constexpr std::array move_rows{
    Rule{.kind = ops::Reshape::kind,
         .lower = lower_reshape,
         .code = RESHAPE,
         .codes = Codes::all,
         .data = 1,
         .same = true},
    Rule{.kind = ops::Squeeze::kind,
         .lower = lower_reshape,
         .code = RESHAPE,
         .codes = Codes::all,
         .data = 1,
         .same = true},
    Rule{.kind = ops::Unsqueeze::kind,
         .lower = lower_reshape,
         .code = RESHAPE,
         .codes = Codes::all,
         .data = 1,
         .same = true},
    Rule{.kind = ops::Flatten::kind,
         .lower = lower_reshape,
         .code = RESHAPE,
         .codes = Codes::all,
         .same = true},
    Rule{.kind = ops::Expand::kind,
         .lower = lower_expand,
         .code = BROADCAST_TO,
         .codes = Codes::all,
         .data = 1,
         .same = true},
    Rule{.kind = ops::Tile::kind,
         .lower = lower_tile,
         .code = TILE,
         .codes = Codes::all,
         .data = 1,
         .same = true},
    Rule{.kind = ops::Slice::kind,
         .lower = lower_slice,
         .code = STRIDED_SLICE,
         .codes = Codes::all,
         .data = 1,
         .same = true},
    Rule{.kind = ops::Split::kind,
         .lower = lower_split,
         .code = SPLIT,
         .codes = Codes::all,
         .data = 1,
         .same = true},
    Rule{.kind = ops::Concat::kind,
         .lower = lower_concat,
         .code = CONCATENATION,
         .codes = Codes::all,
         .same = true},
    Rule{.kind = ops::Gather::kind,
         .lower = lower_gather,
         .code = GATHER,
         .codes = Codes::all,
         .data = 1,
         .same = true},
    Rule{.kind = ops::GatherND::kind,
         .lower = lower_gather_nd,
         .code = GATHER_ND,
         .codes = Codes::all,
         .data = 1,
         .same = true},
    Rule{.kind = ops::Pad::kind,
         .lower = lower_pad,
         .code = PADV2,
         .codes = Codes::all,
         .data = 1,
         .same = true,
         .as_result = true,
         .kernel = pad_kernel},
    Rule{.kind = ops::ShapeOf::kind, .lower = lower_shape, .codes = Codes::any},
    Rule{.kind = ops::ConstantOfShape::kind, .lower = lower_constant_of_shape, .codes = Codes::any},
};

}  // namespace

std::span<const Rule> move_rules() noexcept { return move_rows; }

}  // namespace quadrant::inline v0::tflite

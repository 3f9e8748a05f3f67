// What moves elements, joins them, or leaves some out.
#include <algorithm>
#include <array>

#include "io/tflite/element.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/lower.hpp"
#include "io/tflite/raise.hpp"
#include "io/tflite/steps.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

/// Axis `axis` of the tensor, counted from the end where it is negative, as one of the value.
std::int64_t value_axis(const Axes& axes, std::int64_t axis) {
  const auto at = normalize_axis(axis, static_cast<std::int64_t>(axes.size()));
  if (!at) invalid(fmt::format("axis {} of {}", axis, axes.size()));
  return axes[static_cast<std::size_t>(*at)];
}

bool raise_transpose(Raising& raising, const RaisedOp& op) {
  const auto perm = raising.integers(op.input(1));
  const TensorId data = op.input(0);
  if (!perm || data == no_tensor) return false;
  std::vector<std::int64_t> sorted = *perm;
  std::ranges::sort(sorted);
  const Axes plain = plain_axes(raising.rank(data));
  if (!std::ranges::equal(sorted, plain)) invalid("a transpose that is no permutation");
  const Axes axes = raising.axes(data);
  Axes result;
  result.reserve(perm->size());
  for (const std::int64_t axis : *perm) result.push_back(axes[static_cast<std::size_t>(axis)]);
  const Value value = raising.value(data, axes);
  if (raising.rank(op.output()) != raising.rank(data)) invalid("a result of another rank");
  const TensorType made = raising.type_of(op.output(), result);
  const TensorType given = raising.type_of(data, axes);
  if (!may_equal(made.shape, given.shape)) invalid("a result of another shape");
  if (!have_same_parameters(made, given)) return false;
  raising.alias(op.output(), value, result);
  return true;
}

/// The axes that SQUEEZE and EXPAND_DIMS are about, of the operand or of the result. Empty where
/// the operator does not say.
std::vector<std::int64_t> changed_axes(const Raising& raising, const RaisedOp& op) {
  if (op.code == BuiltinOperator::EXPAND_DIMS) {
    return raising.integers(op.input(1)).value_or(std::vector<std::int64_t>{});
  }
  const auto* options = op.op->builtin_options_as_SqueezeOptions();
  if (!options || !options->squeeze_dims()) return {};
  return {options->squeeze_dims()->begin(), options->squeeze_dims()->end()};
}

/// RESHAPE, SQUEEZE and EXPAND_DIMS: the result's shape says what happens, or else the operand that
/// only the run tells.
bool raise_reshape(Raising& raising, const RaisedOp& op) {
  if (op.input(0) == no_tensor) return false;
  const Shape& shape = raising.type(op.output()).shape;
  const Axes plain = plain_axes(shape.rank());
  const std::string name = raising.name(op.output());
  const auto extents = ops::Reshape::request(shape);
  if (!extents && op.code != BuiltinOperator::RESHAPE) {
    const auto axes = changed_axes(raising, op);
    if (axes.empty()) return false;
    const bool is_squeeze = op.code == BuiltinOperator::SQUEEZE;
    raising.add(is_squeeze ? ops::Squeeze::kind : ops::Unsqueeze::kind,
                {meant_as(raising, op), raising.integer_constant(name + "_axes", axes)},
                op.output(), plain);
    return true;
  }
  if (!extents && op.input(1) == no_tensor) return false;
  const Value target = extents ? raising.integer_constant(name + "_shape", *extents)
                               : raising.wide_integers(op.input(1), op.output());
  // 0 means an extent of 0, as in a file of TFLite.
  const bool has_zero = !extents || std::ranges::find(*extents, 0) != extents->end();
  raising.add(ops::Reshape::kind, {meant_as(raising, op), target}, op.output(), plain,
              has_zero ? Attributes{{"allowzero", std::int64_t{1}}} : Attributes{});
  return true;
}

bool raise_concatenation(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_ConcatenationOptions();
  if (!options || op.input_count() == 0) return false;
  // In the order of the first operand that is computed, where all have its rank.
  const std::int64_t rank = raising.rank(op.output());
  Axes axes = plain_axes(rank);
  for (std::size_t i = op.input_count(); i-- > 0;) {
    const TensorId id = op.input(i);
    if (id == no_tensor || raising.rank(id) != rank) return false;
    if (!raising.is_free(id)) axes = raising.axes(id);
  }
  std::vector<Value> operands;
  operands.reserve(op.input_count());
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    operands.push_back(raising.value(op.input(i), axes));
  }
  raising.add_activated(ops::Concat::kind, std::move(operands), op.output(), axes,
                        options->fused_activation_function(),
                        {{"axis", value_axis(axes, options->axis())}});
  return true;
}

/// Elements that SYMMETRIC mirrors, with those at the border, along an axis of `extent`.
std::vector<std::int64_t> mirrored(std::int64_t extent, std::int64_t before, std::int64_t after) {
  std::vector<std::int64_t> which;
  for (std::int64_t at = -before; at < extent + after; ++at) {
    const std::int64_t from_front = at < 0 ? -at - 1 : at;
    which.push_back(at < extent ? from_front : 2 * extent - at - 1);
  }
  return which;
}

/// MIRROR_PAD that repeats the border: one axis after the other.
bool raise_symmetric_pad(Raising& raising, const RaisedOp& op,
                         const std::vector<std::int64_t>& table) {
  const Shape shape = raising.type(op.input(0)).shape;
  const auto before_axis = [&](std::int64_t axis) {
    return table[static_cast<std::size_t>(2 * axis)];
  };
  const auto after_axis = [&](std::int64_t axis) {
    return table[static_cast<std::size_t>(2 * axis + 1)];
  };
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis].value_or(-1) < std::max(before_axis(axis), after_axis(axis)) &&
        (before_axis(axis) != 0 || after_axis(axis) != 0)) {
      return false;
    }
  }
  Steps steps(raising, op.output());
  Value value = meant_as(raising, op);
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t before = before_axis(axis);
    const std::int64_t after = after_axis(axis);
    if (before == 0 && after == 0) continue;
    value = steps.apply(ops::Gather::kind,
                        {value, steps.integers(mirrored(shape[axis].value(), before, after))},
                        {{"axis", axis}});
  }
  steps.finish(ops::Identity::kind, {value});
  return true;
}

bool raise_pad(Raising& raising, const RaisedOp& op) {
  const TensorId data = op.input(0);
  const auto table = raising.integers(op.input(1));
  if (!table || data == no_tensor) return false;
  const Axes axes = raising.axes(data);
  const std::size_t rank = axes.size();
  if (table->size() != 2 * rank) invalid("pads of other axes");
  if (std::ranges::any_of(*table, [](std::int64_t pad) { return pad < 0; })) {
    invalid("negative pads");
  }
  std::vector<std::int64_t> pads(2 * rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    pads[axis] = (*table)[2 * i];
    pads[rank + axis] = (*table)[2 * i + 1];
  }
  const bool reflects = op.code == BuiltinOperator::MIRROR_PAD;
  if (reflects) {
    const auto* options = op.op->builtin_options_as_MirrorPadOptions();
    if (!options) return false;
    if (options->mode() == schema::MirrorPadMode::SYMMETRIC) {
      return raise_symmetric_pad(raising, op, *table);
    }
  }
  std::vector<Value> operands{raising.value(data, axes),
                              raising.integer_constant(raising.name(op.output()) + "_pads", pads)};
  if (op.code == BuiltinOperator::PADV2) {
    const TensorId filling = op.input(2);
    if (filling == no_tensor || raising.type(filling).shape.element_count() != 1) return false;
    Value value = raising.plain(filling);
    if (raising.rank(filling) != 0) {  // ONNX wants a single number
      Steps steps(raising, op.output());
      const Constant* number = raising.graph().constant(value.node);
      value = number && !raising.type(filling).is_quantized()
                  ? steps.constant(number->reshaped(Shape::scalar()))
                  : steps.reshape(value, {});
    }
    operands.push_back(value);
  }
  raising.add(ops::Pad::kind, std::move(operands), op.output(), axes,
              {{"mode", std::string(reflects ? "reflect" : "constant")}});
  return true;
}

bool raise_split(Raising& raising, const RaisedOp& op) {
  const bool has_sizes = op.code == BuiltinOperator::SPLIT_V;
  const TensorId data = op.input(has_sizes ? 0 : 1);
  const auto axis = raising.integers(op.input(has_sizes ? 2 : 0));
  if (!axis || axis->size() != 1 || data == no_tensor) return false;
  const Axes axes = raising.axes(data);
  const std::int64_t along = value_axis(axes, axis->front());
  std::vector<std::int64_t> sizes;
  std::vector<ResultSpec> results;
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    if (raising.rank(op.output(i)) != raising.rank(data)) invalid("parts of another rank");
    const TensorType part = raising.type_of(op.output(i), axes);
    if (!part.shape[along].is_known()) return false;
    sizes.push_back(part.shape[along].value());
    results.push_back({raising.name(op.output(i)), part});
  }
  const Value sizes_value = raising.integer_constant(raising.name(op.output()) + "_sizes", sizes);
  const NodeId made = raising.graph().add({.kind = std::string(ops::Split::kind),
                                           .operands = {raising.value(data, axes), sizes_value},
                                           .results = std::move(results),
                                           .attributes = {{"axis", along}}});
  for (std::uint32_t i = 0; i < op.output_count(); ++i) {
    raising.alias(op.output(i), {made, i}, axes);
  }
  return true;
}

constexpr std::int64_t far = std::int64_t{1} << 31U;

/// What a slice does along axes of its operand, in their order.
struct RaisedSlice {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> dropped;  ///< axes of the operand that the result has not
  std::vector<std::int64_t> added;    ///< axes of the result that are new
};

bool has_bit(std::int32_t mask, std::size_t i) { return ((mask >> i) & 1) != 0; }

/// Where an axis of a STRIDED_SLICE starts and ends. A mask says which bounds do not count, another
/// one that the axis is one element alone.
struct SliceBounds {
  std::int64_t start = 0;
  std::int64_t end = 0;
};

std::optional<SliceBounds> slice_bounds(const schema::StridedSliceOptions& options, std::size_t i,
                                        SliceBounds stated, std::int64_t step) {
  const bool has_no_start = has_bit(options.begin_mask(), i);
  if (has_bit(options.shrink_axis_mask(), i)) {
    if (has_no_start || step != 1) return std::nullopt;
    return SliceBounds{stated.start, stated.start == -1 ? far : stated.start + 1};
  }
  if (has_no_start) stated.start = step < 0 ? far : 0;
  if (has_bit(options.end_mask(), i)) stated.end = step < 0 ? -far : far;
  return stated;
}

/// STRIDED_SLICE's lists and masks, for an operand of rank `rank`; empty where they do not fit it.
std::optional<RaisedSlice> strided_slice(const Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_StridedSliceOptions();
  const auto starts = raising.integers(op.input(1));
  const auto ends = raising.integers(op.input(2));
  const auto steps = raising.integers(op.input(3));
  if (!options || !starts || !ends || !steps || options->offset() ||
      starts->size() != ends->size() || starts->size() != steps->size() || starts->size() > 32) {
    return std::nullopt;
  }
  const auto rank = raising.rank(op.input(0));
  std::int64_t named = 0;  // axes of the operand that have an entry
  for (std::size_t i = 0; i < starts->size(); ++i) {
    named += has_bit(options->ellipsis_mask(), i) || has_bit(options->new_axis_mask(), i) ? 0 : 1;
  }
  if (named > rank) return std::nullopt;
  RaisedSlice slice;
  std::int64_t axis = 0;
  std::int64_t result_axis = 0;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    if (has_bit(options->ellipsis_mask(), i)) {
      axis += rank - named;
      result_axis += rank - named;
      continue;
    }
    if (has_bit(options->new_axis_mask(), i)) {
      slice.added.push_back(result_axis++);
      continue;
    }
    const std::int64_t step = (*steps)[i];
    const auto bounds = slice_bounds(*options, i, {(*starts)[i], (*ends)[i]}, step);
    if (!bounds) return std::nullopt;
    if (has_bit(options->shrink_axis_mask(), i)) {
      slice.dropped.push_back(axis);
    } else {
      ++result_axis;
    }
    slice.starts.push_back(bounds->start);
    slice.ends.push_back(bounds->end);
    slice.steps.push_back(step);
    slice.axes.push_back(axis++);
  }
  return slice;
}

void add_slice(Raising& raising, const RaisedOp& op, const RaisedSlice& slice) {
  const std::string name = raising.name(op.output());
  const bool keeps_rank = slice.dropped.empty() && slice.added.empty();
  const Axes axes = keeps_rank ? raising.axes(op.input(0)) : plain_axes(raising.rank(op.input(0)));
  std::vector<std::int64_t> which;
  which.reserve(slice.axes.size());
  for (const std::int64_t axis : slice.axes) which.push_back(value_axis(axes, axis));
  std::vector<Value> operands{raising.value(op.input(0), axes),
                              raising.integer_constant(name + "_starts", slice.starts),
                              raising.integer_constant(name + "_ends", slice.ends),
                              raising.integer_constant(name + "_axes", which),
                              raising.integer_constant(name + "_steps", slice.steps)};
  if (keeps_rank) {
    raising.add(ops::Slice::kind, std::move(operands), op.output(), axes);
    return;
  }
  Steps steps(raising, op.output());
  operands.front() = meant_as(raising, op);
  Value value = steps.apply(ops::Slice::kind, std::move(operands));
  if (!slice.dropped.empty() && !slice.added.empty()) {
    value = steps.apply(ops::Squeeze::kind, {value, steps.integers(slice.dropped)});
  }
  const bool is_wider = !slice.added.empty();
  steps.finish(is_wider ? ops::Unsqueeze::kind : ops::Squeeze::kind,
               {value, steps.integers(is_wider ? slice.added : slice.dropped)});
}

bool raise_strided_slice(Raising& raising, const RaisedOp& op) {
  if (op.input(0) == no_tensor) return false;
  const auto slice = strided_slice(raising, op);
  if (!slice) return false;
  const auto count = [](const std::vector<std::int64_t>& axes) {
    return static_cast<std::int64_t>(axes.size());
  };
  if (raising.rank(op.output()) !=
      raising.rank(op.input(0)) - count(slice->dropped) + count(slice->added)) {
    return false;
  }
  add_slice(raising, op, *slice);
  return true;
}

/// SLICE: from where, and how many elements; -1 is all that are left.
bool raise_slice(Raising& raising, const RaisedOp& op) {
  const TensorId data = op.input(0);
  const auto starts = raising.integers(op.input(1));
  const auto sizes = raising.integers(op.input(2));
  if (data == no_tensor || !starts || !sizes ||
      starts->size() != static_cast<std::size_t>(raising.rank(data)) ||
      sizes->size() != starts->size() || raising.rank(op.output()) != raising.rank(data)) {
    return false;
  }
  RaisedSlice slice{.starts = *starts};
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    slice.ends.push_back((*sizes)[i] < 0 ? far : (*starts)[i] + (*sizes)[i]);
    slice.axes.push_back(static_cast<std::int64_t>(i));
    slice.steps.push_back(1);
  }
  add_slice(raising, op, slice);
  return true;
}

/// REVERSE_V2
bool raise_reverse(Raising& raising, const RaisedOp& op) {
  const TensorId data = op.input(0);
  const auto axes = raising.integers(op.input(1));
  if (data == no_tensor || !axes || raising.rank(op.output()) != raising.rank(data)) return false;
  RaisedSlice slice;
  for (const std::int64_t axis : *axes) {
    slice.starts.push_back(-1);
    slice.ends.push_back(-far);
    slice.axes.push_back(axis);
    slice.steps.push_back(-1);
  }
  add_slice(raising, op, slice);
  return true;
}

/// One axis more, along which the operands are joined.
bool raise_pack(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_PackOptions();
  if (!options || op.input_count() == 0) return false;
  const TensorId output = op.output();
  const auto axis = normalize_axis(options->axis(), raising.rank(output));
  if (!axis) invalid(fmt::format("axis {} of {}", options->axis(), raising.rank(output)));
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (op.input(i) == no_tensor || raising.rank(op.input(i)) + 1 != raising.rank(output) ||
        !have_same_parameters(raising.type(op.input(i)), raising.type(output))) {
      return false;
    }
  }
  Steps steps(raising, output);
  const Value axes = steps.integers({*axis});
  std::vector<Value> operands;
  operands.reserve(op.input_count());
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    operands.push_back(steps.apply(ops::Unsqueeze::kind, {raising.plain(op.input(i)), axes}));
  }
  steps.finish(ops::Concat::kind, std::move(operands), {{"axis", *axis}});
  return true;
}

/// The parts along an axis, which they do not have.
bool raise_unpack(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_UnpackOptions();
  const TensorId data = op.input(0);
  if (!options || data == no_tensor) return false;
  const auto axis = normalize_axis(options->axis(), raising.rank(data));
  if (!axis) invalid(fmt::format("axis {} of {}", options->axis(), raising.rank(data)));
  const auto count = static_cast<std::int64_t>(op.output_count());
  if (!may_equal(raising.type(data).shape[*axis], count)) invalid("other results than parts");
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    if (raising.rank(op.output(i)) + 1 != raising.rank(data) ||
        !have_same_parameters(raising.type(op.output(i)), raising.type(data))) {
      return false;
    }
  }
  Steps first(raising, op.output());
  const Value axes = first.integers({*axis});
  const Value sizes = first.integers(std::vector<std::int64_t>(op.output_count(), 1));
  TensorType part = raising.type(data);
  std::vector<Extent> extents(part.shape.extents().begin(), part.shape.extents().end());
  extents[static_cast<std::size_t>(*axis)] = 1;
  part.shape = Shape(std::move(extents));
  std::vector<ResultSpec> results;
  results.reserve(op.output_count());
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    results.push_back({raising.name(op.output(i)) + "_part", part});
  }
  const NodeId split = raising.graph().add({.kind = std::string(ops::Split::kind),
                                            .operands = {raising.plain(data), sizes},
                                            .results = std::move(results),
                                            .attributes = {{"axis", *axis}}});
  for (std::uint32_t i = 0; i < op.output_count(); ++i) {
    Steps(raising, op.output(i)).finish(ops::Squeeze::kind, {Value{split, i}, axes});
  }
  return true;
}

/// ONNX counts the axes that indices and data share where it gathers along the next.
bool raise_batched_gather(Raising& raising, const RaisedOp& op,
                          const schema::GatherOptions& options) {
  const auto batch = normalize_axis(options.batch_dims(), raising.rank(op.input(1)) + 1);
  const auto axis = normalize_axis(options.axis(), raising.rank(op.input(0)));
  if (!batch || batch != axis || raising.rank(op.input(1)) < *batch) return false;
  Steps steps(raising, op.output());
  const Value indices = steps.unsqueeze(raising.wide_integers(op.input(1), op.output()), {-1});
  steps.finish(ops::GatherND::kind, {meant_as(raising, op), indices}, {{"batch_dims", *batch}});
  return true;
}

bool raise_gather(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_GatherOptions();
  const TensorId data = op.input(0);
  const TensorId indices = op.input(1);
  if (!options || data == no_tensor || indices == no_tensor) return false;
  if (options->batch_dims() != 0) return raise_batched_gather(raising, op, *options);
  const bool is_list = raising.rank(indices) == 1;
  const Axes axes = is_list ? raising.axes(data) : plain_axes(raising.rank(data));
  const Axes result = is_list ? axes : plain_axes(raising.rank(op.output()));
  if (result.size() != static_cast<std::size_t>(raising.rank(op.output()))) return false;
  raising.add(ops::Gather::kind, {raising.value(data, axes), raising.plain(indices)}, op.output(),
              result, {{"axis", value_axis(axes, options->axis())}});
  return true;
}

bool raise_gather_nd(Raising& raising, const RaisedOp& op) {
  if (op.input(0) == no_tensor || op.input(1) == no_tensor) return false;
  raising.add(ops::GatherND::kind,
              {raising.plain(op.input(0)), raising.wide_integers(op.input(1), op.output())},
              op.output(), plain_axes(raising.rank(op.output())));
  return true;
}

bool raise_tile(Raising& raising, const RaisedOp& op) {
  const TensorId data = op.input(0);
  const auto repeats = raising.integers(op.input(1));
  if (data == no_tensor || !repeats || raising.rank(op.output()) != raising.rank(data)) {
    return false;
  }
  const Axes axes = raising.axes(data);
  if (repeats->size() != axes.size()) invalid("repeats of other axes");
  std::vector<std::int64_t> arranged_repeats(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    arranged_repeats[static_cast<std::size_t>(axes[i])] = (*repeats)[i];
  }
  const Value list =
      raising.integer_constant(raising.name(op.output()) + "_repeats", arranged_repeats);
  raising.add(ops::Tile::kind, {raising.value(data, axes), list}, op.output(), axes);
  return true;
}

bool raise_broadcast(Raising& raising, const RaisedOp& op) {
  const auto shape = raising.integers(op.input(1));
  if (op.input(0) == no_tensor || !shape) return false;
  if (Shape(*shape) != raising.type(op.output()).shape) return false;
  const Value target = raising.integer_constant(raising.name(op.output()) + "_shape", *shape);
  raising.add(ops::Expand::kind, {raising.plain(op.input(0)), target}, op.output(),
              plain_axes(raising.rank(op.output())));
  return true;
}

bool raise_shape(Raising& raising, const RaisedOp& op) {
  if (op.input(0) == no_tensor || raising.rank(op.output()) != 1) return false;
  return raising.add_wide(ops::ShapeOf::kind, {raising.plain(op.input(0))}, op.output());
}

constexpr std::array raise_move_rows{
    RaiseRule{BuiltinOperator::TRANSPOSE, raise_transpose},
    RaiseRule{BuiltinOperator::RESHAPE, raise_reshape},
    RaiseRule{BuiltinOperator::SQUEEZE, raise_reshape},
    RaiseRule{BuiltinOperator::EXPAND_DIMS, raise_reshape},
    RaiseRule{BuiltinOperator::CONCATENATION, raise_concatenation},
    RaiseRule{BuiltinOperator::PAD, raise_pad},
    RaiseRule{BuiltinOperator::PADV2, raise_pad},
    RaiseRule{BuiltinOperator::MIRROR_PAD, raise_pad},
    RaiseRule{BuiltinOperator::SPLIT, raise_split},
    RaiseRule{BuiltinOperator::SPLIT_V, raise_split},
    RaiseRule{BuiltinOperator::STRIDED_SLICE, raise_strided_slice},
    RaiseRule{BuiltinOperator::SLICE, raise_slice},
    RaiseRule{BuiltinOperator::REVERSE_V2, raise_reverse},
    RaiseRule{BuiltinOperator::PACK, raise_pack},
    RaiseRule{BuiltinOperator::UNPACK, raise_unpack},
    RaiseRule{BuiltinOperator::GATHER, raise_gather},
    RaiseRule{BuiltinOperator::GATHER_ND, raise_gather_nd},
    RaiseRule{BuiltinOperator::TILE, raise_tile},
    RaiseRule{BuiltinOperator::BROADCAST_TO, raise_broadcast},
    RaiseRule{BuiltinOperator::SHAPE, raise_shape},
};

}  // namespace

Value meant_as(Raising& raising, const RaisedOp& op) {
  const Value codes = raising.plain(op.input(0));
  const TensorType& source = raising.type(op.input(0));
  const TensorType& result = raising.type(op.output());
  const auto to = uniform_of(result.quantization);
  const auto from = GivenForm::of(uniform_of(source.quantization));
  const auto wanted = GivenForm::of(to);
  // Several scales go where their elements go, but for a RESHAPE that is a label alone.
  const bool moves_nothing = op.code == BuiltinOperator::RESHAPE && source.shape == result.shape;
  const bool is_same = from == wanted || (wanted && !wanted->is_per_tensor() && !moves_nothing);
  return is_same ? codes : raising.relabelled(codes, to, raising.name(op.output()));
}

std::span<const RaiseRule> raise_move_rules() noexcept { return raise_move_rows; }

}  // namespace quadrant::inline v0::tflite

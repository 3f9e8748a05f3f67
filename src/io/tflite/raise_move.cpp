// What moves elements, joins them, or leaves some out.
#include <algorithm>
#include <array>

#include "io/tflite/failure.hpp"
#include "io/tflite/lower.hpp"
#include "io/tflite/raise.hpp"
#include "quadrant/ir/given_form.hpp"
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
  if (made.shape != given.shape) invalid("a result of another shape");
  if (!have_same_parameters(made, given)) return false;
  raising.alias(op.output(), value, result);
  return true;
}

/// RESHAPE, SQUEEZE and EXPAND_DIMS: the result's shape says what happens.
// Kernels that move codes copy them, whatever the tensors say that these mean.
Value meant_as(Raising& raising, const RaisedOp& op) {
  const Value codes = raising.plain(op.input(0));
  const auto& to = raising.type(op.output()).quantization;
  const auto from = GivenForm::of(raising.type(op.input(0)).quantization);
  const auto wanted = GivenForm::of(to);
  const bool is_same = from == wanted || (wanted && !wanted->is_per_tensor());
  return is_same ? codes : raising.relabelled(codes, to, raising.name(op.output()));
}

bool raise_reshape(Raising& raising, const RaisedOp& op) {
  if (op.input(0) == no_tensor) return false;
  const Shape& shape = raising.type(op.output()).shape;
  const auto extents = ops::Reshape::request(shape);
  // 0 would mean the operand's extent; more than one unknown is computed.
  if (!extents || std::ranges::count(*extents, 0) > 0) return false;
  const Value target = raising.integer_constant(raising.name(op.output()) + "_shape", *extents);
  raising.add(ops::Reshape::kind, {meant_as(raising, op), target}, op.output(),
              plain_axes(shape.rank()));
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
    if (!raising.is_constant(id)) axes = raising.axes(id);
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

bool raise_pad(Raising& raising, const RaisedOp& op) {
  const TensorId data = op.input(0);
  const auto table = raising.integers(op.input(1));
  if (!table || data == no_tensor) return false;
  const Axes axes = raising.axes(data);
  const std::size_t rank = axes.size();
  if (table->size() != 2 * rank) invalid("pads of other axes");
  std::vector<std::int64_t> pads(2 * rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    pads[axis] = (*table)[2 * i];
    pads[rank + axis] = (*table)[2 * i + 1];
  }
  if (std::ranges::any_of(pads, [](std::int64_t pad) { return pad < 0; })) {
    invalid("negative pads");
  }
  std::vector<Value> operands{raising.value(data, axes),
                              raising.integer_constant(raising.name(op.output()) + "_pads", pads)};
  const bool reflects = op.code == BuiltinOperator::MIRROR_PAD;
  if (reflects) {
    const auto* options = op.op->builtin_options_as_MirrorPadOptions();
    if (!options || options->mode() != schema::MirrorPadMode::REFLECT) return false;
  }
  if (op.code == BuiltinOperator::PADV2) {
    if (op.input(2) == no_tensor || raising.rank(op.input(2)) != 0) return false;
    operands.push_back(raising.plain(op.input(2)));
  }
  raising.add("onnx.Pad", std::move(operands), op.output(), axes,
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
                                           .name = {},
                                           .operands = {raising.value(data, axes), sizes_value},
                                           .results = std::move(results),
                                           .attributes = {{"axis", along}},
                                           .constant = {}});
  for (std::uint32_t i = 0; i < op.output_count(); ++i) {
    raising.alias(op.output(i), {made, i}, axes);
  }
  return true;
}

bool raise_strided_slice(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_StridedSliceOptions();
  const TensorId data = op.input(0);
  auto starts = raising.integers(op.input(1));
  auto ends = raising.integers(op.input(2));
  const auto steps = raising.integers(op.input(3));
  if (!options || data == no_tensor || !starts || !ends || !steps ||
      options->ellipsis_mask() != 0 || options->new_axis_mask() != 0 ||
      options->shrink_axis_mask() != 0 || options->offset()) {
    return false;
  }
  const Axes axes = raising.axes(data);
  if (starts->size() != axes.size() || ends->size() != axes.size() ||
      steps->size() != axes.size() || raising.rank(op.output()) != raising.rank(data)) {
    return false;
  }
  constexpr std::int64_t far = std::int64_t{1} << 31U;
  std::vector<std::int64_t> which;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto bit = [&](std::int32_t mask) { return ((mask >> i) & 1) != 0; };
    const bool backwards = (*steps)[i] < 0;
    if (bit(options->begin_mask())) (*starts)[i] = backwards ? far : 0;
    if (bit(options->end_mask())) (*ends)[i] = backwards ? -far : far;
    which.push_back(axes[i]);
  }
  const std::string name = raising.name(op.output());
  raising.add(ops::Slice::kind,
              {raising.value(data, axes), raising.integer_constant(name + "_starts", *starts),
               raising.integer_constant(name + "_ends", *ends),
               raising.integer_constant(name + "_axes", which),
               raising.integer_constant(name + "_steps", *steps)},
              op.output(), axes);
  return true;
}

bool raise_gather(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_GatherOptions();
  const TensorId data = op.input(0);
  const TensorId indices = op.input(1);
  if (!options || options->batch_dims() != 0 || data == no_tensor || indices == no_tensor) {
    return false;
  }
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
  raising.add("onnx.GatherND",
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
  raising.add("onnx.Tile", {raising.value(data, axes), list}, op.output(), axes);
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
  return raising.add_wide("onnx.Shape", {raising.plain(op.input(0))}, op.output());
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
    RaiseRule{BuiltinOperator::GATHER, raise_gather},
    RaiseRule{BuiltinOperator::GATHER_ND, raise_gather_nd},
    RaiseRule{BuiltinOperator::TILE, raise_tile},
    RaiseRule{BuiltinOperator::BROADCAST_TO, raise_broadcast},
    RaiseRule{BuiltinOperator::SHAPE, raise_shape},
};

}  // namespace

std::span<const RaiseRule> raise_move_rules() noexcept { return raise_move_rows; }

}  // namespace quadrant::inline v0::tflite

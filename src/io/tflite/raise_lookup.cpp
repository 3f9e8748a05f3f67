// What finds, counts or scatters elements by indices.
#include <algorithm>
#include <array>
#include <numeric>

#include "io/tflite/failure.hpp"
#include "io/tflite/lower.hpp"
#include "io/tflite/steps.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/reductions.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

bool has_codes(const Raising& raising, const RaisedOp& op) {
  const auto is_code = [&](TensorId id) {
    return id != no_tensor && raising.type(id).is_quantized();
  };
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (is_code(op.input(i))) return true;
  }
  return is_code(op.output());
}

/// Whether the operator has that many operands, none of which is missing or holds codes.
bool is_plain(const Raising& raising, const RaisedOp& op, std::size_t count) {
  if (op.input_count() != count || has_codes(raising, op)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (op.input(i) == no_tensor) return false;
  }
  return true;
}

Value filled(Steps& steps, Value shape, const Raising& raising, TensorId like) {
  const ElementType element = raising.type(like).element;
  const auto width = static_cast<std::size_t>(byte_width(element));
  const Constant zero =
      Constant::from_bytes(element, Shape{1}, std::vector<std::byte>(width, std::byte{0}));
  return steps.apply(ops::ConstantOfShape::kind, {shape}, {{"value", zero}},
                     {element, raising.type(like).shape, nullptr});
}

/// The values are the file's; ONNX's places are int64.
bool raise_top(Raising& raising, const RaisedOp& op) {
  if (op.input_count() != 2 || op.output_count() != 2 || op.input(0) == no_tensor ||
      op.input(1) == no_tensor || raising.type(op.input(1)).shape.element_count() != 1 ||
      raising.type(op.output(1)).element != ElementType::int32 ||
      !have_same_parameters(raising.type(op.input(0)), raising.type(op.output()))) {
    return false;
  }
  Steps steps(raising, op.output());
  const auto known = raising.integers(op.input(1));
  const Value count = known ? steps.integers(*known)
                            : steps.reshape(raising.wide_integers(op.input(1), op.output()), {1});
  TensorType places = raising.type(op.output(1));
  places.element = ElementType::int64;
  const NodeId made =
      raising.graph().add({.kind = std::string(ops::TopK::kind),
                           .operands = {raising.plain(op.input(0)), count},
                           .results = {{raising.name(op.output()), raising.type(op.output())},
                                       {raising.name(op.output(1)) + "_i64", places}}});
  raising.alias(op.output(), {made}, plain_axes(raising.rank(op.output())));
  Steps(raising, op.output(1))
      .finish(ops::Cast::kind, {Value{made, 1}}, {{"to", element_type_number(ElementType::int32)}});
  return true;
}

/// One of two numbers, as each index of the new axis is the one that is asked for or not.
bool raise_one_hot(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_OneHotOptions();
  const auto depth = raising.integers(op.input(1));
  constexpr std::int64_t deepest = 1 << 16;
  if (!options || !is_plain(raising, op, 4) || !depth || depth->size() != 1 || depth->front() < 0 ||
      depth->front() > deepest) {
    return false;
  }
  const std::int64_t rank = raising.rank(op.output());
  const auto axis = normalize_axis(options->axis(), rank);
  if (!axis || raising.rank(op.input(0)) + 1 != rank) return false;
  std::vector<std::int64_t> places(static_cast<std::size_t>(depth->front()));
  std::iota(places.begin(), places.end(), 0);
  std::vector<std::int64_t> extents(static_cast<std::size_t>(rank - *axis), 1);
  extents.front() = depth->front();
  Steps steps(raising, op.output());
  const Value along =
      steps.constant(make_zero_points(raising.type(op.input(0)).element, Shape(extents), places));
  const Value asked = steps.unsqueeze(raising.plain(op.input(0)), {*axis});
  const Value is_asked = steps.apply(ops::Equal::kind, {asked, along});
  steps.finish(ops::Where::kind,
               {is_asked, raising.plain(op.input(2)), raising.plain(op.input(3))});
  return true;
}

bool raise_embedding(Raising& raising, const RaisedOp& op) {
  const TensorId indices = op.input(0);
  const TensorId rows = op.input(1);
  if (op.input_count() != 2 || indices == no_tensor || rows == no_tensor) return false;
  // Of codes in blocks, the kernel gives real values.
  const TensorType& type = raising.type(rows);
  const bool has_blocks = granularity_of(type.quantization).kind == Granularity::Kind::block &&
                          raising.type(op.output()).element == ElementType::float32 &&
                          !raising.type(op.output()).is_quantized() &&
                          !raising.type(indices).is_quantized();
  if (!has_blocks && !is_plain(raising, op, 2)) return false;
  Value table = raising.plain(rows);
  if (has_blocks) table = raising.real_value(table);
  raising.add(ops::Gather::kind, {table, raising.plain(indices)}, op.output(),
              plain_axes(raising.rank(op.output())), {{"axis", std::int64_t{0}}});
  return true;
}

/// WHERE of one operand: the places of what is not zero, a row each.
bool raise_places(Raising& raising, const RaisedOp& op) {
  if (!is_plain(raising, op, 1) || raising.type(op.output()).element != ElementType::int64) {
    return false;
  }
  Steps steps(raising, op.output());
  const std::int64_t rank = raising.rank(op.input(0));
  const Value found = steps.apply(ops::NonZero::kind, {raising.plain(op.input(0))}, {},
                                  {ElementType::int64, Shape{rank, Extent::open()}, nullptr});
  steps.finish(ops::Transpose::kind, {found}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  return true;
}

/// In the order in which they come first, and where each element is among them.
bool raise_unique(Raising& raising, const RaisedOp& op) {
  if (!is_plain(raising, op, 1) || op.output_count() != 2) return false;
  // ONNX Runtime has it for int64 alone.
  const TensorType& given = raising.type(op.output());
  const bool is_narrow = given.element == ElementType::int32;
  Steps steps(raising, op.output());
  Value data = raising.plain(op.input(0));
  if (is_narrow) data = steps.cast(data, ElementType::int64);
  TensorType found = given;
  if (is_narrow) found.element = ElementType::int64;
  const TensorType& places = raising.type(op.output(1));
  const TensorType wide{ElementType::int64, places.shape, nullptr};
  const bool is_wide = places.element == ElementType::int64;
  const std::string name = raising.name(op.output(1));
  const NodeId made = raising.graph().add(
      {.kind = std::string(ops::Unique::kind),
       .operands = {data},
       .results = {{raising.name(op.output()) + (is_narrow ? "_i64" : ""), found},
                   {name + "_first", {ElementType::int64, {}, nullptr}},
                   {is_wide ? name : name + "_i64", wide}},
       .attributes = {{"sorted", std::int64_t{0}}}});
  if (is_narrow) {
    steps.finish(ops::Cast::kind, {Value{made}}, {{"to", element_type_number(given.element)}});
  } else {
    raising.alias(op.output(), {made}, plain_axes(raising.rank(op.output())));
  }
  if (is_wide) {
    raising.alias(op.output(1), {made, 2}, plain_axes(raising.rank(op.output(1))));
  } else {
    Steps(raising, op.output(1))
        .finish(ops::Cast::kind, {Value{made, 2}}, {{"to", element_type_number(places.element)}});
  }
  return true;
}

/// Sums of what goes to one place, and 0 elsewhere.
bool raise_scatter(Raising& raising, const RaisedOp& op) {
  if (!is_plain(raising, op, 3) || raising.type(op.output()).element == ElementType::boolean) {
    return false;
  }
  Steps steps(raising, op.output());
  const Value shape = raising.wide_integers(op.input(2), op.output());
  steps.finish(
      ops::ScatterND::kind,
      {filled(steps, shape, raising, op.output()),
       steps.cast(raising.plain(op.input(0)), ElementType::int64), raising.plain(op.input(1))},
      {{"reduction", std::string("add")}});
  return true;
}

/// SEGMENT_SUM, of as many segments as the result has.
bool raise_segments(Raising& raising, const RaisedOp& op) {
  if (!is_plain(raising, op, 2) || !raising.type(op.output()).shape.is_static()) return false;
  const auto extents = raising.type(op.output()).shape.known_extents();
  Steps steps(raising, op.output());
  const Value shape = steps.integers({extents.begin(), extents.end()});
  const Value segments = steps.cast(raising.plain(op.input(1)), ElementType::int64);
  steps.finish(ops::ScatterND::kind,
               {filled(steps, shape, raising, op.output()), steps.unsqueeze(segments, {-1}),
                raising.plain(op.input(0))},
               {{"reduction", std::string("add")}});
  return true;
}

/// Numbers at some places of a tensor of others.
bool raise_sparse_to_dense(Raising& raising, const RaisedOp& op) {
  if (!is_plain(raising, op, 4)) return false;
  const std::int64_t rank = raising.rank(op.input(0));
  if (rank < 1 || rank > 2 || raising.rank(op.input(2)) != 1 || raising.rank(op.input(3)) != 0 ||
      raising.rank(op.output()) < 1) {
    return false;
  }
  Steps steps(raising, op.output());
  const Value shape = raising.wide_integers(op.input(1), op.output());
  const Value others = steps.apply(ops::Expand::kind, {raising.plain(op.input(3)), shape});
  Value places = steps.cast(raising.plain(op.input(0)), ElementType::int64);
  if (rank == 1) places = steps.unsqueeze(places, {-1});
  steps.finish(ops::ScatterND::kind, {others, places, raising.plain(op.input(2))});
  return true;
}

/// DYNAMIC_UPDATE_SLICE: a block of the operand is replaced, moved such that it lies within it.
bool raise_update(Raising& raising, const RaisedOp& op) {
  if (!is_plain(raising, op, 3)) return false;
  const Shape& shape = raising.type(op.input(0)).shape;
  const Shape& block = raising.type(op.input(1)).shape;
  constexpr std::int64_t most = 1 << 16;
  const auto count = block.element_count();
  if (!shape.is_static() || !count || shape.rank() != block.rank() || shape.rank() < 1 ||
      *count * shape.rank() > most) {
    return false;
  }
  std::vector<std::int64_t> last;  // where the block may begin
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    last.push_back(shape[axis].value() - block[axis].value());
    if (last.back() < 0) invalid("a block that is larger than the operand");
  }
  std::vector<std::int64_t> grid;
  const std::vector<std::int64_t> strides = block.strides();
  for (std::int64_t i = 0; i < *count; ++i) {
    for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
      grid.push_back(i / strides[static_cast<std::size_t>(axis)] % block[axis].value());
    }
  }
  std::vector<Extent> extents(block.extents().begin(), block.extents().end());
  extents.emplace_back(shape.rank());
  Steps steps(raising, op.output());
  Value start = raising.wide_integers(op.input(2), op.output());
  const Value zero = steps.constant(make_zero_points(ElementType::int64, Shape{shape.rank()},
                                                     std::vector<std::int64_t>(last.size(), 0)));
  start = steps.apply(ops::Max::kind, {start, zero});
  start = steps.apply(ops::Min::kind, {start, steps.integers(last)});
  const Value places =
      steps.constant(make_zero_points(ElementType::int64, Shape(std::move(extents)), grid));
  steps.finish(ops::ScatterND::kind,
               {raising.plain(op.input(0)), steps.apply(ops::Add::kind, {places, start}),
                raising.plain(op.input(1))});
  return true;
}

/// How many of the boundaries, which ascend, are not larger.
bool raise_buckets(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_BucketizeOptions();
  if (!options || !options->boundaries() || !is_plain(raising, op, 1) ||
      raising.type(op.input(0)).element != ElementType::float32) {
    return false;
  }
  const std::vector<float> bounds(options->boundaries()->begin(), options->boundaries()->end());
  Steps steps(raising, op.output());
  const Value list = steps.constant(
      Constant::from_values(ElementType::float32, Shape{static_cast<std::int64_t>(bounds.size())},
                            std::span<const float>(bounds)));
  const Value below =
      steps.apply(ops::Less::kind, {steps.unsqueeze(raising.plain(op.input(0)), {-1}), list});
  const Value counted = steps.cast(steps.apply(ops::Not::kind, {below}), ElementType::int32);
  steps.finish(ops::ReduceSum::kind, {counted, steps.integers({-1})},
               {{"keepdims", std::int64_t{0}}});
  return true;
}

/// The batch is axis 0 and time axis 1 in ONNX, whichever they are in the file.
bool raise_reverse_sequence(Raising& raising, const RaisedOp& op) {
  const auto* options = op.op->builtin_options_as_ReverseSequenceOptions();
  if (!options || !is_plain(raising, op, 2)) return false;
  const std::int64_t rank = raising.rank(op.input(0));
  const auto time = normalize_axis(options->seq_dim(), rank);
  const auto batch = normalize_axis(options->batch_dim(), rank);
  if (!time || !batch || time == batch || raising.rank(op.output()) != rank) return false;
  Axes axes(static_cast<std::size_t>(rank));
  std::int32_t next = 2;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    std::int32_t& to = axes[static_cast<std::size_t>(axis)];
    if (axis == *time) {
      to = 1;
    } else {
      to = axis == *batch ? 0 : next++;
    }
  }
  raising.add(ops::ReverseSequence::kind,
              {raising.value(op.input(0), axes), raising.wide_integers(op.input(1), op.output())},
              op.output(), axes, {{"batch_axis", std::int64_t{0}}, {"time_axis", std::int64_t{1}}});
  return true;
}

constexpr std::array raise_lookup_rows{
    RaiseRule{BuiltinOperator::TOPK_V2, raise_top},
    RaiseRule{BuiltinOperator::ONE_HOT, raise_one_hot},
    RaiseRule{BuiltinOperator::EMBEDDING_LOOKUP, raise_embedding},
    RaiseRule{BuiltinOperator::WHERE, raise_places},
    RaiseRule{BuiltinOperator::UNIQUE, raise_unique},
    RaiseRule{BuiltinOperator::SCATTER_ND, raise_scatter},
    RaiseRule{BuiltinOperator::SEGMENT_SUM, raise_segments},
    RaiseRule{BuiltinOperator::SPARSE_TO_DENSE, raise_sparse_to_dense},
    RaiseRule{BuiltinOperator::DYNAMIC_UPDATE_SLICE, raise_update},
    RaiseRule{BuiltinOperator::BUCKETIZE, raise_buckets},
    RaiseRule{BuiltinOperator::REVERSE_SEQUENCE, raise_reverse_sequence},
};

}  // namespace

std::span<const RaiseRule> raise_lookup_rules() noexcept { return raise_lookup_rows; }

}  // namespace quadrant::inline v0::tflite

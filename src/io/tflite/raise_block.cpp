// Blocks of an image that become a batch, and back.
#include <array>

#include "io/tflite/failure.hpp"
#include "io/tflite/steps.hpp"
#include "ir/ops/windows.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

using Integers = std::vector<std::int64_t>;

/// An operator's block, and what is padded before it or cropped behind it.
struct Blocks {
  Integers sizes;  ///< one for each axis from the second on
  Integers before;
  Integers after;
  std::int64_t count = 1;  ///< blocks that one image becomes
};

/// Empty where the operator is another: of codes with a scale for each index of an axis, of extents
/// that are not known.
std::optional<Blocks> blocks_of(const Raising& raising, const RaisedOp& op) {
  const TensorId data = op.input(0);
  const auto sizes = raising.integers(op.input(1));
  const auto borders = raising.integers(op.input(2));
  if (data == no_tensor || !sizes || !borders || sizes->empty()) return std::nullopt;
  const Shape& shape = raising.type(data).shape;
  const auto spatial = static_cast<std::int64_t>(sizes->size());
  if (borders->size() != 2 * sizes->size() || spatial >= shape.rank()) return std::nullopt;
  if (raising.rank(op.output()) != shape.rank()) return std::nullopt;
  const Granularity groups = granularity_of(raising.type(data).quantization);
  if (groups.kind != Granularity::Kind::tensor) return std::nullopt;
  for (std::int64_t axis = 1; axis < shape.rank(); ++axis) {
    if (!shape[axis].is_known()) return std::nullopt;
  }
  Blocks blocks{.sizes = *sizes, .before = {}, .after = {}};
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    constexpr std::int64_t largest = 1 << 16;
    if ((*sizes)[i] < 1 || (*sizes)[i] > largest || (*borders)[2 * i] < 0 ||
        (*borders)[2 * i + 1] < 0 || blocks.count > largest) {
      invalid("blocks or borders of no extent");
    }
    blocks.before.push_back((*borders)[2 * i]);
    blocks.after.push_back((*borders)[2 * i + 1]);
    blocks.count *= (*sizes)[i];
  }
  return blocks;
}

/// An extent times a number; -1, what is left, where it is not known.
std::int64_t times(Extent given, std::int64_t count) {
  return given.transformed([&](std::int64_t extent) { return extent * count; }).value_or(-1);
}

/// Each block's elements go to the batch: N, H/b, b, W/b, b, C to b, b, N, H/b, W/b, C.
bool raise_space_to_batch(Raising& raising, const RaisedOp& op) {
  const auto blocks = blocks_of(raising, op);
  if (!blocks) return false;
  const Shape shape = raising.type(op.input(0)).shape;
  const auto spatial = static_cast<std::int64_t>(blocks->sizes.size());
  const std::int64_t rank = shape.rank();
  Integers pads(static_cast<std::size_t>(2 * rank), 0);
  Integers parts{times(shape[0], 1)};
  Integers result{times(shape[0], blocks->count)};
  Integers perm;
  for (std::int64_t i = 0; i < spatial; ++i) perm.push_back(2 * i + 2);
  perm.push_back(0);
  TensorType padded = raising.type(op.output());
  std::vector<Extent> extents(shape.extents().begin(), shape.extents().end());
  for (std::int64_t i = 0; i < spatial; ++i) {
    const auto at = static_cast<std::size_t>(i);
    pads[at + 1] = blocks->before[at];
    pads[at + 1 + static_cast<std::size_t>(rank)] = blocks->after[at];
    const std::int64_t extent = extents[at + 1].value() + blocks->before[at] + blocks->after[at];
    extents[at + 1] = extent;
    const std::int64_t block = blocks->sizes[at];
    if (extent % block != 0) invalid("an image that is no whole number of blocks");
    parts.insert(parts.end(), {extent / block, block});
    result.push_back(extent / block);
    perm.push_back(2 * i + 1);
  }
  for (std::int64_t axis = spatial + 1; axis < rank; ++axis) {
    parts.push_back(shape[axis].value());
    result.push_back(parts.back());
    perm.push_back(axis + spatial);
  }
  padded.shape = Shape(std::move(extents));
  Steps steps(raising, op.output());
  Value value = meant_as(raising, op);
  if (std::ranges::any_of(pads, [](std::int64_t pad) { return pad != 0; })) {
    value = steps.apply(ops::Pad::kind, {value, steps.integers(pads)}, {}, padded);
  }
  value = steps.apply(ops::Transpose::kind, {steps.reshape(value, parts)}, {{"perm", perm}});
  steps.finish(ops::Reshape::kind, {value, steps.integers(result)});
  return true;
}

/// The other way: b, b, N, H, W, C to N, H, b, W, b, C.
bool raise_batch_to_space(Raising& raising, const RaisedOp& op) {
  const auto blocks = blocks_of(raising, op);
  if (!blocks) return false;
  const Shape shape = raising.type(op.input(0)).shape;
  const auto spatial = static_cast<std::int64_t>(blocks->sizes.size());
  if (shape[0].value_or(0) % blocks->count != 0) invalid("a batch that is no number of blocks");
  const std::int64_t batch = shape[0].is_known() ? shape[0].value() / blocks->count : -1;
  Integers parts = blocks->sizes;
  parts.push_back(batch);
  Integers result{batch};
  Integers perm{spatial};
  Integers starts;
  Integers ends;
  Integers axes;
  for (std::int64_t i = 0; i < spatial; ++i) {
    const auto at = static_cast<std::size_t>(i);
    parts.push_back(shape[i + 1].value());
    result.push_back(parts.back() * blocks->sizes[at]);
    perm.insert(perm.end(), {spatial + 1 + i, i});
    starts.push_back(blocks->before[at]);
    ends.push_back(result.back() - blocks->after[at]);
    if (ends.back() < starts.back()) invalid("borders that leave nothing");
    axes.push_back(i + 1);
  }
  for (std::int64_t axis = spatial + 1; axis < shape.rank(); ++axis) {
    parts.push_back(shape[axis].value());
    result.push_back(parts.back());
    perm.push_back(axis + spatial);
  }
  Steps steps(raising, op.output());
  Value value = steps.reshape(meant_as(raising, op), parts);
  value = steps.apply(ops::Transpose::kind, {value}, {{"perm", perm}});
  value = steps.reshape(value, result);
  steps.finish(ops::Slice::kind,
               {value, steps.integers(starts), steps.integers(ends), steps.integers(axes)});
  return true;
}

constexpr std::array raise_block_rows{
    RaiseRule{BuiltinOperator::SPACE_TO_BATCH_ND, raise_space_to_batch},
    RaiseRule{BuiltinOperator::BATCH_TO_SPACE_ND, raise_batch_to_space},
};

}  // namespace

std::span<const RaiseRule> raise_block_rules() noexcept { return raise_block_rows; }

}  // namespace quadrant::inline v0::tflite

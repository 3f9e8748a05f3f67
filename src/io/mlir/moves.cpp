// What moves elements and leaves each as it is.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "io/mlir/failure.hpp"
#include "io/mlir/rules.hpp"
#include "io/mlir/text.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_ir {
namespace {

void lower_identity(LoweredNode& node) { node.finish(node.operand(0)); }

void lower_dropout(LoweredNode& node) {
  if (node.has(2)) impossible("the mode of training");
  lower_identity(node);
}

void lower_reshape(LoweredNode& node) {
  node.finish(node.reshaped(node.operand(0), node.result_shape()));
}

void lower_transpose(LoweredNode& node) {
  const std::vector<std::int64_t> perm = ops::Transpose{node.node()}.perm();
  const Term x = node.operand(0);
  if (static_cast<std::int64_t>(perm.size()) != x.type.shape.rank()) invalid("the axes");
  node.finish(perm.empty() ? x : node.transposed(x, perm));
}

void lower_expand(LoweredNode& node) {
  node.finish(node.expanded(node.operand(0), node.result_shape()));
}

/// The elements at start + step * index along each axis.
Term strided(LoweredNode& node, const Term& term, std::span<const ops::Slice::Range> ranges) {
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> extents;
  for (const ops::Slice::Range& range : ranges) {
    offsets.push_back(range.start);
    steps.push_back(range.step);
    extents.push_back(range.count);
  }
  const Shape shape(extents);
  if (std::ranges::all_of(steps, [](std::int64_t step) { return step > 0; })) {
    return node.slice(term, offsets, shape, steps);
  }
  return node.map({}, term.type.element, shape, [&](Region& region) {
    std::vector<std::string> indices;
    indices.reserve(steps.size());
    for (std::size_t axis = 0; axis < steps.size(); ++axis) {
      indices.push_back(region.moved_index(region.index(axis), offsets[axis], steps[axis]));
    }
    return region.extract(term.name, term.type_text, term.type.element, indices);
  });
}

void lower_slice(LoweredNode& node) {
  const auto ranges = ops::Slice{node.node()}.ranges();
  if (!ranges) impossible("a slice whose bounds are computed");
  node.finish(strided(node, node.operand(0), *ranges));
}

void lower_split(LoweredNode& node) {
  const ops::Split split{node.node()};
  const auto axis = split.axis();
  const auto offsets = split.offsets();
  if (!axis || !offsets) impossible("a split whose sizes are computed");
  const Term x = node.operand(0);
  const std::vector<std::int64_t> steps(static_cast<std::size_t>(x.type.shape.rank()), 1);
  for (std::uint32_t i = 0; i < offsets->size(); ++i) {
    std::vector<std::int64_t> starts(steps.size(), 0);
    starts[static_cast<std::size_t>(*axis)] = (*offsets)[i];
    node.finish(node.slice(x, starts, node.result_type(i).shape, steps), i);
  }
}

void lower_concat(LoweredNode& node) {
  const auto axis = ops::Concat{node.node()}.axis();
  if (!axis) invalid("the axis");
  Term result = node.empty(node.result_element(), node.result_shape());
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(node.result_shape().rank()), 0);
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Term part = node.operand(i);
    result = node.inserted(part, result, offsets);
    offsets[static_cast<std::size_t>(*axis)] += part.type.shape[*axis].value();
  }
  node.finish(result);
}

/// Negative pads take elements away.
void lower_pad(LoweredNode& node) {
  const auto mode = node.attribute_or<std::string>("mode", "constant");
  if (mode != "constant") impossible(fmt::format("the mode {}", printable(mode)));
  const auto given = node.list(1, node.opset() < 2 ? "paddings" : "pads");
  Term x = node.operand(0);
  const auto rank = static_cast<std::size_t>(x.type.shape.rank());
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.list(3, "axes").value_or(axes);
  if (!given || given->size() != 2 * axes.size()) invalid("the pads");
  constexpr std::int64_t most = std::int64_t{1} << 40U;
  for (const std::int64_t pad : *given) {
    if (pad < -most || pad > most) impossible("pads beyond 2^40");
  }
  std::vector<std::int64_t> before(rank, 0);
  std::vector<std::int64_t> after(rank, 0);
  std::vector<std::int64_t> starts(rank, 0);
  std::vector<std::int64_t> kept(x.type.shape.known_extents().begin(),
                                 x.type.shape.known_extents().end());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = normalize_axis(axes[i], x.type.shape.rank());
    if (!axis) invalid("the axes");
    const auto at = static_cast<std::size_t>(*axis);
    before[at] = std::max<std::int64_t>((*given)[i], 0);
    after[at] = std::max<std::int64_t>((*given)[i + axes.size()], 0);
    starts[at] = std::max<std::int64_t>(-(*given)[i], 0);
    kept[at] -= starts[at] + std::max<std::int64_t>(-(*given)[i + axes.size()], 0);
  }
  if (std::ranges::any_of(kept, [](std::int64_t extent) { return extent < 0; })) {
    impossible("pads that take away more than there is");
  }
  const std::vector<std::int64_t> steps(rank, 1);
  x = node.slice(x, starts, Shape(kept), steps);
  node.finish(node.padded(x, before, after, node.real(2, "value").value_or(0)));
}

void lower_tile(LoweredNode& node) {
  const Term x = node.operand(0);
  const Shape& shape = x.type.shape;
  // [A, B] repeated along B: [A, 1, B] stretched to [A, n, B], and the same for each axis.
  std::vector<std::int64_t> spread;
  std::vector<std::int64_t> stretched;
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t extent = shape[axis].value();
    if (extent == 0) impossible("a tensor without elements repeated");
    spread.insert(spread.end(), {1, extent});
    stretched.insert(stretched.end(), {node.result_shape()[axis].value() / extent, extent});
  }
  const Term copies = node.expanded(node.reshaped(x, Shape(spread)), Shape(stretched));
  node.finish(node.reshaped(copies, node.result_shape()));
}

/// Data at indices, which may count from the end, along one axis.
void lower_gather(LoweredNode& node) {
  const auto axis = ops::Gather{node.node()}.axis();
  if (!axis) invalid("the axis");
  const Term data = node.operand(0);
  const Term indices = node.operand(1);
  const std::int64_t index_rank = indices.type.shape.rank();
  const auto loops = static_cast<std::size_t>(node.result_shape().rank());
  std::vector<std::int64_t> index_loops(static_cast<std::size_t>(index_rank));
  std::iota(index_loops.begin(), index_loops.end(), *axis);
  const Read read{indices, map_of_loops(loops, index_loops)};
  const Term into = node.empty(data.type.element, node.result_shape());
  node.finish(node.loop(
      std::array{read}, into, identity_map(loops), std::string(loops, 'p'), [&](Region& region) {
        std::vector<std::string> at;
        for (std::int64_t i = 0; i < data.type.shape.rank(); ++i) {
          if (i == *axis) {
            at.push_back(region.index_of(region.argument(0), data.type.shape[*axis].value()));
          } else {
            const std::int64_t loop = i < *axis ? i : i + index_rank - 1;
            at.push_back(region.index(static_cast<std::size_t>(loop)));
          }
        }
        return region.extract(data.name, data.type_text, data.type.element, at);
      }));
}

/// Channels in blocks of b * b become b * b pixels.
void lower_depth_to_space(LoweredNode& node) {
  const Term x = node.operand(0);
  const Shape& from = x.type.shape;
  const auto block = node.attribute_or<std::int64_t>("blocksize", 0);
  const std::int64_t all = from.rank() == 4 ? from[1].value() : 0;
  if (block < 1 || block > all || all % block != 0 || all / block % block != 0) {
    invalid("the blocksize");
  }
  const std::int64_t channels = all / block / block;
  const bool has_blocks_first = node.attribute_or<std::string>("mode", "DCR") == "DCR";
  const Shape split = has_blocks_first ? Shape{from[0], block, block, channels, from[2], from[3]}
                                       : Shape{from[0], channels, block, block, from[2], from[3]};
  const std::array<std::int64_t, 6> perm = has_blocks_first
                                               ? std::array<std::int64_t, 6>{0, 3, 4, 1, 5, 2}
                                               : std::array<std::int64_t, 6>{0, 1, 4, 2, 5, 3};
  const Term moved = node.transposed(node.reshaped(x, split), perm);
  node.finish(node.reshaped(moved, node.result_shape()));
}

/// Blocks of b * b pixels become channels.
void lower_space_to_depth(LoweredNode& node) {
  const Term x = node.operand(0);
  const Shape& from = x.type.shape;
  const auto block = node.attribute_or<std::int64_t>("blocksize", 0);
  if (from.rank() != 4 || block < 1) invalid("the blocksize");
  const std::int64_t rows = from[2].value();
  const std::int64_t columns = from[3].value();
  if (rows % block != 0 || columns % block != 0) invalid("the blocksize");
  const Shape split{from[0], from[1], rows / block, block, columns / block, block};
  constexpr std::array<std::int64_t, 6> perm{0, 3, 5, 1, 2, 4};
  node.finish(node.reshaped(node.transposed(node.reshaped(x, split), perm), node.result_shape()));
}

constexpr std::array lowered_moves{
    LowerRule{ops::SpaceToDepth::kind, lower_space_to_depth},
    LowerRule{ops::DepthToSpace::kind, lower_depth_to_space},
    LowerRule{ops::Concat::kind, lower_concat},
    LowerRule{ops::Expand::kind, lower_expand},
    LowerRule{ops::Flatten::kind, lower_reshape},
    LowerRule{ops::Gather::kind, lower_gather},
    LowerRule{ops::Identity::kind, lower_identity},
    LowerRule{ops::Dropout::kind, lower_dropout},
    LowerRule{ops::Pad::kind, lower_pad},
    LowerRule{ops::Tile::kind, lower_tile},
    LowerRule{ops::Reshape::kind, lower_reshape},
    LowerRule{ops::Slice::kind, lower_slice},
    LowerRule{ops::Split::kind, lower_split},
    LowerRule{ops::Squeeze::kind, lower_reshape},
    LowerRule{ops::Transpose::kind, lower_transpose},
    LowerRule{ops::Unsqueeze::kind, lower_reshape},
};

}  // namespace

LowerRules moves_rules() noexcept { return lowered_moves; }

}  // namespace quadrant::inline v0::mlir_ir

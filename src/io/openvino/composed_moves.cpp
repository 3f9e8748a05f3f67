// Moves of elements that ONNX has no one name for: reshapes, transposes and slices.
#include <algorithm>
#include <numeric>

#include "io/openvino/chain.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/rules.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

Value reshaped_to(RaisedLayer& layer, Value value, const std::vector<std::int64_t>& extents) {
  return stepped(layer, ops::Reshape::kind, {value, layer.list("extents", extents)});
}

Value with_axes_in_order(RaisedLayer& layer, Value value, std::vector<std::int64_t> perm) {
  return stepped(layer, ops::Transpose::kind, {value}, {{"perm", std::move(perm)}});
}

// --- blocks of pixels ----------------------------------------------------------------------------

/// Blocks along the axes behind the batch, and what is added or taken off at each end.
struct SpaceBlocks {
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> blocks;
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  std::int64_t product = 1;
};

/// Empty where something is not known.
std::optional<SpaceBlocks> space_blocks(const RaisedLayer& layer) {
  const Shape shape = layer.shape_of(layer.input(0));
  const auto blocks = layer.constant_integers(1);
  const auto begins = layer.constant_integers(2);
  const auto ends = layer.constant_integers(3);
  if (!shape.is_static() || !blocks || !begins || !ends || shape.rank() < 2) return std::nullopt;
  const auto rank = static_cast<std::size_t>(shape.rank());
  const auto extents = shape.known_extents();
  SpaceBlocks found{{extents.begin(), extents.end()}, *blocks, *begins, *ends, 1};
  for (const auto* list : {&found.blocks, &found.begins, &found.ends}) {
    if (list->size() != rank) invalid("blocks of other axes");
  }
  for (const std::int64_t block : found.blocks) {
    constexpr std::int64_t most = 1 << 20;
    if (block < 1 || block > most || found.product > most) invalid("a block of no pixels");
    found.product *= block;
  }
  if (found.blocks.front() != 1 || found.begins.front() != 0 || found.ends.front() != 0) {
    return std::nullopt;
  }
  return found;
}

/// Pixels of blocks become images of a larger batch.
bool raise_space_to_batch(RaisedLayer& layer) {
  auto space = space_blocks(layer);
  if (!space) return false;
  auto& [extents, blocks, begins, ends, product] = *space;
  std::vector<std::int64_t> split{extents.front()};
  std::vector<std::int64_t> whole{extents.front() * product};
  std::vector<std::int64_t> perm;
  for (std::size_t i = 1; i < extents.size(); ++i) {
    const std::int64_t padded = extents[i] + begins[i] + ends[i];
    if (padded % blocks[i] != 0) invalid("pixels that are no whole blocks");
    split.insert(split.end(), {padded / blocks[i], blocks[i]});
    whole.push_back(padded / blocks[i]);
    perm.push_back(static_cast<std::int64_t>(2 * i));
  }
  perm.push_back(0);
  for (std::size_t i = 1; i < extents.size(); ++i) {
    perm.push_back(static_cast<std::int64_t>(2 * i) - 1);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  const Value padded = stepped(layer, ops::Pad::kind, {layer.input(0), layer.list("pads", begins)});
  const Value blocked = with_axes_in_order(layer, reshaped_to(layer, padded, split), perm);
  layer.make(ops::Reshape::kind, {blocked, layer.list("extents", whole)});
  return true;
}

/// And the other way.
bool raise_batch_to_space(RaisedLayer& layer) {
  auto space = space_blocks(layer);
  if (!space) return false;
  auto& [extents, blocks, begins, ends, product] = *space;
  if (extents.front() % product != 0) invalid("a batch that is no whole blocks");
  const auto rank = static_cast<std::int64_t>(extents.size());
  std::vector<std::int64_t> split(blocks.begin() + 1, blocks.end());
  split.push_back(extents.front() / product);
  split.insert(split.end(), extents.begin() + 1, extents.end());
  std::vector<std::int64_t> perm{rank - 1};
  std::vector<std::int64_t> whole{extents.front() / product};
  std::vector<std::int64_t> stops{whole.front()};
  for (std::int64_t i = 1; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    perm.insert(perm.end(), {rank - 1 + i, i - 1});
    whole.push_back(extents[at] * blocks[at]);
    stops.push_back(whole.back() - ends[at]);
  }
  const Value blocked = with_axes_in_order(layer, reshaped_to(layer, layer.input(0), split), perm);
  layer.make(ops::Slice::kind, {reshaped_to(layer, blocked, whole), layer.list("begins", begins),
                                layer.list("stops", stops)});
  return true;
}

// --- channels and pixels of any rank -------------------------------------------------------------

/// ONNX has four axes, and, from pixels to channels, one order. `[N, C, D...]`, with a block of b
/// pixels along each of D.
bool raise_pixels_of_any_rank(RaisedLayer& layer) {
  const bool is_wider = layer.type() == "DepthToSpace";
  const bool has_blocks_first = layer.text("mode", "blocks_first") == "blocks_first";
  const std::int64_t block = layer.integer("block_size", 1);
  const Shape shape = layer.shape_of(layer.input(0));
  if (!shape.is_static() || shape.rank() < 3 || block < 1 || block > (1 << 10)) return false;
  const std::int64_t pixels = shape.rank() - 2;
  std::int64_t parts = 1;
  for (std::int64_t i = 0; i < pixels; ++i) parts *= block;
  const auto extents = shape.known_extents();
  std::vector<std::int64_t> split{extents[0]};
  std::vector<std::int64_t> whole{extents[0], is_wider ? extents[1] / parts : extents[1] * parts};
  std::vector<std::int64_t> perm{0};
  const std::vector<std::int64_t> blocks(static_cast<std::size_t>(pixels), block);
  if (is_wider) {
    if (has_blocks_first) split.insert(split.end(), blocks.begin(), blocks.end());
    split.push_back(extents[1] / parts);
    if (!has_blocks_first) split.insert(split.end(), blocks.begin(), blocks.end());
    perm.push_back(has_blocks_first ? 1 + pixels : 1);
  }
  for (std::int64_t i = 0; i < pixels; ++i) {
    const std::int64_t extent = shape[i + 2].value();
    if (is_wider) {
      split.push_back(extent);
      whole.push_back(extent * block);
      perm.insert(perm.end(), {2 + pixels + i, has_blocks_first ? 1 + i : 2 + i});
    } else {
      if (extent % block != 0) invalid("pixels that are no whole blocks");
      whole.push_back(extent / block);
    }
  }
  if (!is_wider) {
    split.push_back(extents[1]);
    if (!has_blocks_first) perm.push_back(1);
    for (std::int64_t i = 0; i < pixels; ++i) {
      split.insert(split.end(), {shape[i + 2].value() / block, block});
      perm.push_back(3 + 2 * i);
    }
    if (has_blocks_first) perm.push_back(1);
    for (std::int64_t i = 0; i < pixels; ++i) perm.push_back(2 + 2 * i);
  }
  const Value moved = with_axes_in_order(layer, reshaped_to(layer, layer.input(0), split), perm);
  layer.make(ops::Reshape::kind, {moved, layer.list("extents", whole)});
  return true;
}

// --- rotations -----------------------------------------------------------------------------------

/// Along each axis, what is pushed out behind comes in front again.
bool raise_roll(RaisedLayer& layer) {
  const Shape shape = layer.shape_of(layer.input(0));
  auto shifts = layer.constant_integers(1);
  const auto axes = layer.constant_integers(2);
  if (!shape.is_static() || !shifts || !axes || axes->empty()) return false;
  if (shifts->size() == 1) shifts->resize(axes->size(), shifts->front());
  if (shifts->size() != axes->size()) invalid("shifts of other axes");
  Value value = layer.input(0);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = normalize_axis((*axes)[i], shape.rank());
    if (!axis || shape[*axis].value() < 1) return false;
    const std::int64_t extent = shape[*axis].value();
    const std::int64_t shift = ((*shifts)[i] % extent + extent) % extent;
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      return stepped(layer, ops::Slice::kind,
                     {value, layer.list("begin", std::array{begin}),
                      layer.list("end", std::array{end}), layer.list("axis", std::array{*axis})});
    };
    value = stepped(layer, ops::Concat::kind,
                    {part(extent - shift, extent), part(0, extent - shift)}, {{"axis", *axis}});
  }
  layer.finish(value);
  return true;
}

constexpr std::array raised_composed_moves{
    RaiseRule{"BatchToSpace", raise_batch_to_space},
    RaiseRule{"DepthToSpace", raise_pixels_of_any_rank},
    RaiseRule{"Roll", raise_roll},
    RaiseRule{"SpaceToBatch", raise_space_to_batch},
    RaiseRule{"SpaceToDepth", raise_pixels_of_any_rank},
};

}  // namespace

Rules composed_moves_rules() noexcept { return {raised_composed_moves, {}}; }

}  // namespace quadrant::inline v0::openvino_ir

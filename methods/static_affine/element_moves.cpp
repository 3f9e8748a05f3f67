#include "static_affine/element_moves.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "quadrant/ir/moves.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/ops/places.hpp"
#include "quadrant/ir/ops/windows.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

// Beside those that the IR knows, which are a matter of indices alone.
constexpr std::array choosing_kinds{ops::MaxPool::kind, ops::DepthToSpace::kind,
                                    ops::SpaceToDepth::kind};

// With zeros, or with what is there.
bool pads_with_elements(NodeRef node) noexcept {
  if (node.attribute_or<std::string>("mode", "constant") != "constant") return true;
  if (node.operand(2).is_absent()) return node.attribute_or("value", 0.0) == 0;
  const Constant* const value = node.operand_constant(2);
  if (value == nullptr || value->byte_size() > sizeof(double)) return false;
  const auto bytes = value->read();
  return bytes &&
         std::ranges::all_of(bytes->bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

// Means of neighbours lie between them; what cubic ones make does not.
bool interpolates_between_elements(NodeRef node) noexcept {
  return node.attribute_or<std::string>("mode", "nearest") != "cubic" &&
         node.attribute_or<std::string>("coordinate_transformation_mode", "half_pixel") !=
             "tf_crop_and_resize";
}

}  // namespace

const Constant* constant_behind(const GraphView& graph, Value value) noexcept {
  constexpr int most_moves = 8;  // a limit, so that a chain of moves is not walked by each reader
  for (int moves = 0; moves < most_moves && !value.is_absent(); ++moves) {
    if (const Constant* constant = graph.constant(value.node)) return constant;
    const NodeRef node{&graph, value.node};
    if (!is_move(node)) return nullptr;
    value = node.operand(0);
  }
  return nullptr;
}

std::optional<std::int64_t> axis_at_constant(const GraphView& graph, Value value,
                                             std::int64_t channel) {
  Granularity groups = Granularity::per_axis(channel);
  while (graph.constant(value.node) == nullptr) {
    const NodeRef node{&graph, value.node};
    const Move* const move = find_move(node.kind());
    const auto source = move == nullptr ? std::nullopt : move->source(node, groups);
    if (!source || source->kind != Granularity::Kind::axis) return std::nullopt;
    groups = *source;
    value = node.operand(0);
  }
  return groups.axis;
}

std::vector<Value> moved_values(const GraphView& graph, Value constant) {
  std::vector<Value> moved{constant};
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const Value value = moved[i];
    for (const Use& use : graph.uses(value.node)) {
      if (use.result != value.result || use.operand != 0 || !is_move({&graph, use.user})) continue;
      for (std::uint32_t result = 0; result < graph.result_count(use.user); ++result) {
        moved.push_back({use.user, result});
      }
    }
  }
  return moved;
}

bool chooses_elements(NodeRef node) noexcept {
  // A concat has several operands, each with a scale of its own.
  const bool is_index_map = find_move(node.kind()) != nullptr && node.kind() != ops::Concat::kind;
  return is_index_map || std::ranges::find(choosing_kinds, node.kind()) != choosing_kinds.end();
}

bool is_move(NodeRef node) noexcept {
  if (node.kind() == ops::Pad::kind) return pads_with_elements(node);
  if (node.kind() == ops::Resize::kind) return interpolates_between_elements(node);
  return node.kind() == ops::AveragePool::kind || chooses_elements(node);
}

}  // namespace quadrant::inline v0::static_affine

#include "numerics/moved_weight.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ranges>
#include <utility>
#include <vector>

#include "ir/ops/elementwise.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

/// Casts in which no number is rounded.
bool widens(NodeRef node) {
  const auto to = node.kind() == ops::Cast::kind ? ops::Cast{node}.to() : std::nullopt;
  const TensorType* const from = node.operand_type(0);
  return to && from != nullptr && is_float(from->element) && is_wide_float(*to) &&
         byte_width(*to) >= byte_width(from->element);
}

bool moves_weight(NodeRef node) {
  if (node.graph->result_count(node.id) != 1 || node.operand(0).is_absent()) return false;
  return has_trait(node, Trait::keeps_order) || node.kind() == ops::Transpose::kind || widens(node);
}

/// From the last one to the first. Each of a chain is asked: models have two or three, and a chain
/// of thousands must not be walked for each of them.
std::vector<NodeRef> moves_to(NodeRef node) {
  constexpr std::size_t most = 64;
  std::vector<NodeRef> moves;
  while (moves.size() < most && moves_weight(node)) {
    moves.push_back(node);
    node = {node.graph, node.operand(0).node};
  }
  return moves;
}

Expected<Constant> transposed_weight(const Constant& contents, NodeRef node) {
  const Shape& shape = node.type().shape;
  const std::vector<std::int64_t> perm = ops::Transpose{node}.perm();
  const std::vector<std::int64_t> strides = contents.shape().strides();
  QUADRANT_TRY(const ConstantBytes read, contents.read());
  const auto width = static_cast<std::size_t>(byte_width(contents.element()));
  std::vector<std::byte> moved(read.bytes().size());
  std::vector<std::int64_t> at(perm.size(), 0);
  std::int64_t offset = 0;
  for (std::size_t to = 0; to < moved.size(); to += width) {
    std::memcpy(&moved[to], &read.bytes()[static_cast<std::size_t>(offset) * width], width);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      const std::int64_t stride = strides[static_cast<std::size_t>(perm[axis])];
      offset += stride;
      if (++at[axis] < shape[static_cast<std::int64_t>(axis)].value()) break;
      offset -= stride * at[axis];
      at[axis] = 0;
    }
  }
  return Constant::from_bytes(contents.element(), shape, std::move(moved));
}

}  // namespace

NodeRef moved_from(NodeRef node) {
  const std::vector<NodeRef> moves = moves_to(node);
  return moves.empty() ? node : NodeRef{node.graph, moves.back().operand(0).node};
}

bool keeps_order(NodeRef node) {
  return std::ranges::none_of(
      moves_to(node), [](const NodeRef& move) { return move.kind() == ops::Transpose::kind; });
}

const Constant* own_weight(NodeRef node) {
  const std::vector<NodeRef> moves = moves_to(node);
  if (moves.empty()) return nullptr;
  const Constant* const weight = moves.back().operand_constant(0);
  if (weight == nullptr || !is_float(weight->element())) return nullptr;
  for (const NodeRef& move : moves) {
    const bool has_all = move.type().shape.element_count() == weight->element_count();
    const bool has_axes = move.kind() != ops::Transpose::kind ||
                          std::ssize(ops::Transpose{move}.perm()) == move.type().shape.rank();
    if (!has_all || !has_axes || node.graph->uses(move.operand(0).node).size() != 1) {
      return nullptr;
    }
  }
  return weight;
}

Expected<Constant> moved_weight(NodeRef node, Constant contents) {
  for (const NodeRef& move : std::views::reverse(moves_to(node))) {
    if (move.kind() == ops::Transpose::kind) {
      QUADRANT_TRY(contents, transposed_weight(contents, move));
    } else if (move.kind() == ops::Cast::kind) {
      QUADRANT_TRY(const std::vector<double> reals, read_reals(contents));
      const ElementType to = ops::Cast{move}.to().value_or(contents.element());
      contents = rounded_constant(to, contents.shape(), reals);
    } else {
      contents = contents.reshaped(move.type().shape);
    }
  }
  return contents;
}

}  // namespace quadrant::inline v0

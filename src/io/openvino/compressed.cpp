#include "io/openvino/compressed.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/openvino/real_operand.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

using Extents = std::vector<std::int64_t>;

/// Const, Convert, Subtract, Multiply, Reshape, as the layers say it.
struct Compressed {
  Extents codes;
  std::vector<Extents> parameters;  ///< scales and zero points, of as many axes as the codes
  Extents whole;                    ///< of the real numbers

  [[nodiscard]] bool is_joined() const { return whole.size() != codes.size(); }
};

Extents extents_of(const Shape& shape, std::size_t rank) {
  const auto known = shape.known_extents();
  Extents extents(rank - std::min(rank, known.size()), 1);
  extents.insert(extents.end(), known.begin(), known.end());
  return extents;
}

/// Empty for what kernels do not read as codes: other layers, other axes.
std::optional<Compressed> compressed_weight(const LoweredNode& node, Output output) {
  const Shape whole = node.type(output).shape;
  if (!whole.is_static()) return std::nullopt;
  std::vector<Shape> parameters;
  Output at = output;
  const auto step_back = [&](std::string_view type, bool has_parameter = false) {
    if (node.made_by(at) != type) return false;
    if (has_parameter) parameters.push_back(node.type(node.source(at, 1)).shape);
    at = node.source(at, 0);
    return true;
  };
  step_back("Convert");  // of real numbers, or there is no Multiply in front of it
  step_back("Reshape");
  if (!step_back("Multiply", true)) return std::nullopt;
  step_back("Subtract", true);
  if (!step_back("Convert") || node.made_by(at) != "Const") return std::nullopt;
  const TensorType codes = node.type(at);
  const auto rank = static_cast<std::size_t>(codes.shape.rank());
  const auto whole_rank = static_cast<std::size_t>(whole.rank());
  const bool is_read = rank == 2 || rank == 3;
  if (bit_width(codes.element) > 8 || !is_read) return std::nullopt;
  if (whole_rank != rank && (rank != 3 || whole_rank != 2)) return std::nullopt;
  Compressed found{extents_of(codes.shape, rank), {}, extents_of(whole, whole_rank)};
  for (const Shape& shape : parameters) found.parameters.push_back(extents_of(shape, rank));
  return found;
}

/// Whether each number is that of codes one behind the other: of all in the leading axes.
bool is_of_rows(const Extents& codes, const Extents& parameter) {
  bool ends = false;
  for (std::size_t axis = 0; axis < codes.size(); ++axis) {
    if (ends && parameter[axis] != 1) return false;
    ends = ends || parameter[axis] != codes[axis];
  }
  return true;
}

/// Whether there is a number for each of `columns` and block of what is summed, or one for several.
bool is_of_columns(const Extents& codes, const Extents& parameter, std::size_t columns,
                   std::size_t in_block) {
  const bool has_all = parameter[columns] == codes[columns];
  for (std::size_t axis = 0; axis < codes.size(); ++axis) {
    const bool is_one = parameter[axis] == 1;
    if (!is_one && axis != columns && (axis == in_block || !has_all)) return false;
  }
  return true;
}

Output apart(LoweredNode& node, Output output) {
  node.decomposed("its weight is dequantized first: OpenVINO reads such codes wrongly");
  return kept_apart(node, output);
}

}  // namespace

Output looked_up_weight(LoweredNode& node, Output data) {
  const auto weight = compressed_weight(node, data);
  if (!weight) return data;
  const bool joins_others = weight->is_joined() && weight->whole[0] != weight->codes[0];
  const bool is_right = std::ranges::all_of(weight->parameters, [&](const Extents& parameter) {
    return is_of_rows(weight->codes, parameter);
  });
  return is_right && !joins_others ? data : apart(node, data);
}

Output multiplied_weight(LoweredNode& node, Output weight, bool is_transposed) {
  const auto found = compressed_weight(node, weight);
  if (!found) return weight;
  const auto& [codes, parameters, whole] = *found;
  const std::size_t first = whole.size() == 3 && whole[0] == 1 ? 1 : 0;  // of a batch of one
  if (whole.size() - first != 2) return weight;
  const std::size_t columns = is_transposed ? first : codes.size() - 1;
  const std::size_t in_block = is_transposed ? codes.size() - 1 : codes.size() - 2;
  // Blocks of columns are none of what is summed.
  const bool splits_columns = codes[columns] != whole[is_transposed ? first : whole.size() - 1];
  const Shape& data = node.type(0).shape;
  const bool loses_batch = first == 1 && data.is_ranked() && data.rank() < 3;
  const bool is_right = std::ranges::all_of(parameters, [&](const Extents& parameter) {
    return is_of_columns(found->codes, parameter, columns, in_block);
  });
  return is_right && !splits_columns && !loses_batch ? weight : apart(node, weight);
}

}  // namespace quadrant::inline v0::openvino_ir

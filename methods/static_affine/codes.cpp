#include "static_affine/codes.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "quadrant/ir/moves.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/work.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

// Beside those that the IR knows, which are a matter of indices alone.
constexpr std::array choosing_kinds{std::string_view("onnx.MaxPool"),
                                    std::string_view("onnx.DepthToSpace"),
                                    std::string_view("onnx.SpaceToDepth")};

constexpr std::array clamp_kinds{std::string_view("onnx.Relu"), std::string_view("onnx.Clip")};

template <std::size_t n>
bool is_one_of(std::string_view kind, const std::array<std::string_view, n>& kinds) noexcept {
  return std::ranges::find(kinds, kind) != kinds.end();
}

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

bool makes_activation(const StaticAffine& scheme, NodeRef node, const AffineForm& wanted,
                      Asks<AffineForm>& asks) {
  if (wanted != scheme.activation()) {
    asks.refuse("its result is an activation");
    return false;
  }
  const char* const why = scheme.refusal(*node.graph, node.result());
  if (why != nullptr) asks.refuse(why);
  return why == nullptr;
}

Expected<void> compute_codes(NodeRef node, RewriteContext& context) {
  for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
    const Value result = node.result(i);
    if (context.form<AffineForm>(result) == nullptr) continue;
    QUADRANT_CHECK(context.set_quantized(result, context.parameters(result)));
  }
  return {};
}

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

bool reaches_constant(const GraphView& graph, Value value, std::int64_t channel) {
  Granularity groups = Granularity::per_axis(channel);
  while (graph.constant(value.node) == nullptr) {
    const NodeRef node{&graph, value.node};
    const Move* const move = find_move(node.kind());
    const auto source = move == nullptr ? std::nullopt : move->source(node, groups);
    if (!source || source->kind != Granularity::Kind::axis) return false;
    groups = *source;
    value = node.operand(0);
  }
  return true;
}

bool chooses_elements(NodeRef node) noexcept {
  // A concat has several operands, each with a scale of its own.
  const bool is_index_map = find_move(node.kind()) != nullptr && node.kind() != ops::Concat::kind;
  return is_index_map || is_one_of(node.kind(), choosing_kinds);
}

bool is_move(NodeRef node) noexcept {
  if (node.kind() == "onnx.Pad") return pads_with_elements(node);
  if (node.kind() == "onnx.Resize") return interpolates_between_elements(node);
  return node.kind() == "onnx.AveragePool" || chooses_elements(node);
}

bool is_computed_from_integers(const GraphView& graph, Value value) {
  constexpr std::size_t most_values = 32;  // a limit, as above
  std::vector<Value> open{value};
  std::size_t visited = 0;
  bool has_integers = false;
  while (!open.empty()) {
    const NodeRef node{&graph, open.back().node};
    open.pop_back();
    if (graph.constant(node.id) != nullptr) continue;
    if (node.kind() == "onnx.Shape") {
      has_integers = true;
      continue;
    }
    // What is looked up in a table is no longer the number that it was looked up by.
    const bool is_value = node.kind() == ops::Input::kind ||
                          (node.kind() == ops::Gather::kind && node.operand_constant(0) != nullptr);
    // What a layer makes of them is no position any more.
    if (is_value || multiply_accumulates(node) != 0 || ++visited > most_values) return false;
    for (const Value operand : node.operands()) {
      if (operand.is_absent()) continue;
      const ElementType element = graph.type(operand).element;
      if (element == ElementType::undefined || is_float(element)) {
        open.push_back(operand);
      } else if (element == ElementType::boolean || bit_width(element) > 8) {
        has_integers = true;  // those of 8 bits, pictures for example, are exact as codes, too
      }
    }
  }
  return has_integers;
}

bool is_clamp(NodeRef node) noexcept {
  if (node.operand(0).is_absent()) return false;
  if (is_one_of(node.kind(), clamp_kinds)) return true;
  const Constant* const bounds = node.operand_constant(1);
  if (node.kind() != "onnx.Min" || node.operands().size() != 2 || bounds == nullptr) return false;
  const Shape& shape = node.operand_type(0)->shape;
  return shape.is_ranked() && (shape.is_static() ? shape == node.type().shape
                                                 : bounds->element_count() == 1 &&
                                                       bounds->shape().rank() <= shape.rank());
}

bool is_only_clamp(NodeRef node) noexcept {
  return is_clamp(node) && node.graph->uses(node.operand(0).node).size() == 1;
}

}  // namespace quadrant::inline v0::static_affine

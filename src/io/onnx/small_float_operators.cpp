#include "io/onnx/small_float_operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "io/onnx/edit.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/onnxruntime_forms.hpp"
#include "io/onnx/opset.hpp"
#include "io/onnx/raise.hpp"
#include "io/onnx/small_floats.hpp"
#include "ir/ops/codes.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

bool has_zeros(const Constant& scales) {
  const auto numbers = read_scales(scales);
  return !numbers || std::ranges::find(*numbers, 0.0F) != numbers->end();
}

/// The format of a `dequantize` or `quantize` that DequantizeLinear and QuantizeLinear can say;
/// null for others.
const ScaledFormat* linear_format(const Graph& graph, NodeId node) {
  const Value real_or_codes = graph.ref(node).operand(0);
  const bool is_maker = makes_codes(graph, node);
  if ((graph.kind(node) != ops::Dequantize::kind && !is_maker) || real_or_codes.is_absent()) {
    return nullptr;
  }
  const ScaledFormat* const type =
      graph.type(is_maker ? Value{node} : real_or_codes).quantization.other().get();
  if (type == nullptr) return nullptr;
  const NumberFormat& format = type->format;
  const auto* const code = std::get_if<FloatCode>(&format.code);
  if (code == nullptr || !is_small_float(code->type)) return nullptr;
  if (format.offset != Offset::none || format.scales.size() != 1) return nullptr;
  const auto* const scale = std::get_if<FloatScale>(&format.scales.front().type);
  const bool is_stored = !is_maker && graph.constant(real_or_codes.node) != nullptr;
  // Where each weight has many, other types than these would take far less as arithmetic. Powers of
  // two take a byte more.
  const bool is_kept =
      scale != nullptr && (is_scale_type(scale->type) || scale->type == ElementType::float8e8m0);
  if (scale == nullptr || (is_stored && !is_kept)) return nullptr;
  if (is_maker && has_zeros(type->scales.front())) return nullptr;
  const bool is_table = is_stored && std::ranges::any_of(graph.uses(node), [&](const Use& use) {
                          return use.operand == 0 && graph.kind(use.user) == ops::Gather::kind;
                        });
  return is_table ? nullptr : type;
}

Attributes linear_attributes_of(const Granularity& groups, const Constant& scales) {
  // A list of one scale is that of a tensor for ONNX Runtime, which refuses attributes beside it.
  if (groups.kind == Granularity::Kind::tensor || scales.shape() == Shape{1}) return {};
  Attributes attributes{{"axis", groups.axis}};
  if (groups.kind == Granularity::Kind::block) attributes.set("block_size", groups.block_size);
  return attributes;
}

/// An initializer of float8: bytes to the graph, of which the file says what they are.
Value add_small_floats(Graph& graph, std::string name, const Constant& bytes, ElementType element) {
  const Value made = graph.add_constant(std::move(name), bytes);
  graph.set_attribute(made.node, std::string(key::data_type), element_type_number(element));
  return made;
}

/// What the file says of a node besides the operator.
Attributes kept_attributes(const Graph& graph, NodeId node) {
  Attributes kept;
  for (const auto& [key, value] : graph.attributes(node)) {
    if (key.starts_with(prefix) && !key.starts_with(raised::kind)) kept.set(key, value);
  }
  return kept;
}

/// The scales as the format stores them. Where operators have no such, powers of two are float16 if
/// it has all of them, and the rest float32.
Constant stored_scales(const ScaledFormat& type) {
  const ElementType stored = std::get<FloatScale>(type.format.scales.front().type).type;
  const Constant& numbers = type.scales.front();
  const std::vector<float> values = value_of(read_scales(numbers));
  if (is_scale_type(stored)) return make_scales(stored, numbers.shape(), values);
  if (stored == ElementType::float8e8m0) {
    Constant halves = make_scales(ElementType::float16, numbers.shape(), values);
    if (const auto read = read_scales(halves); read && *read == values) return halves;
  }
  return make_scales(ElementType::float32, numbers.shape(), values);
}

/// Whether the operators can compute in the expressed type: in float32, or in float16 with scales
/// of float16.
bool is_direct(const ScaledFormat& type, const Constant& scales) {
  return type.format.expressed == ElementType::float32 ||
         (type.format.expressed == ElementType::float16 &&
          scales.element() == ElementType::float16);
}

/// The operand that such operators read: in their type.
Value add_scale_operand(Graph& graph, std::string name, const ScaledFormat& type,
                        const Constant& scales) {
  const bool is_half = type.format.expressed == ElementType::float16 && is_direct(type, scales);
  return is_half ? graph.add_constant(std::move(name), scales)
                 : add_scales(graph, std::move(name), scales);
}

constexpr std::int64_t opset_of_float8 = 19;
constexpr std::int64_t opset_of_output_type = 21;  ///< and of blocks

/// The opset that has operators for such codes.
std::int64_t opset_needed(const ScaledFormat& type) {
  const bool has_blocks = type.format.scales.front().groups.kind == Granularity::Kind::block;
  return has_blocks ? opset_of_output_type : opset_of_float8;
}

bool is_weight(const Graph& graph, NodeId node) {
  return !makes_codes(graph, node) && graph.constant(graph.operands(node)[0].node) != nullptr;
}

/// Which codes an operator makes is said by its attribute or, where the opset has none, by zero
/// points, all of which are zero, `kept_apart` where there are limits.
void lower_result(Graph& graph, NodeId node, const ScaledFormat& type, bool is_limited) {
  Value real = graph.ref(node).operand(0);
  const std::string name(graph.value_name({node}));
  const ElementType element = std::get<FloatCode>(type.format.code).type;
  const Constant scales = stored_scales(type);
  if (!is_direct(type, scales)) {
    TensorType wide = graph.type(real);
    wide.element = ElementType::float32;
    real = add_op(graph, ops::Cast::kind, {}, {real}, {name + "_real", std::move(wide)},
                  {{"to", element_type_number(ElementType::float32)}});
  }
  const bool has_attribute = opset_version(graph) >= opset_of_output_type;
  if (!has_attribute && is_limited) real = kept_apart(graph, real);
  NodeSpec spec{.kind = std::string(ops::QuantizeLinear::kind),
                .name = std::string(graph.name(node)),
                .operands = {real, add_scale_operand(graph, name + "_scale", type, scales)},
                .results = {{name, {element, graph.type({node}).shape, nullptr}}},
                .attributes = linear_attributes_of(type.format.scales.front().groups, scales)};
  if (has_attribute) {
    spec.attributes.set("output_dtype", element_type_number(element));
  } else {
    const auto count = static_cast<std::size_t>(scales.element_count());
    const Constant zeros =
        Constant::from_bytes(ElementType::uint8, scales.shape(), std::vector<std::byte>(count));
    spec.operands.push_back(add_small_floats(graph, name + "_zero_point", zeros, element));
  }
  for (const auto& [key, value] : kept_attributes(graph, node)) spec.attributes.set(key, value);
  replace_in_place(graph, node, std::move(spec));
}

void lower_weight(Graph& graph, NodeId node, const ScaledFormat& type) {
  const Value codes = graph.ref(node).operand(0);
  const std::string name(graph.value_name({node}));
  const Constant scales = stored_scales(type);
  std::vector<Value> operands{codes, add_scale_operand(graph, name + "_scale", type, scales)};
  Attributes attributes = linear_attributes_of(type.format.scales.front().groups, scales);
  const Attributes kept = kept_attributes(graph, node);
  TensorType real = graph.type({node});
  const ElementType expressed = real.element;
  NodeSpec spec{.kind = std::string(ops::DequantizeLinear::kind),
                .name = std::string(graph.name(node)),
                .operands = std::move(operands),
                .results = {{name, real}},
                .attributes = std::move(attributes)};
  if (!is_direct(type, scales)) {
    real.element = ElementType::float32;
    const Value wide = add_op(graph, spec.kind, {}, std::move(spec.operands), {name, real},
                              std::move(spec.attributes));
    spec.kind = std::string(ops::Cast::kind);
    spec.operands = {wide};
    spec.attributes = {{"to", element_type_number(expressed)}};
  }
  for (const auto& [key, value] : kept) spec.attributes.set(key, value);
  replace_in_place(graph, node, std::move(spec));
}

using Conversions = std::vector<std::pair<NodeId, ScaledFormat>>;

Conversions find_conversions(const Graph& graph, bool has_weights) {
  Conversions found;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    const auto* const type = node.is_valid() ? linear_format(graph, node) : nullptr;
    if (type != nullptr && (has_weights || !is_weight(graph, node)))
      found.emplace_back(node, *type);
  }
  return found;
}

/// Why the graph cannot have them; empty where it can, or could before. Where there are limits, the
/// attribute is better than what takes its place.
std::string raise_opset(Graph& graph, const Conversions& found, bool is_limited) {
  const std::int64_t before = opset_version(graph);
  const auto is_right = [&](const auto& entry) {
    const bool is_better = is_limited && makes_codes(graph, entry.first);
    return before >= (is_better ? opset_of_output_type : opset_needed(entry.second));
  };
  if (std::ranges::all_of(found, is_right)) return {};
  std::string why_not = upgrade(graph, opset_of_output_type);  // no conversion goes to 19
  if (why_not.empty()) set_opset(graph, opset_of_output_type);
  const auto is_said = [&](const auto& entry) { return before >= opset_needed(entry.second); };
  return std::ranges::all_of(found, is_said) ? std::string() : why_not;
}

/// Bits of float8 are bytes to the graph; the file says what they are. Codes that arithmetic reads,
/// too, would be bytes there.
void store_codes(Graph& graph, NodeId node) {
  const Value codes = graph.ref(node).operand(0);
  const auto type = codes.is_absent() ? nullptr : graph.type(codes).quantization.other();
  if (type == nullptr || graph.constant(codes.node) == nullptr) return;
  const auto* const code = std::get_if<FloatCode>(&type->format.code);
  const Constant contents = *graph.constant(codes.node);
  const bool is_only_stored = std::ranges::all_of(graph.uses(codes.node), [&](const Use& use) {
    return graph.kind(use.user) == ops::DequantizeLinear::kind;
  });
  NodeId stored = codes.node;
  if (is_only_stored) {
    graph.set_constant(stored, contents);
  } else {
    const Value made = graph.add_constant(std::string(graph.value_name(codes)), contents);
    graph.set_operand(node, 0, made);
    stored = made.node;
    if (const Attribute* const stated = graph.attribute(codes.node, key::data_type)) {
      graph.set_attribute(stored, std::string(key::data_type), Attribute(*stated));
    }
  }
  if (code == nullptr) return;  // integers, as they are
  graph.set_attribute(stored, std::string(key::data_type), element_type_number(code->type));
}

}  // namespace

void store_codes_as_elements(Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (node.is_valid() && graph.kind(node) == ops::DequantizeLinear::kind)
      store_codes(graph, node);
  }
}

std::int64_t lower_small_floats(Graph& graph, std::string& why_not, bool has_weights) {
  Conversions found = find_conversions(graph, has_weights);
  if (found.empty()) return 0;
  const bool is_limited = has_limits(graph);
  why_not = raise_opset(graph, found, is_limited);
  if (!why_not.empty()) return 0;
  found = find_conversions(graph, has_weights);  // what was converted are other nodes
  for (const auto& [node, type] : found) {
    if (!makes_codes(graph, node)) lower_weight(graph, node, type);
  }
  store_codes_as_elements(graph);
  for (const auto& [node, type] : found) {
    if (makes_codes(graph, node)) lower_result(graph, node, type, is_limited);
  }
  return std::ssize(found);
}

void refuse_other_makers(const Graph& graph, std::string_view why_not) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || !makes_codes(graph, node)) continue;
    const ScaledFormat* const type = graph.type({node}).quantization.other().get();
    if (type == nullptr) continue;
    const bool is_said = linear_format(graph, node) != nullptr;
    impossible(is_said
                   ? fmt::format("QuantizeLinear of {} needs opset {}, and the model has {}: {}",
                                 to_string(type->format), opset_needed(*type), opset_version(graph),
                                 why_not)
                   : fmt::format("QuantizeLinear makes codes of f8e4m3 and f8e5m2 with one level "
                                 "of scales, none of which is 0; no other codes of {}",
                                 to_string(type->format)),
               {.node = std::string(label(graph, node))});
  }
}

}  // namespace quadrant::inline v0::onnx

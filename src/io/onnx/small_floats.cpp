#include "io/onnx/small_floats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <ranges>
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
#include "ir/regions.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/ops/codes.hpp"
#include "quadrant/ir/ops/elementwise.hpp"
#include "quadrant/ir/scaled_format.hpp"

namespace quadrant::inline v0::onnx {
namespace {

bool is_small_float(ElementType element) noexcept {
  return element == ElementType::float8e4m3 || element == ElementType::float8e5m2;
}

// --- reading ------------------------------------------------------------------------------------

/// Codes of initializers that are read by their DequantizeLinear alone; empty for other elements.
std::optional<NumberCode> code_of(ElementType element) {
  if (is_small_float(element)) return FloatCode{element};
  constexpr int bits = 2;
  if (bit_width(element) != bits) return std::nullopt;
  return IntegerCode::of(bits, element == ElementType::int2);
}

/// The codes of an initializer of which nobody needs to know more; null for others.
const Constant* codes_of(const Graph& graph, Value value) {
  if (value.is_absent() || graph.kind(value.node) != opaque_initializer_kind) return nullptr;
  if (!code_of(graph.type(value).element)) return nullptr;
  constexpr std::array known{key::tensor, key::data_directory, key::codes, regions::place};
  for (const auto& [name, attribute] : graph.attributes(value.node)) {
    if (std::ranges::find(known, name) == known.end()) return nullptr;
  }
  const Attribute* const found = graph.attribute(value.node, key::codes);
  return found != nullptr ? std::get_if<Constant>(found) : nullptr;
}

bool same_numbers(const Constant& a, const Constant& b) {
  const auto left = a.read();
  const auto right = b.read();
  return left && right && std::ranges::equal(left->bytes(), right->bytes());
}

bool are_zeros(const Constant& constant) {
  const auto read = constant.read();
  return read && std::ranges::all_of(read->bytes(), [](std::byte b) { return b == std::byte{0}; });
}

/// A DequantizeLinear that means codes in a format.
struct CodedWeight {
  Constant codes;
  ElementType element = ElementType::undefined;  ///< of the codes in the file
  ScaledFormat format;
};

/// One of these operators whose attributes say no more than which elements share a scale; codes
/// are `made`.
bool is_plain(const Graph& graph, NodeId id, std::string_view op_type,
              ElementType made = ElementType::undefined) {
  const NodeRef node = graph.ref(id);
  const OpName name = op_name_of(node);
  const std::size_t count = node.operands().size();
  if (name.op_type != op_type || !in_default_domain(name) || count < 2 || count > 3 ||
      graph.result_count(id) != 1) {
    return false;
  }
  return std::ranges::all_of(graph.attributes(id), [&](const auto& entry) {
    const auto& [key, value] = entry;
    if (key.starts_with(prefix) || key == "axis" || key == "block_size") return true;
    const auto* const number = std::get_if<std::int64_t>(&value);
    if (number == nullptr) return false;
    if (key == "saturate") return *number == 1;
    if (key == "precision") return *number == 0;
    return key == "output_dtype" && (*number == 0 || (made != ElementType::undefined &&
                                                      numbered_element_type(*number) == made));
  });
}

/// Whether an element is one that scales have, and the reals beside them.
bool is_scale(const Constant* constant) {
  return constant != nullptr && is_scale_type(constant->element());
}

/// What an operand of scales holds: float32 or float16, which may be behind a Cast to float32; null
/// for others.
const Constant* scales_of_operand(NodeRef node) {
  const Constant* const scale = node.operand_constant(1);
  if (scale != nullptr) return is_scale(scale) ? scale : nullptr;
  const NodeRef cast{node.graph, node.operand(1).node};
  const bool is_widened = !node.operand(1).is_absent() && cast.kind() == ops::Cast::kind &&
                          cast.type().element == ElementType::float32;
  const Constant* const halves = is_widened ? cast.operand_constant(0) : nullptr;
  return halves != nullptr && halves->element() == ElementType::float16 ? halves : nullptr;
}

/// What the scales and zero points of an operator say of codes of that type and shape; empty where
/// that is no format.
std::optional<ScaledFormat> format_of(const Graph& graph, NodeId node, const NumberCode& code,
                                      const Shape& codes) {
  const NodeRef ref = graph.ref(node);
  const Constant* const scale = scales_of_operand(ref);
  if (scale == nullptr) return std::nullopt;
  const Shape shape = raised::parameter_shape(*scale);
  const auto groups = raised::granularity(graph.attributes(node), {}, false, shape, codes);
  if (!groups) return std::nullopt;
  const bool is_integer = std::holds_alternative<IntegerCode>(code);
  Constant zeros;  // those that are not all 0
  if (ref.operands().size() == 3) {
    const Constant* const stated = codes_of(graph, ref.operand(2));
    if (stated == nullptr || stated->element_count() != scale->element_count()) {
      return std::nullopt;
    }
    if (!are_zeros(*stated)) zeros = stated->reshaped(shape);
    if (zeros && !is_integer) return std::nullopt;
  }
  auto numbers = read_scales(*scale);
  if (!numbers || !std::ranges::all_of(*numbers, [](float number) {
        return std::isfinite(number) && number != 0;
      })) {
    return std::nullopt;
  }
  const bool has_sign = std::ranges::any_of(*numbers, [](float number) { return number < 0; });
  ScaledFormat scaled{.format = {.code = code,
                                 .scales = {{*groups, FloatScale{scale->element(), has_sign}}},
                                 .expressed = ref.operand_type(1)->element}};
  if (zeros) {
    scaled.format.offset = Offset::zero_point;
    scaled.offsets = {zeros};
  }
  // Uniform types keep the scales' own type.
  scaled.scales = {make_scales(is_integer ? scale->element() : ElementType::float32, shape,
                               *std::move(numbers))};
  if (!verify(scaled.format, codes)) return std::nullopt;
  return scaled;
}

std::optional<CodedWeight> coded_weight(const Graph& graph, NodeId node) {
  const NodeRef ref = graph.ref(node);
  if (!is_plain(graph, node, "DequantizeLinear")) return std::nullopt;
  const Constant* const codes = codes_of(graph, ref.operand(0));
  if (codes == nullptr || graph.uses(ref.operand(0).node).size() != 1) return std::nullopt;
  const ElementType element = ref.operand_type(0)->element;
  const auto code = code_of(element);
  auto format = code ? format_of(graph, node, *code, codes->shape()) : std::nullopt;
  if (!format) return std::nullopt;
  return CodedWeight{*codes, element, *std::move(format)};
}

/// A QuantizeLinear whose codes are read by DequantizeLinear alone, to whom they mean the same.
struct CodedResult {
  ScaledFormat format;
  std::vector<NodeId> readers;
};

/// The type of codes that it makes, by its zero points or attribute.
ElementType made_codes(const Graph& graph, NodeId node) {
  const NodeRef ref = graph.ref(node);
  if (const TensorType* const zeros = ref.operand_type(2)) return zeros->element;
  return numbered_element_type(ref.attribute_or<std::int64_t>("output_dtype", 0))
      .value_or(ElementType::undefined);
}

std::optional<CodedResult> coded_result(const Graph& graph, NodeId node) {
  const NodeRef ref = graph.ref(node);
  const ElementType code = made_codes(graph, node);
  if (!is_small_float(code) || !is_plain(graph, node, "QuantizeLinear", code)) return std::nullopt;
  const TensorType* const real = ref.operand_type(0);
  if (real == nullptr || real->is_quantized()) return std::nullopt;
  auto format = format_of(graph, node, FloatCode{code}, real->shape);
  if (!format) return std::nullopt;
  const ElementType expressed = format->format.expressed;
  if (real->element != expressed &&
      (real->element != ElementType::undefined || expressed != ElementType::float32)) {
    return std::nullopt;
  }
  CodedResult found{*std::move(format), {}};
  for (const Use& use : graph.uses(node)) {
    const bool is_reader = use.operand == 0 && is_plain(graph, use.user, "DequantizeLinear");
    const auto meant =
        is_reader ? format_of(graph, use.user, FloatCode{code}, real->shape) : std::nullopt;
    if (!meant || meant->format != found.format.format ||
        !same_numbers(meant->scales.front(), found.format.scales.front())) {
      return std::nullopt;
    }
    found.readers.push_back(use.user);
  }
  return found.readers.empty() ? std::nullopt : std::optional(std::move(found));
}

/// A scale, a Cast of one, or codes, that nobody reads and of which the file says no more.
void erase_unread_parameter(Graph& graph, NodeId node) {
  if (!graph.uses(node).empty()) return;
  const bool is_cast = graph.kind(node) == ops::Cast::kind;
  const bool is_plain = is_cast || graph.kind(node) == opaque_initializer_kind ||
                        std::ranges::all_of(graph.attributes(node), [](const auto& entry) {
                          return entry.first == regions::place;
                        });
  if (!is_plain) return;
  const Value before = is_cast ? graph.operands(node)[0] : Value{};
  graph.erase(node);
  if (is_cast && graph.uses(before.node).empty() && graph.attributes(before.node).empty()) {
    graph.erase(before.node);
  }
}

/// Takes operands from `first` on away from a node, and those that nobody else reads from the
/// graph.
void drop_operands(Graph& graph, NodeId node, std::uint32_t first) {
  const std::vector<Value> read(graph.operands(node).begin(), graph.operands(node).end());
  for (std::uint32_t i = first; i < read.size(); ++i) graph.set_operand(node, i, {});
  // The first ones last, so that they keep their place in the order.
  for (std::size_t i = read.size(); i-- > first;) {
    if (!read[i].is_absent()) erase_unread_parameter(graph, read[i].node);
  }
}

/// What the file says of a node besides the operator.
Attributes kept_attributes(const Graph& graph, NodeId node) {
  Attributes kept;
  for (const auto& [key, value] : graph.attributes(node)) {
    if (key.starts_with(prefix)) kept.set(key, value);
  }
  return kept;
}

/// In the place of the operator.
void put_conversion(Graph& graph, NodeId node, std::string_view kind, Value operand,
                    TensorType type) {
  replace_in_place(graph, node,
                   {.kind = std::string(kind),
                    .name = std::string(graph.name(node)),
                    .operands = {operand},
                    .results = {{std::string(graph.value_name({node})), std::move(type)}},
                    .attributes = kept_attributes(graph, node)});
}

void raise_result(Graph& graph, NodeId node, const CodedResult& result) {
  const Value real = graph.operands(node)[0];
  const Shape shape = graph.type(real).shape;
  std::vector<NodeId> readers = result.readers;
  drop_operands(graph, node, 1);
  for (const NodeId reader : readers) {
    drop_operands(graph, reader, 1);
    put_conversion(graph, reader, ops::Dequantize::kind, {node},
                   {result.format.format.expressed, shape, nullptr});
  }
  put_conversion(graph, node, ops::Quantize::kind, real,
                 {storage_element(result.format.format), shape, result.format});
}

void raise_weight(Graph& graph, NodeId node, const CodedWeight& weight) {
  const Value read = graph.operands(node)[0];
  const std::string name(graph.value_name(read));
  const Attribute* const place = graph.attribute(read.node, regions::place);
  const std::optional<Attribute> kept_place = place ? std::optional(*place) : std::nullopt;
  drop_operands(graph, node, 0);
  const Value codes = graph.add_constant(name, weight.codes);
  graph.set_constant(codes.node, weight.codes, Quantization(weight.format));
  if (kept_place) graph.set_attribute(codes.node, std::string(regions::place), *kept_place);
  if (bit_width(weight.element) < 8) {  // which the file keeps
    graph.set_attribute(codes.node, std::string(key::data_type),
                        element_type_number(weight.element));
  }
  put_conversion(graph, node, ops::Dequantize::kind, codes,
                 {weight.format.format.expressed, weight.codes.shape(), nullptr});
}

// --- writing ------------------------------------------------------------------------------------

bool makes_codes(const Graph& graph, NodeId node) {
  return graph.kind(node) == ops::Quantize::kind;
}

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
  const ElementType element = std::get<FloatCode>(type->format.code).type;
  const Constant contents = *graph.constant(codes.node);
  if (graph.uses(codes.node).size() > 1) {
    const std::string name(graph.value_name(codes));
    graph.set_operand(node, 0, add_small_floats(graph, name, contents, element));
  } else {
    graph.set_constant(codes.node, contents);
    graph.set_attribute(codes.node, std::string(key::data_type), element_type_number(element));
  }
}

}  // namespace

void raise_small_floats(Graph& graph) {
  const std::uint32_t end = graph.index_bound();
  for (std::uint32_t index = 0; index < end; ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || !graph.kind(node).starts_with(prefix)) continue;
    if (const auto weight = coded_weight(graph, node)) {
      raise_weight(graph, node, *weight);
    } else if (const auto result = coded_result(graph, node)) {
      raise_result(graph, node, *result);
    }
  }
}

void forget_small_floats(Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (node.is_valid() && graph.attribute(node, key::codes) != nullptr) {
      graph.erase_attribute(node, std::string(key::codes));
    }
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
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (node.is_valid() && graph.kind(node) == ops::DequantizeLinear::kind)
      store_codes(graph, node);
  }
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

#include "io/onnx/small_floats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
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
#include "ir/small_float.hpp"
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

/// Whether it is a `quantize`.
bool makes_codes(const Graph& graph, NodeId node) {
  return graph.kind(node) == ops::Quantize::kind;
}

// --- reading ------------------------------------------------------------------------------------

/// What codes of such an initializer are; empty for other elements.
std::optional<NumberCode> code_of(ElementType element) {
  if (is_small_float(element) || element == ElementType::float4e2m1) return FloatCode{element};
  if (element == ElementType::int2 || element == ElementType::uint2) {
    return IntegerCode::of(bit_width(element), element == ElementType::int2);
  }
  const auto range = integer_range(element);
  if (!range || bit_width(element) > 8) return std::nullopt;
  return IntegerCode::of(bit_width(element), range->min < 0);
}

/// The contents of an initializer of which nobody needs to know more; null for others.
const Constant* codes_of(const Graph& graph, Value value) {
  if (value.is_absent() || graph.type(value).is_quantized()) return nullptr;
  constexpr std::array known{key::tensor, key::data_directory, key::codes, regions::place};
  const bool is_constant = graph.kind(value.node) == ops::Constant::kind;
  if (!is_constant && graph.kind(value.node) != opaque_initializer_kind) return nullptr;
  for (const auto& [name, attribute] : graph.attributes(value.node)) {
    if (std::ranges::find(known, name) == known.end()) return nullptr;
  }
  return raised::contents(graph, value);
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
    if (key != "output_dtype") return false;
    return *number == 0 || made == ElementType::undefined || numbered_element_type(*number) == made;
  });
}

/// The scales of an operator.
struct LinearScale {
  Constant stored;
  ElementType element = ElementType::undefined;    ///< of these in the file
  ElementType expressed = ElementType::undefined;  ///< of the reals beside them
};

/// What the attribute `output_dtype` of that name says.
ElementType stated_type(const Graph& graph, NodeId node, const std::string& attribute) {
  return numbered_element_type(graph.attributes(node).get_or<std::int64_t>(attribute, 0))
      .value_or(ElementType::undefined);
}

/// Float32, or float16, which may be behind a Cast to float32; or powers of two beside reals of a
/// type that the operator says, or reads.
std::optional<LinearScale> scale_of(const Graph& graph, NodeId id, bool makes_codes) {
  const NodeRef node = graph.ref(id);
  const TensorType* const read = node.operand_type(1);
  if (read == nullptr) return std::nullopt;
  const ElementType stated =
      makes_codes ? ElementType::undefined : stated_type(graph, id, "output_dtype");
  if (const Constant* const scale = scales_read_by(node, 1)) {
    if (stated != ElementType::undefined && stated != read->element) return std::nullopt;
    return LinearScale{*scale, scale->element(), read->element};
  }
  const Constant* const powers = codes_of(graph, node.operand(1));
  const ElementType expressed = makes_codes ? node.operand_type(0)->element : stated;
  if (powers == nullptr || read->element != ElementType::float8e8m0 || !is_float(expressed)) {
    return std::nullopt;
  }
  return LinearScale{*powers, read->element, expressed};
}

std::optional<std::vector<float>> numbers_of(const LinearScale& scale) {
  if (scale.element != ElementType::float8e8m0) {
    auto numbers = read_scales(scale.stored);
    return numbers ? std::optional(*std::move(numbers)) : std::nullopt;
  }
  const auto bytes = scale.stored.read();
  if (!bytes) return std::nullopt;
  std::vector<float> numbers;
  for (const std::byte byte : bytes->bytes()) {
    numbers.push_back(widen_small_float(*small_float(scale.element), std::to_integer<int>(byte)));
  }
  return numbers;
}

/// What the scales and zero points of an operator, empty where there are none, say of codes of that
/// type and shape, by attributes whose names begin with `attribute_prefix`; empty where that is no
/// format.
std::optional<ScaledFormat> format_of(const NumberCode& code, const Shape& codes,
                                      const LinearScale& scale, const Constant& zero_points,
                                      const Attributes& attributes,
                                      std::string_view attribute_prefix) {
  const Shape shape = raised::parameter_shape(scale.stored);
  const auto groups = raised::granularity(attributes, attribute_prefix, false, shape, codes);
  auto numbers = numbers_of(scale);
  if (!groups || !numbers || !std::ranges::all_of(*numbers, [](float number) {
        return std::isfinite(number) && number != 0;
      })) {
    return std::nullopt;
  }
  const bool has_sign = std::ranges::any_of(*numbers, [](float number) { return number < 0; });
  ScaledFormat scaled{.format = {.code = code,
                                 .scales = {{*groups, FloatScale{scale.element, has_sign}}},
                                 .expressed = scale.expressed}};
  if (zero_points && !are_zeros(zero_points)) {
    if (!std::holds_alternative<IntegerCode>(code)) return std::nullopt;
    scaled.format.offset = Offset::zero_point;
    scaled.offsets = {zero_points.reshaped(shape)};
  }
  // Uniform types keep the scales' own type.
  const ElementType kept = is_uniform(scaled.format) ? scale.element : ElementType::float32;
  scaled.scales = {make_scales(kept, shape, *std::move(numbers))};
  if (!verify(scaled.format, codes)) return std::nullopt;
  return scaled;
}

/// The same as an operator of the graph says it.
std::optional<ScaledFormat> format_of(const Graph& graph, NodeId node, const NumberCode& code,
                                      const Shape& codes, bool makes_codes) {
  const auto scale = scale_of(graph, node, makes_codes);
  if (!scale) return std::nullopt;
  Constant zero_points;
  if (graph.operands(node).size() == 3) {
    const Constant* const stated = codes_of(graph, graph.operands(node)[2]);
    if (stated == nullptr || stated->element_count() != scale->stored.element_count()) {
      return std::nullopt;
    }
    zero_points = *stated;
  }
  return format_of(code, codes, *scale, zero_points, graph.attributes(node), {});
}

/// A DequantizeLinear that means codes in a format.
struct CodedWeight {
  NodeId node;
  ElementType element = ElementType::undefined;  ///< of the codes in the file
  ScaledFormat format;
};

std::optional<CodedWeight> coded_weight(const Graph& graph, NodeId node) {
  if (!is_plain(graph, node, "DequantizeLinear")) return std::nullopt;
  const Value read = graph.operands(node)[0];
  const Constant* const codes = codes_of(graph, read);
  if (codes == nullptr) return std::nullopt;
  const ElementType element = graph.type(read).element;
  const auto code = code_of(element);
  auto format = code ? format_of(graph, node, *code, codes->shape(), false) : std::nullopt;
  if (!format) return std::nullopt;
  // Others of a uniform type are `raise_linear`'s, who had a reason to leave them.
  const bool is_carried_type = graph.kind(read.node) == opaque_initializer_kind;
  if (!is_carried_type && is_uniform(format->format)) return std::nullopt;
  return CodedWeight{node, element, *std::move(format)};
}

/// Those whose codes nobody else reads.
std::vector<CodedWeight> coded_weights(const Graph& graph) {
  std::map<NodeId, std::size_t> readers;  // by codes
  std::vector<CodedWeight> found;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || !graph.kind(node).starts_with(prefix)) continue;
    auto weight = coded_weight(graph, node);
    if (!weight) continue;
    ++readers[graph.operands(node)[0].node];
    found.push_back(*std::move(weight));
  }
  std::erase_if(found, [&](const CodedWeight& weight) {
    const NodeId codes = graph.operands(weight.node)[0].node;
    return graph.uses(codes).size() != readers[codes];
  });
  return found;
}

/// A QuantizeLinear whose codes are read by DequantizeLinear alone, to whom they mean the same.
struct CodedResult {
  ScaledFormat format;
  ElementType element = ElementType::undefined;  ///< of the codes in the file
  std::vector<NodeId> readers;
};

/// The type of codes that it makes, by its zero points or attribute.
ElementType made_codes(const Graph& graph, NodeId node) {
  const TensorType* const zeros = graph.ref(node).operand_type(2);
  return zeros != nullptr ? zeros->element : stated_type(graph, node, "output_dtype");
}

std::optional<CodedResult> coded_result(const Graph& graph, NodeId node) {
  const NodeRef ref = graph.ref(node);
  const ElementType code = made_codes(graph, node);
  if (!is_small_float(code) || !is_plain(graph, node, "QuantizeLinear", code)) return std::nullopt;
  const TensorType* const real = ref.operand_type(0);
  if (real == nullptr || real->is_quantized()) return std::nullopt;
  auto format = format_of(graph, node, FloatCode{code}, real->shape, true);
  if (!format) return std::nullopt;
  const ElementType expressed = format->format.expressed;
  if (real->element != expressed &&
      (real->element != ElementType::undefined || expressed != ElementType::float32)) {
    return std::nullopt;
  }
  CodedResult found{*std::move(format), code, {}};
  for (const Use& use : graph.uses(node)) {
    const bool is_reader = use.operand == 0 && is_plain(graph, use.user, "DequantizeLinear");
    const auto meant =
        is_reader ? format_of(graph, use.user, FloatCode{code}, real->shape, false) : std::nullopt;
    if (!meant || meant->format != found.format.format ||
        !same_numbers(meant->scales.front(), found.format.scales.front())) {
      return std::nullopt;
    }
    found.readers.push_back(use.user);
  }
  return found.readers.empty() ? std::nullopt : std::optional(std::move(found));
}

class SmallFloats {
 public:
  explicit SmallFloats(Graph& graph) : graph_(graph) {}

  void raise() {
    for (const CodedWeight& weight : coded_weights(graph_)) raise(weight);
    const std::uint32_t end = graph_.index_bound();
    for (std::uint32_t index = 0; index < end; ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid() || !graph_.kind(node).starts_with(prefix)) continue;
      if (const auto result = coded_result(graph_, node)) raise(node, *result);
    }
    erase_parameters();
  }

 private:
  void raise(const CodedWeight& weight) {
    const Value read = graph_.operands(weight.node)[0];
    const Value codes = codes_in(read, weight);
    const Shape shape = graph_.type(codes).shape;
    Attributes kept = kept_operator(weight.node, weight.format, weight.element);
    if (codes != graph_.operands(weight.node)[0]) {
      kept.set(std::string(raised::codes_name), std::string(graph_.value_name(read)));
    }
    put_conversion(weight.node, ops::Dequantize::kind, codes,
                   {weight.format.format.expressed, shape, nullptr}, std::move(kept));
  }

  /// The constant of these codes with that meaning: another one where they have another meaning.
  Value codes_in(Value read, const CodedWeight& weight) {
    const Quantization meaning(weight.format);
    const Constant contents = *raised::contents(graph_, read);
    Value codes = read;
    if (graph_.kind(read.node) == opaque_initializer_kind) {
      codes = {replace_in_place(graph_, read.node,
                                {.kind = std::string(ops::Constant::kind),
                                 .results = {{std::string(graph_.value_name(read)),
                                              {contents.element(), contents.shape(), nullptr}}},
                                 .attributes = kept_place(read.node),
                                 .constant = contents})};
    } else if (graph_.type(read).is_quantized()) {
      if (mean_the_same(graph_.type(read).quantization, meaning)) return read;
      codes = graph_.add_constant(std::string(graph_.value_name(read)), contents);
      if (const Attribute* const place = graph_.attribute(read.node, regions::place)) {
        graph_.set_attribute(codes.node, std::string(regions::place), *place);
      }
    }
    graph_.set_constant(codes.node, contents, meaning);
    if (bit_width(weight.element) < 4) {  // which the file keeps
      graph_.set_attribute(codes.node, std::string(key::data_type),
                           element_type_number(weight.element));
    }
    return codes;
  }

  [[nodiscard]] Attributes kept_place(NodeId node) const {
    const Attribute* const place = graph_.attribute(node, regions::place);
    return place ? Attributes{{std::string(regions::place), *place}} : Attributes{};
  }

  void raise(NodeId node, const CodedResult& result) {
    const Value real = graph_.operands(node)[0];
    const Shape shape = graph_.type(real).shape;
    for (const NodeId reader : result.readers) {
      put_conversion(reader, ops::Dequantize::kind, {node},
                     {result.format.format.expressed, shape, nullptr},
                     kept_operator(reader, result.format, result.element));
    }
    put_conversion(node, ops::Quantize::kind, real,
                   {storage_element(result.format.format), shape, result.format},
                   kept_operator(node, result.format, result.element));
  }

  [[nodiscard]] Attributes kept_operator(NodeId node, const ScaledFormat& format,
                                         ElementType element) const {
    Attributes kept = raised::kept_operator(graph_, {node, {}, format.offsets.empty()});
    kept.set(std::string(raised::codes_type), element_type_number(element));
    return kept;
  }

  /// In the place of the operator.
  void put_conversion(NodeId node, std::string_view kind, Value operand, TensorType type,
                      Attributes attributes) {
    for (const Value read : graph_.operands(node).subspan(1)) {
      parameters_.insert(read.node);
      if (graph_.kind(read.node) == ops::Cast::kind) {
        parameters_.insert(graph_.operands(read.node)[0].node);
      }
    }
    replace_in_place(graph_, node,
                     {.kind = std::string(kind),
                      .name = std::string(graph_.name(node)),
                      .operands = {operand},
                      .results = {{std::string(graph_.value_name({node})), std::move(type)}},
                      .attributes = std::move(attributes)});
  }

  /// In the order of their indices, as `raise_linear` does.
  void erase_parameters() {
    for (const NodeId node : parameters_) {
      if (graph_.kind(node) != ops::Cast::kind || !graph_.uses(node).empty()) continue;
      if (is_remembered(node)) graph_.set_operand(node, 0, {});
    }
    for (const NodeId node : parameters_) {
      if (!is_remembered(node)) {
        graph_.set_attribute(node, std::string(raised::parameter), std::int64_t{1});
      } else if (graph_.uses(node).empty()) {
        graph_.erase(node);
      }
    }
  }

  /// Whether the operators that read it know all that there is to it.
  [[nodiscard]] bool is_remembered(NodeId node) const {
    if (graph_.kind(node) == opaque_initializer_kind) return true;
    const bool is_cast = graph_.kind(node) == ops::Cast::kind;
    return std::ranges::all_of(graph_.attributes(node), [&](const auto& entry) {
      return entry.first == regions::place || (is_cast && entry.first == "to");
    });
  }

  Graph& graph_;
  std::set<NodeId> parameters_;
};

// --- writing ------------------------------------------------------------------------------------

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

void raise_small_floats(Graph& graph) { SmallFloats(graph).raise(); }

Quantization remembered_format(const Graph& graph, NodeId node) {
  const Attributes& attributes = graph.attributes(node);
  const auto attribute = [&](std::string_view key, std::string_view suffix) {
    return std::string(key) + std::string(suffix);
  };
  const Value operand = graph.ref(node).operand(0);
  const auto code = code_of(stated_type(graph, node, std::string(raised::codes_type)));
  LinearScale scale{.stored = attributes.get_or(std::string(raised::scale), Constant{})};
  if (operand.is_absent() || !code || !scale.stored) return {};
  scale.element = stated_type(graph, node, attribute(raised::scale, raised::type_suffix));
  const bool is_plain = scale.element == ElementType::undefined;
  if (is_plain) scale.element = scale.stored.element();
  if (graph.attribute(node, attribute(raised::scale_cast, raised::name_suffix)) != nullptr) {
    scale.expressed = ElementType::float32;
  } else if (is_plain) {
    scale.expressed = scale.element;
  } else {
    scale.expressed = makes_codes(graph, node)
                          ? graph.type(operand).element
                          : stated_type(graph, node, attribute(raised::attribute, "output_dtype"));
  }
  const auto format = format_of(*code, graph.type(operand).shape, scale,
                                attributes.get_or(std::string(raised::zero_point), Constant{}),
                                attributes, raised::attribute);
  return format ? Quantization(*format) : Quantization();
}

void forget_small_floats(Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (node.is_valid() && graph.attribute(node, key::codes) != nullptr) {
      graph.erase_attribute(node, std::string(key::codes));
    }
  }
}

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

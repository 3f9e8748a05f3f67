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
#include "io/onnx/opset.hpp"
#include "io/onnx/raise.hpp"
#include "ir/ops/codes.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/packed_codes.hpp"
#include "ir/regions.hpp"
#include "ir/scales.hpp"
#include "ir/small_float.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {

bool is_small_float(ElementType element) noexcept {
  return element == ElementType::float8e4m3 || element == ElementType::float8e5m2;
}

bool makes_codes(const Graph& graph, NodeId node) {
  return graph.kind(node) == ops::Quantize::kind;
}

namespace {

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
  const auto format = small_float(scale.element);
  if (!bytes || !format) return std::nullopt;
  std::vector<float> numbers;
  for (const std::byte byte : bytes->bytes()) {
    numbers.push_back(widen_small_float(*format, std::to_integer<int>(byte)));
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
  // Others of a uniform type are `raise_linear`'s, who had a reason to leave them, but for scales
  // behind a Cast, which it does not read.
  const bool is_carried_type = graph.kind(read.node) == opaque_initializer_kind;
  const bool has_cast = graph.kind(graph.operands(node)[1].node) == ops::Cast::kind;
  if (!is_carried_type && !has_cast && is_uniform(format->format)) return std::nullopt;
  return CodedWeight{node, element, *std::move(format)};
}

/// How many lookups read integers of a constant, whose meaning they say themselves.
std::ptrdiff_t lookups_in(const Graph& graph, NodeId codes) {
  if (graph.constant(codes) == nullptr) return 0;
  return std::ranges::count_if(graph.uses(codes), [&](const Use& use) {
    return use.operand == 0 && graph.kind(use.user) == gather_block_quantized_kind;
  });
}

/// Those whose codes nobody else reads but lookups.
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
    const auto lookups = static_cast<std::size_t>(lookups_in(graph, codes));
    return graph.uses(codes).size() != readers[codes] + lookups;
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

}  // namespace quadrant::inline v0::onnx

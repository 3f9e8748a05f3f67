#include "io/onnx/dequantize.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "io/onnx/edit.hpp"
#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/opset.hpp"

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::int64_t opset_per_tensor = 10;  // DequantizeLinear
constexpr std::int64_t opset_per_axis = 13;    // ... with `axis`
constexpr std::int64_t opset_blocked = 21;     // ... with `block_size`, for 4 and 16 bits

bool is_conversion(std::string_view kind) {
  return kind == ops::Quantize::kind || kind == ops::Dequantize::kind ||
         kind == ops::StorageCast::kind;
}

/// The opset whose DequantizeLinear and QuantizeLinear know the type.
std::int64_t opset_needed(const UniformType& type) {
  if (type.granularity.kind == Granularity::Kind::block) return opset_blocked;
  switch (type.storage) {
    case ElementType::int8:
    case ElementType::uint8:
    case ElementType::int32:
      return type.granularity.kind == Granularity::Kind::axis ? opset_per_axis : opset_per_tensor;
    default:
      return opset_blocked;
  }
}

class Lowering {
 public:
  explicit Lowering(Graph& graph) : graph_(graph) {
    lowered_.opset_read = lowered_.opset_written = opset_of(graph);
  }

  Lowered run() {
    std::vector<NodeId> conversions;
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (node.is_valid() && is_conversion(graph_.kind(node))) conversions.push_back(node);
    }
    raise_opset(conversions);
    if (!conversions.empty()) spell_out_permutations();
    collect_node_names();
    for (const NodeId node : conversions) {
      const std::string label(graph_.value_name({node}));
      in_node(label, [&] { lower(node); });
    }
    return std::move(lowered_);
  }

 private:
  /// A Transpose may leave out `perm`. ONNX Runtime (1.23) ends the process when its optimizer
  /// moves a per-axis DequantizeLinear across one that does, so what is implied is written.
  void spell_out_permutations() {
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid() || graph_.kind(node) != ops::Transpose::kind) continue;
      if (graph_.attribute(node, "perm") != nullptr) continue;
      std::vector<std::int64_t> perm = ops::Transpose{graph_.ref(node)}.perm();
      if (!perm.empty()) graph_.set_attribute(node, "perm", std::move(perm));
    }
  }

  void collect_node_names() {
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (node.is_valid() && !is_conversion(graph_.kind(node))) {
        node_names_.emplace(graph_.name(node));
      }
    }
  }

  void raise_opset(const std::vector<NodeId>& conversions) {
    std::int64_t& opset = lowered_.opset_written;
    const auto asks = [&](NodeId node) {
      const std::int64_t needed = opset_needed(node);
      return needed > opset && needed <= opset_per_axis;
    };
    if (opset >= opset_per_axis || std::ranges::none_of(conversions, asks)) return;
    lowered_.fallback_reason = upgrade_to_13(graph_);
    if (!lowered_.fallback_reason.empty()) return;
    opset = opset_per_axis;
    set_opset(graph_, opset);
  }

  [[nodiscard]] std::int64_t opset_needed(NodeId node) const {
    const UniformType* type = quantized_type(node);
    return type && graph_.kind(node) != ops::StorageCast::kind ? onnx::opset_needed(*type) : 0;
  }

  /// The parameters of a conversion: its operand's type, or its result's.
  [[nodiscard]] const UniformType* quantized_type(NodeId node) const {
    const Value operand = graph_.ref(node).operand(0);
    if (operand.is_absent()) return nullptr;
    const bool to_real = graph_.kind(node) == ops::Dequantize::kind;
    return graph_.type(to_real ? operand : Value{node}).quantization.get();
  }

  void lower(NodeId node) {
    const Value operand = graph_.ref(node).operand(0);
    if (operand.is_absent()) impossible("a conversion without an operand");
    if (graph_.kind(node) == ops::StorageCast::kind) {
      finish(node, add(node, "identity", {operand}, graph_.type({node})));
      return;
    }
    const UniformType* found = quantized_type(node);
    if (!found) impossible(fmt::format("a {} without a quantized type", graph_.kind(node)));
    const UniformType type = *found;
    const bool linear = lowered_.opset_written >= onnx::opset_needed(type);
    if (graph_.kind(node) == ops::Quantize::kind) {
      if (!linear) refuse(type, "quantize");
      quantize(node, operand, type);
    } else if (linear) {
      dequantize(node, operand, type);
    } else {
      if (is_packed(type.storage) || type.granularity.kind == Granularity::Kind::block) {
        refuse(type, "dequantize");
      }
      if (lowered_.fallback_reason.empty()) {
        lowered_.fallback_reason =
            fmt::format("DequantizeLinear of {} needs opset {}, the model has {}",
                        to_string(type.storage), onnx::opset_needed(type), lowered_.opset_written);
      }
      dequantize_by_arithmetic(node, operand, type);
    }
  }

  [[noreturn]] void refuse(const UniformType& type, std::string_view what) const {
    impossible(
        fmt::format("to {} {} needs opset {}, the model has {}: convert it first "
                    "(onnx.version_converter)",
                    what, to_string(type), onnx::opset_needed(type), lowered_.opset_written));
  }

  // --- the three forms --------------------------------------------------------------------------

  void dequantize(NodeId node, Value codes, const UniformType& type) {
    const std::string name(graph_.value_name({node}));
    TensorType real = graph_.type({node});
    real.element = ElementType::float32;
    std::vector<Value> operands{codes, scales(name, type)};
    // int32 codes have no zero point (https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html).
    if (type.zero_points || type.storage != ElementType::int32) {
      operands.push_back(zero_points(name, type));
    }
    const Value result = add(node, "onnx.DequantizeLinear", std::move(operands), std::move(real),
                             linear_attributes(codes, type));
    finish(node, cast_from_float32(node, result, type.expressed));
  }

  void quantize(NodeId node, Value real, const UniformType& type) {
    const std::string name(graph_.value_name(real));
    // QuantizeLinear of 16-bit floats wants its scale in 16 bits, too: see cast_from_float32.
    if (type.expressed != ElementType::float32) {
      TensorType widened = graph_.type(real);
      widened.element = ElementType::float32;
      real = add_cast(node, real, std::move(widened));
    }
    Value codes =
        add(node, "onnx.QuantizeLinear", {real, scales(name, type), zero_points(name, type)},
            graph_.type({node}), linear_attributes(real, type));
    const auto full = integer_range(type.storage);
    if (full && (type.storage_min > full->min || type.storage_max < full->max)) {
      // QuantizeLinear saturates to the storage type; the codes in use are fewer.
      codes = add(node, "onnx.Clip",
                  {codes, storage_scalar(type.storage, type.storage_min, name + "_min"),
                   storage_scalar(type.storage, type.storage_max, name + "_max")},
                  graph_.type({node}));
    }
    finish(node, codes);
  }

  /// (codes - zero point) * scale, spelled out for opsets without a DequantizeLinear for it.
  void dequantize_by_arithmetic(NodeId node, Value codes, const UniformType& type) {
    const std::string name(graph_.value_name({node}));
    TensorType real = graph_.type({node});
    real.element = ElementType::float32;
    Value result = add_cast(node, codes, real);
    if (type.zero_points) {
      const Value zeros = graph_.add_constant(
          name + "_zero_point", broadcastable(as_floats(type.zero_points), codes, type));
      result = add(node, "onnx.Sub", {result, zeros}, real);
    }
    const Value scale =
        graph_.add_constant(name + "_scale", broadcastable(type.scales, codes, type));
    result = add(node, "onnx.Mul", {result, scale}, real);
    finish(node, cast_from_float32(node, result, type.expressed));
  }

  // --- parts ------------------------------------------------------------------------------------

  Value add(NodeId node, std::string kind, std::vector<Value> operands, TensorType type,
            Attributes attributes = {}) {
    type.quantization = nullptr;
    std::string result(
        graph_.value_name({node}));  // gets a suffix; the last one takes the name over
    return add_op(graph_, std::move(kind), {}, std::move(operands),
                  {std::move(result), std::move(type)}, std::move(attributes));
  }

  Value add_cast(NodeId node, Value value, TensorType to) {
    const DataType* type = find_data_type(to.element);
    if (!type) impossible(fmt::format("ONNX has no tensors of {}", to_string(to.element)));
    return add(node, "onnx.Cast", {value}, std::move(to), {{"to", type->number}});
  }

  /// Scales stay float32 whatever the expressed type is: float16 cannot hold small ones (below 6e-5
  /// they lose digits, below 6e-8 they vanish), so values are computed in float32 and rounded once.
  Value cast_from_float32(NodeId node, Value value, ElementType expressed) {
    if (expressed == ElementType::float32) return value;
    TensorType type = graph_.type(value);
    type.element = expressed;
    return add_cast(node, value, std::move(type));
  }

  /// The last of the operators gets the names of what they replace. ONNX Runtime refuses two nodes
  /// of one name, so a name that another node has is left out.
  void finish(NodeId node, Value result) {
    std::string name(graph_.name(node));
    take_over(graph_, {node}, result);
    if (node_names_.insert(name).second) graph_.set_node_name(result.node, std::move(name));
  }

  [[nodiscard]] Attributes linear_attributes(Value value, const UniformType& type) const {
    if (type.granularity.kind == Granularity::Kind::tensor) return {};
    // Without the attribute, the axis is 1.
    Attributes attributes{{"axis", axis_of(value, type)}};
    if (type.granularity.kind == Granularity::Kind::block) {
      attributes.set("block_size", type.granularity.block_size);
    }
    return attributes;
  }

  [[nodiscard]] std::int64_t axis_of(Value value, const UniformType& type) const {
    const Shape& shape = graph_.type(value).shape;
    if (!shape.is_ranked()) return type.granularity.axis;
    const auto axis = normalize_axis(type.granularity.axis, shape.rank());
    if (!axis) {
      impossible(fmt::format("quantized along axis {} of {} dimensions", type.granularity.axis,
                             shape.rank()));
    }
    return *axis;
  }

  /// Initializers are shared by all conversions that have the same parameters.
  Value scales(const std::string& name, const UniformType& type) {
    return shared(type.scales, 0, name + "_scale", [&] { return type.scales; });
  }

  Value zero_points(const std::string& name, const UniformType& type) {
    if (type.zero_points) {
      return shared(type.zero_points, 0, name + "_zero_point", [&] { return type.zero_points; });
    }
    // Zeros say which integer type it is, to tools that look for it there.
    const int width = byte_width(type.storage);
    return shared(type.scales, static_cast<int>(type.storage), name + "_zero_point", [&] {
      const auto count = static_cast<std::size_t>(type.scales.element_count());
      return Constant::from_bytes(type.storage, type.scales.shape(),
                                  std::vector<std::byte>(count * static_cast<std::size_t>(width)));
    });
  }

  template <class Make>
  Value shared(const Constant& constant, int variant, std::string name, Make make) {
    if (!constant) impossible("a quantized type without scales");
    // Equality of constants is identity, and the shape lives inside.
    auto& variants = initializers_[&constant.shape()];
    const auto found = std::ranges::find(variants, variant, &std::pair<int, Value>::first);
    if (found != variants.end()) return found->second;
    const Value value = graph_.add_constant(std::move(name), make());
    variants.emplace_back(variant, value);
    kept_alive_.push_back(constant);
    return value;
  }

  Value storage_scalar(ElementType storage, std::int64_t value, std::string name) {
    const auto bytes =
        std::as_bytes(std::span(&value, 1)).first(static_cast<std::size_t>(byte_width(storage)));
    return graph_.add_constant(std::move(name),
                               Constant::from_bytes(storage, Shape(std::vector<std::int64_t>{}),
                                                    {bytes.begin(), bytes.end()}));
  }

  static Constant as_floats(const Constant& integers) {
    const auto values = value_of(read_integers(integers, integers.element_count()));
    std::vector<float> floats;
    floats.reserve(values.size());
    for (const std::int64_t value : values) floats.push_back(static_cast<float>(value));
    return Constant::from_values(ElementType::float32, integers.shape(),
                                 std::span<const float>(floats));
  }

  /// Per-axis parameters with an extent of 1 at every other axis.
  [[nodiscard]] Constant broadcastable(const Constant& parameters, Value codes,
                                       const UniformType& type) const {
    if (!parameters) impossible("a quantized type without scales");
    if (type.granularity.kind != Granularity::Kind::axis) return parameters;
    const Shape& shape = graph_.type(codes).shape;
    if (!shape.is_ranked()) impossible("quantized along an axis, but the rank is unknown");
    std::vector<std::int64_t> extents(static_cast<std::size_t>(shape.rank()), 1);
    extents[static_cast<std::size_t>(axis_of(codes, type))] = parameters.element_count();
    const ConstantBytes bytes = value_of(parameters.read());
    return Constant::from_bytes(parameters.element(), Shape(std::move(extents)),
                                {bytes.bytes().begin(), bytes.bytes().end()});
  }

  Graph& graph_;
  Lowered lowered_;
  std::unordered_map<const Shape*, std::vector<std::pair<int, Value>>> initializers_;
  std::vector<Constant> kept_alive_;
  std::unordered_set<std::string> node_names_;
};

}  // namespace

Lowered lower_quantization(Graph& graph) { return Lowering(graph).run(); }

}  // namespace quadrant::inline v0::onnx

#include "io/onnx/dequantize.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "io/onnx/edit.hpp"
#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/float_moves.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/onnxruntime_forms.hpp"
#include "io/onnx/opset.hpp"
#include "io/onnx/parameters.hpp"
#include "io/onnx/write_graph.hpp"
#include "ir/ops/codes.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/two_bits.hpp"
#include "numerics/code_limits.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::int64_t opset_per_tensor = 10;  // DequantizeLinear
constexpr std::int64_t opset_per_axis = 13;    // ... with `axis`

// The contrib operator of ONNX Runtime: 4 bits at any opset, but no blocks.
constexpr std::string_view microsoft_kind = "onnx.com.microsoft::DequantizeLinear";

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

constexpr std::int64_t opset_of_two_bits = 25;  // int2 and uint2

class Lowering {
 public:
  explicit Lowering(Graph& graph) : graph_(graph), parameters_(graph) {
    lowered_.opset_read = lowered_.opset_written = opset_version(graph);
  }

  Lowered run() {
    collect_conversions();
    raise_opset();
    if (lowered_.opset_written >= opset_of_unsigned_activations) {
      lowered_.unsigned_activations = use_unsigned_activations(graph_);
      collect_conversions();
    }
    keep_dilations_from_codes(graph_);
    weights_of_16_bit_data_ = weights_of_16_bit_data(graph_);
    keep_two_bits();
    if (!conversions_.empty()) {
      spell_out_permutations();
      spell_out_pads(graph_);
    }
    collect_node_names();
    for (const Conversion& conversion : conversions_) {
      const std::string label(graph_.value_name({conversion.node}));
      in_node(label, [&] { lower(conversion); });
    }
    if (lowered_.microsoft + lowered_.arithmetic > 0) {
      lowered_.fallback_reason = fmt::format("{}: {}", what_was_done(), why_not_);
    }
    return std::move(lowered_);
  }

 private:
  struct Conversion {
    NodeId node;
    /// The parameters: its operand's type, or its result's. Null for a storage_cast. Kept here,
    /// since the operand is another one when the storage_casts are gone.
    std::shared_ptr<const UniformType> type;
  };

  void collect_conversions() {
    conversions_.clear();
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid() || !is_conversion(graph_.kind(node))) continue;
      const NodeRef ref = graph_.ref(node);
      std::shared_ptr<const UniformType> type;
      if (ref.kind() == ops::Quantize::kind) {
        type = ref.type().uniform();
      } else if (ref.kind() == ops::Dequantize::kind && !ref.operand(0).is_absent()) {
        type = ref.operand_type(0)->uniform();
      }
      conversions_.push_back({node, std::move(type)});
    }
  }

  /// Weights that were of 2 bits in the file that was read stay so, where they are still such codes
  /// and nobody reads them as other integers.
  void keep_two_bits() {
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      const bool is_constant = node.is_valid() && graph_.constant(node) != nullptr;
      if (!is_constant || !is_packed(stored_element(graph_, node))) continue;
      if (graph_.attribute(node, key::data_type) != nullptr && !is_weight_of_two_bits(node)) {
        graph_.erase_attribute(node, key::data_type);
      }
    }
  }

  [[nodiscard]] bool is_weight_of_two_bits(NodeId codes) const {
    const auto type = graph_.type({codes}).uniform();
    const bool are_codes = std::ranges::all_of(graph_.uses(codes), [&](const Use& use) {
      const std::string_view kind = graph_.kind(use.user);
      return kind == ops::Dequantize::kind || kind == linear_kind;
    });
    if (!type) return are_codes;  // what was read, as it was
    return are_codes && lowered_.opset_written >= opset_of_two_bits &&
           two_bit_element(*type) == stored_element(graph_, codes);
  }

  void store_as(Value constant, ElementType element) {
    graph_.set_attribute(constant.node, std::string(key::data_type), element_type_number(element));
  }

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

  /// To what the most demanding conversion needs, or, where that cannot be, the others.
  void raise_opset() {
    std::int64_t& opset = lowered_.opset_written;
    for (const std::int64_t target : {opset_blocked, opset_per_axis}) {
      const bool needed = std::ranges::any_of(conversions_, [&](const Conversion& conversion) {
        const std::int64_t least = conversion.type ? opset_needed(*conversion.type) : 0;
        return least > opset && (least == opset_blocked) == (target == opset_blocked);
      });
      if (!needed) continue;
      std::string why_not = upgrade(graph_, target);
      if (why_not.empty()) {
        opset = target;
        set_opset(graph_, opset);
        return;
      }
      if (why_not_.empty()) why_not_ = std::move(why_not);
    }
  }

  [[nodiscard]] std::string what_was_done() const {
    std::string text = fmt::format("of {} dequantizations",
                                   lowered_.linear + lowered_.microsoft + lowered_.arithmetic);
    const auto add = [&](std::int64_t count, std::string_view form) {
      if (count > 0) text += fmt::format(", {} written as {}", count, form);
    };
    add(lowered_.arithmetic, "Cast and Mul");
    add(lowered_.microsoft, "com.microsoft.DequantizeLinear");
    return text;
  }

  void lower(const Conversion& conversion) {
    const NodeId node = conversion.node;
    const Value operand = graph_.ref(node).operand(0);
    if (operand.is_absent()) impossible("a conversion without an operand");
    if (graph_.kind(node) == ops::StorageCast::kind) {
      drop_storage_cast(node, operand);
      return;
    }
    if (!conversion.type) {
      impossible(fmt::format("a {} without a quantized type", graph_.kind(node)));
    }
    const UniformType& type = *conversion.type;
    const bool linear = lowered_.opset_written >= opset_needed(type);
    if (graph_.kind(node) == ops::Quantize::kind) {
      if (!linear) refuse_quantize(type);
      quantize(node, operand, type);
    } else if (linear) {
      ++lowered_.linear;
      dequantize(node, operand, type, linear_kind);
    } else if (is_packed(type.storage) && type.granularity.kind != Granularity::Kind::block) {
      ++lowered_.microsoft;
      dequantize(node, operand, type, microsoft_kind);
    } else {
      ++lowered_.arithmetic;
      dequantize_by_arithmetic(node, operand, type);
    }
  }

  [[noreturn]] void refuse_quantize(const UniformType& type) const {
    impossible(fmt::format("to quantize {} needs opset {}, the model has {} and stays there: {}",
                           to_string(type), opset_needed(type), lowered_.opset_written, why_not_));
  }

  // --- the forms --------------------------------------------------------------------------------

  void dequantize(NodeId node, Value codes, UniformType type, std::string_view kind) {
    const std::string name(graph_.value_name({node}));
    const bool has_16_bit_data = weights_of_16_bit_data_.contains(node);
    if (has_16_bit_data && type.granularity.kind == Granularity::Kind::tensor) {
      type.scales = as_list(type.scales);
      if (type.zero_points) type.zero_points = as_list(type.zero_points);
    }
    TensorType real = graph_.type({node});
    real.element = ElementType::float32;
    std::vector<Value> operands{codes, parameters_.scales(name, type)};
    const bool has_two_bits = graph_.attribute(codes.node, key::data_type) != nullptr;
    // Where all are zero, they say which integer type it is, to tools that look for it there; for
    // blocks that would take room. int32 codes have none
    // (https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html).
    if (has_two_bits) {
      if (type.zero_points) {
        operands.push_back(graph_.add_constant(name + "_zero_point", type.zero_points));
        store_as(operands.back(), two_bit_element(type));
      }
    } else if (type.zero_points || (type.storage != ElementType::int32 &&
                                    type.granularity.kind != Granularity::Kind::block)) {
      operands.push_back(parameters_.zero_points(name, type));
    }
    const Value result = add(node, std::string(kind), std::move(operands), std::move(real),
                             linear_attributes(codes, type, has_16_bit_data));
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
    // QuantizeLinear saturates to the storage type; the codes in use may be fewer. There is no Clip
    // of 4 bits, and in ONNX Runtime (1.23) none of 16.
    const bool is_limited = is_part_of_storage(type);
    const bool has_clip = bit_width(type.storage) == 8 || bit_width(type.storage) == 32;
    if (is_limited && !has_clip) real = value_of(limited_to_codes(graph_, real, type));
    Value codes = add(node, ops::QuantizeLinear::kind,
                      {real, parameters_.scales(name, type), parameters_.zero_points(name, type)},
                      graph_.type({node}), linear_attributes(real, type));
    if (is_limited && has_clip) {
      codes = add(node, ops::Clip::kind,
                  {codes, parameters_.code(type.storage, type.storage_min, name + "_min"),
                   parameters_.code(type.storage, type.storage_max, name + "_max")},
                  graph_.type({node}));
    }
    finish(node, codes);
  }

  /// (codes - zero point) * scale, spelled out for opsets without a DequantizeLinear for it.
  void dequantize_by_arithmetic(NodeId node, Value codes, const UniformType& type) {
    const std::string name(graph_.value_name({node}));
    TensorType real = graph_.type({node});
    real.element = ElementType::float32;
    // No Cast before opset 21 reads 4 bits.
    Value result = is_packed(type.storage) ? add(node, std::string(microsoft_kind),
                                                 {codes, parameters_.unit_scale()}, real)
                                           : add_cast(node, codes, real);
    if (type.zero_points) {
      result = add(node, ops::Sub::kind, {result, parameters_.offsets(name, codes, type)}, real);
    }
    result = add(node, "onnx.Mul", {result, parameters_.factors(name, codes, type)}, real);
    finish(node, cast_from_float32(node, result, type.expressed));
  }

  /// The bits are the same, so readers read the operand. Who knows the value by its name (graph
  /// outputs, subgraphs) gets an Identity.
  void drop_storage_cast(NodeId node, Value operand) {
    for (const Use& use : std::vector(graph_.uses(node).begin(), graph_.uses(node).end())) {
      if (graph_.kind(use.user) != ops::Output::kind && !is_capture(graph_, use)) {
        graph_.set_operand(use.user, use.operand, operand);
      }
    }
    if (graph_.uses(node).empty()) {
      graph_.erase(node);
    } else {
      finish(node, add(node, std::string(ops::Identity::kind), {operand}, graph_.type({node})));
    }
  }

  // --- parts ------------------------------------------------------------------------------------

  Value add(NodeId node, std::string_view kind, std::vector<Value> operands, TensorType type,
            Attributes attributes = {}) {
    type.quantization = nullptr;
    std::string result(
        graph_.value_name({node}));  // gets a suffix; the last one takes the name over
    return add_op(graph_, kind, {}, std::move(operands), {std::move(result), std::move(type)},
                  std::move(attributes));
  }

  Value add_cast(NodeId node, Value value, TensorType to) {
    const std::int64_t number = element_type_number(to.element);
    if (number == 0) impossible(fmt::format("ONNX has no tensors of {}", to_string(to.element)));
    return add(node, "onnx.Cast", {value}, std::move(to), {{"to", number}});
  }

  /// Scales stay float32 whatever the expressed type is: float16 cannot hold small ones (below 6e-5
  /// they lose digits, below 6e-8 they vanish), so values are computed in float32 and rounded once.
  Value cast_from_float32(NodeId node, Value value, ElementType expressed) {
    if (expressed == ElementType::float32) return value;
    TensorType type = graph_.type(value);
    type.element = expressed;
    return add_cast(node, value, std::move(type));
  }

  /// A scale as a list of one, for the operators the same as a number. One list for all that share
  /// the number.
  Constant as_list(const Constant& number) {
    auto& [list, kept_alive] = lists_[&number.shape()];
    if (!list) {
      list = number.reshaped(Shape{1});
      kept_alive = number;
    }
    return list;
  }

  /// The last of the operators gets the names of what they replace. ONNX Runtime refuses two nodes
  /// of one name, so a name that another node has is left out.
  void finish(NodeId node, Value result) {
    std::string name(graph_.name(node));
    take_over(graph_, {node}, result);
    if (node_names_.insert(name).second) graph_.set_node_name(result.node, std::move(name));
  }

  [[nodiscard]] Attributes linear_attributes(Value value, const UniformType& type,
                                             bool counts_from_back = false) const {
    // A list of one scale is that of a tensor for ONNX Runtime, which refuses attributes beside it.
    if (type.granularity.kind == Granularity::Kind::tensor || type.scales.shape() == Shape{1}) {
      return {};
    }
    // Without the attribute, the axis is 1.
    std::int64_t axis = axis_of(graph_, value, type);
    const Shape& shape = graph_.type(value).shape;
    if (counts_from_back && shape.is_ranked()) axis -= shape.rank();
    Attributes attributes{{"axis", axis}};
    if (type.granularity.kind == Granularity::Kind::block) {
      attributes.set("block_size", type.granularity.block_size);
    }
    return attributes;
  }

  Graph& graph_;
  Parameters parameters_;
  Lowered lowered_;
  std::vector<Conversion> conversions_;
  std::unordered_set<NodeId> weights_of_16_bit_data_;
  std::unordered_map<const Shape*, std::pair<Constant, Constant>> lists_;
  std::string why_not_;  // the opset could not be raised
  std::unordered_set<std::string> node_names_;
};

}  // namespace

bool is_conversion(std::string_view kind) noexcept {
  return kind == ops::Quantize::kind || kind == ops::Dequantize::kind ||
         kind == ops::StorageCast::kind;
}

Lowered lower_quantization(Graph& graph) {
  avoid_moves_of_4_bits(graph);
  return Lowering(graph).run();
}

}  // namespace quadrant::inline v0::onnx

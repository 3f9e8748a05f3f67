#include "io/onnx/lookup.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <unordered_map>

#include "io/onnx/dequantize.hpp"
#include "io/onnx/edit.hpp"
#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/opset.hpp"
#include "io/onnx/raise.hpp"
#include "io/onnx/unused.hpp"
#include "ir/ops/codes.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/packed_codes.hpp"
#include "ir/scales.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// A Gather to be rewritten.
struct Lookup {
  NodeId gather;
  NodeId dequantize;  ///< in front of the Gather, or behind it
  Value codes;        ///< the table
  Value indices;
  std::int64_t axis = 0;
  Value result;                             ///< the real values that were looked up
  std::shared_ptr<const UniformType> type;  ///< of the codes

  /// How many axes the indices put in the place of one; empty when that is not known.
  std::optional<std::int64_t> index_rank;
};

/// Scales and zero points of a table, in the form in which its lookups read them.
struct TableParameters {
  Value scales;
  Value zero_points;  ///< absent: zeros
};

bool is_gather(const NodeRef& node) {
  const OpName name = op_name_of(node);
  return name.op_type == "Gather" && in_default_domain(name);
}

/// `parameters`, one for all or one for each index along `axis`, as a tensor of `shape`, whose
/// extents are known.
Constant spread(const Constant& parameters, const Granularity& granularity, std::int64_t axis,
                const Shape& shape) {
  const ConstantBytes bytes = value_of(parameters.read());
  const auto width = static_cast<std::size_t>(byte_width(parameters.element()));
  const auto count = static_cast<std::size_t>(shape.element_count().value_or(0));
  const bool along = granularity.kind == Granularity::Kind::axis;
  const auto stride =
      along ? static_cast<std::size_t>(shape.strides()[static_cast<std::size_t>(axis)]) : 1;
  const auto extent = along ? static_cast<std::size_t>(shape[axis].value()) : 1;
  std::vector<std::byte> spread(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    std::ranges::copy(bytes.bytes().subspan(i / stride % extent * width, width),
                      spread.begin() + static_cast<std::ptrdiff_t>(i * width));
  }
  return Constant::from_bytes(parameters.element(), shape, std::move(spread));
}

class LookupPass {
 public:
  explicit LookupPass(Graph& graph) : graph_(graph), opset_(opset_version(graph)) {}

  void run() {
    std::vector<NodeId> gathers;
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (node.is_valid() && is_gather(graph_.ref(node))) gathers.push_back(node);
    }
    for (const NodeId gather : gathers) {
      in_node(label(graph_, gather), [&] {
        if (const auto lookup = find_lookup(gather)) rewrite(*lookup);
      });
    }
  }

 private:
  // --- what there is ---

  [[nodiscard]] std::optional<Lookup> find_lookup(NodeId gather) const {
    const NodeRef node = graph_.ref(gather);
    const Value data = node.operand(0);
    if (data.is_absent() || node.operand(1).is_absent()) return std::nullopt;
    Lookup lookup{.gather = gather, .codes = data, .indices = node.operand(1), .result = {gather}};
    if (graph_.kind(data.node) == ops::Dequantize::kind) {
      lookup.dequantize = data.node;
      lookup.codes = graph_.ref(data.node).operand(0);
    } else if (!find_dequantize_behind(lookup)) {
      return std::nullopt;
    }
    // What a file held in this form goes out in it.
    if (is_raised(graph_, lookup.dequantize)) return std::nullopt;
    if (lookup.codes.is_absent() || !is_table(lookup.codes)) return std::nullopt;
    const TensorType& table = graph_.type(lookup.codes);
    const auto axis =
        normalize_axis(node.attribute_or<std::int64_t>("axis", 0), table.shape.rank());
    if (!axis) return std::nullopt;
    lookup.axis = *axis;
    lookup.type = value_of(uniform_for("ONNX", table.quantization));
    const Shape& indices = graph_.type(lookup.indices).shape;
    if (indices.is_ranked()) lookup.index_rank = indices.rank();
    return lookup;
  }

  /// Codes of 8 bits that a Gather moves are as good as it gets; 4-bit ones it cannot move in ONNX
  /// Runtime.
  [[nodiscard]] bool find_dequantize_behind(Lookup& lookup) const {
    const TensorType& codes = graph_.type({lookup.gather});
    const auto uses = graph_.uses(lookup.gather);
    if (!codes.is_quantized() || !is_packed(codes.element) || uses.size() != 1 ||
        graph_.kind(uses[0].user) != ops::Dequantize::kind) {
      return false;
    }
    lookup.dequantize = uses[0].user;
    lookup.result = {uses[0].user};
    return true;
  }

  /// Whether the codes are a constant, or moves of one: other codes have as many rows as are
  /// worth dequantizing.
  [[nodiscard]] bool is_table(Value codes) const {
    const TensorType& type = graph_.type(codes);
    const auto& held = type.uniform();
    if (!held || type.shape.rank() == 0 || !type.shape.element_count()) return false;
    const UniformType& quantized = *held;
    if (bit_width(quantized.storage) > 16 || !find_data_type(quantized.expressed)) return false;
    const Shape parameters = parameter_shape(type.shape, quantized.granularity);
    if (!quantized.scales || quantized.scales.shape() != parameters) return false;
    if (quantized.zero_points && (quantized.zero_points.shape() != parameters ||
                                  quantized.zero_points.element() != quantized.storage)) {
      return false;
    }
    constexpr int longest_chain = 16;
    Value value = codes;
    for (int i = 0; i < longest_chain && !value.is_absent(); ++i) {
      if (graph_.kind(value.node) == ops::Constant::kind) return true;
      // 4-bit codes go through few operations in ONNX Runtime: those of a constant are enough.
      if (is_packed(quantized.storage) || !graph_.type(value).is_quantized() ||
          graph_.kind(value.node) == ops::StorageCast::kind ||
          graph_.kind(value.node) == ops::Quantize::kind) {
        return false;
      }
      value = graph_.ref(value.node).operand(0);
    }
    return false;
  }

  // --- which form ---

  void rewrite(const Lookup& lookup) {
    const UniformType& type = *lookup.type;
    const Granularity& granularity = type.granularity;
    std::int64_t along = -1;
    if (granularity.kind != Granularity::Kind::tensor) {
      const auto axis = normalize_axis(granularity.axis, graph_.type(lookup.codes).shape.rank());
      if (!axis) return;
      along = *axis;
    }
    if (is_packed(type.storage)) {
      by_blocks_of_4_bits(lookup, type, along);
    } else if (granularity.kind == Granularity::Kind::block) {
      by_blocks(lookup, type, along);
    } else if (granularity.kind == Granularity::Kind::axis && along == lookup.axis) {
      by_row(lookup, type);
    } else {
      move_codes(lookup, type, along);
    }
  }

  /// What comes behind is an ordinary `dequantize`.
  void move_codes(const Lookup& lookup, const UniformType& type, std::int64_t along) {
    UniformType moved = type;
    if (along > lookup.axis) {
      if (!lookup.index_rank) return;
      moved.granularity.axis = along + *lookup.index_rank - 1;
    } else if (along >= 0) {
      moved.granularity.axis = along;
    }
    TensorType codes = graph_.type(lookup.result);
    codes.element = type.storage;
    codes.quantization = std::make_shared<const UniformType>(std::move(moved));
    TensorType real = of(lookup, lookup.type->expressed);
    const Value rows = gather(lookup, lookup.codes, std::move(codes));
    replace(lookup, add_op(graph_, std::string(ops::Dequantize::kind), {}, {rows},
                           {name_of(lookup), std::move(real)}));
  }

  /// (codes - zero points) * scales, all three looked up.
  void by_row(const Lookup& lookup, const UniformType& type) {
    const TableParameters& parameters = parameters_of(lookup, [&](const Constant& constant) {
      const Shape& shape = graph_.type(lookup.codes).shape;
      std::vector<std::int64_t> extents(static_cast<std::size_t>(shape.rank()), 1);
      extents[static_cast<std::size_t>(lookup.axis)] = constant.element_count();
      return constant.reshaped(Shape(extents));
    });
    const Value rows = gather(lookup, lookup.codes, of(lookup, type.storage));
    replace(lookup, scaled(lookup, as_floats(lookup, rows), parameters));
  }

  void by_blocks(const Lookup& lookup, const UniformType& type, std::int64_t along) {
    const std::int64_t size = type.granularity.block_size;
    if (along == lookup.axis || size < 1) return;
    const Shape shape = graph_.type(lookup.codes).shape;
    if (size >= shape[along].value()) {  // one block, whose scales broadcast as they are
      const TableParameters& parameters = parameters_of(lookup, std::identity());
      const Value rows = gather(lookup, lookup.codes, of(lookup, type.storage));
      replace(lookup, scaled(lookup, as_floats(lookup, rows), parameters));
      return;
    }
    if (opset_ >= opset_blocked) {
      const TableParameters& parameters = parameters_of(lookup, std::identity());
      std::vector<Value> operands{gather(lookup, lookup.codes, of(lookup, type.storage)),
                                  gather(lookup, parameters.scales)};
      if (!parameters.zero_points.is_absent()) {
        operands.push_back(gather(lookup, parameters.zero_points));
      }
      // Counted from the end, an axis behind the Gather's stays what it is.
      const std::int64_t rank = shape.rank();
      replace(lookup,
              add_op(graph_, ops::DequantizeLinear::kind, {}, std::move(operands),
                     {name_of(lookup), of(lookup, ElementType::float32)},
                     {{"axis", along > lookup.axis ? along - rank : along}, {"block_size", size}}));
      return;
    }
    if (along < lookup.axis || !lookup.index_rank || shape[along].value() % size != 0) return;
    const TableParameters& parameters = parameters_of(lookup, [&](const Constant& constant) {
      std::vector<Extent> extents(constant.shape().extents().begin(),
                                  constant.shape().extents().end());
      extents.insert(extents.begin() + along + 1, 1);
      return constant.reshaped(Shape(std::move(extents)));
    });
    // What is in front of the blocks keeps its extents, which a 0 says.
    std::vector<std::int64_t> apart(static_cast<std::size_t>(along + *lookup.index_rank - 1), 0);
    std::vector<std::int64_t> whole = apart;
    apart.insert(apart.end(), {shape[along].value() / size, size});
    whole.push_back(shape[along].value());
    for (std::int64_t axis = along + 1; axis < shape.rank(); ++axis) {
      apart.push_back(shape[axis].value());
      whole.push_back(shape[axis].value());
    }
    Value rows = as_floats(lookup, gather(lookup, lookup.codes, of(lookup, type.storage)));
    rows = reshape(lookup, rows, apart, {ElementType::float32, {}, nullptr});
    rows = scaled(lookup, rows, parameters);
    replace(lookup, reshape(lookup, rows, whole, of(lookup, ElementType::float32)));
  }

  void by_blocks_of_4_bits(const Lookup& lookup, const UniformType& type, std::int64_t along) {
    constexpr std::uint64_t smallest_block = 16;
    const Shape shape = graph_.type(lookup.codes).shape;
    if (shape.rank() < 2 || shape.element_count() == 0) return;
    // One block where the scales do not ask for more: along the longest axis, that makes the
    // fewest of them.
    const bool has_blocks = type.granularity.kind == Granularity::Kind::block;
    std::int64_t blocked = has_blocks ? along : -1;
    for (std::int64_t axis = 0; !has_blocks && axis < shape.rank(); ++axis) {
      if (axis == along) continue;
      if (blocked < 0 || shape[axis].value() > shape[blocked].value()) blocked = axis;
    }
    const auto extent = static_cast<std::uint64_t>(shape[blocked].value());
    auto size = static_cast<std::uint64_t>(type.granularity.block_size);
    if (!has_blocks || size >= extent) size = std::bit_ceil(std::max(extent, smallest_block));
    if (size < smallest_block || !std::has_single_bit(size)) return;

    std::vector<Extent> extents(shape.extents().begin(), shape.extents().end());
    extents[static_cast<std::size_t>(blocked)] = 1;
    const TableParameters& parameters = parameters_of(lookup, [&](const Constant& constant) {
      return has_blocks ? constant : spread(constant, type.granularity, along, Shape(extents));
    });
    std::vector<Value> operands{lookup.codes, lookup.indices, parameters.scales};
    if (!parameters.zero_points.is_absent()) operands.push_back(parameters.zero_points);
    replace(lookup, add_op(graph_, gather_block_quantized_kind, node_name(lookup),
                           std::move(operands), {name_of(lookup), of(lookup, ElementType::float32)},
                           {{"gather_axis", lookup.axis},
                            {"quantize_axis", blocked},
                            {"block_size", static_cast<std::int64_t>(size)}}));
  }

  // --- parts ---

  [[nodiscard]] std::string name_of(const Lookup& lookup) const {
    return std::string(graph_.value_name(lookup.result));
  }
  [[nodiscard]] std::string node_name(const Lookup& lookup) const {
    return std::string(graph_.name(lookup.gather));
  }

  /// A tensor as large as the result.
  [[nodiscard]] TensorType of(const Lookup& lookup, ElementType element) const {
    return {element, graph_.type(lookup.result).shape, nullptr};
  }

  /// Made once for all lookups in a table, which all ask for the same form.
  template <class Form>
  const TableParameters& parameters_of(const Lookup& lookup, Form form) {
    const auto [found, is_new] = parameters_.try_emplace(lookup.codes);
    if (!is_new) return found->second;
    const UniformType& type = *lookup.type;
    const std::string name(graph_.value_name({lookup.dequantize}));
    found->second.scales = add_scales(graph_, name + "_scale", form(type.scales));
    if (type.zero_points) {
      found->second.zero_points = graph_.add_constant(name + "_zero_point", form(type.zero_points));
    }
    return found->second;
  }

  /// The same lookup in another table. The one in the codes keeps the node's name.
  Value gather(const Lookup& lookup, Value table, TensorType type = {}) {
    if (table != lookup.codes) type.element = graph_.type(table).element;
    return add_op(
        graph_, kind_of({{}, "Gather"}), table == lookup.codes ? node_name(lookup) : std::string{},
        {table, lookup.indices}, {name_of(lookup), std::move(type)}, {{"axis", lookup.axis}});
  }

  Value cast(const Lookup& lookup, Value value, TensorType type) {
    const std::int64_t to = element_type_number(type.element);
    return add_op(graph_, kind_of({{}, "Cast"}), {}, {value}, {name_of(lookup), std::move(type)},
                  {{"to", to}});
  }

  Value as_floats(const Lookup& lookup, Value value) {
    TensorType type = graph_.type(value);
    type.element = ElementType::float32;
    return cast(lookup, value, std::move(type));
  }

  Value reshape(const Lookup& lookup, Value value, std::span<const std::int64_t> extents,
                TensorType type) {
    const Value shape = graph_.add_constant(name_of(lookup) + "_shape", int64_constant(extents));
    return add_op(graph_, std::string(ops::Reshape::kind), {}, {value, shape},
                  {name_of(lookup), std::move(type)});
  }

  Value scaled(const Lookup& lookup, Value values, const TableParameters& parameters) {
    const TensorType type = graph_.type(values);
    if (!parameters.zero_points.is_absent()) {
      const Value zeros = as_floats(lookup, gather(lookup, parameters.zero_points));
      values = add_op(graph_, ops::Sub::kind, {}, {values, zeros}, {name_of(lookup), type});
    }
    const Value scales = gather(lookup, parameters.scales);
    return add_op(graph_, kind_of({{}, "Mul"}), {}, {values, scales}, {name_of(lookup), type});
  }

  /// `made` takes the place of what was looked up; what is not read any more goes.
  void replace(const Lookup& lookup, Value made) {
    // Computed in float32 whatever the type is, as `dequantize` is.
    if (graph_.type(made).element != lookup.type->expressed) {
      made = cast(lookup, made, of(lookup, lookup.type->expressed));
    }
    std::optional<Attribute> info;
    if (const Attribute* found = graph_.attribute(lookup.result.node, key::value_info)) {
      info = *found;
    }
    std::string name = name_of(lookup);
    graph_.replace_uses(lookup.result, made);
    erase_unused(graph_, lookup.result.node);
    graph_.set_value_name(made, std::move(name));
    if (info) graph_.set_attribute(made.node, std::string(key::value_info), *std::move(info));
  }

  Graph& graph_;
  std::int64_t opset_;
  std::unordered_map<Value, TableParameters> parameters_;
};

}  // namespace

void read_rows_of_tables(Graph& graph) { LookupPass(graph).run(); }

}  // namespace quadrant::inline v0::onnx

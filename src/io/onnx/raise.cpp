#include "io/onnx/raise.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "io/onnx/element.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/regions.hpp"
#include "ir/shape_inference.hpp"
#include "numerics/code_limits.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::string_view microsoft_domain = "com.microsoft";

using TypePtr = std::shared_ptr<const UniformType>;

/// An operator that may be raised.
struct Linear {
  NodeId node;
  NodeId cast;  ///< the Cast behind it, if that becomes part of it
  NodeId clip;  ///< so with a Clip that limits the codes
  bool to_real = false;
  bool microsoft = false;
  bool has_own_codes = false;  ///< the constant that it reads means something else to another
  NodeId scale;
  NodeId zero_point;  ///< not valid: it has none
  TypePtr type;
};

/// The parameters as a type holds them.
struct TypeParameters {
  Constant scales;
  Constant zero_points;  ///< empty: all 0
};

std::optional<std::int64_t> integer(const Attributes& attributes, const std::string& name,
                                    std::int64_t fallback) {
  const Attribute* found = attributes.find(name);
  if (!found) return fallback;
  const auto* value = std::get_if<std::int64_t>(found);
  return value ? std::optional(*value) : std::nullopt;
}

/// Whether all elements are 0; false where they cannot be read.
bool is_zero(const Constant& constant) {
  std::array<std::byte, 8192> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled
  for (std::uint64_t offset = 0; offset < constant.byte_size();) {
    const auto size = std::min<std::uint64_t>(bytes.size(), constant.byte_size() - offset);
    const auto piece = std::span(bytes).first(size);
    if (!constant.read(offset, piece)) return false;
    if (std::ranges::any_of(piece, [](std::byte byte) { return byte != std::byte{0}; })) {
      return false;
    }
    offset += size;
  }
  return true;
}

/// Where a value is made that leaves the graph, and what that is called.
void keep_place(const Graph& graph, Value value, std::string_view key, Attributes& kept) {
  const auto keep = [&](std::string_view suffix, Attribute what) {
    kept.set(std::string(key) + std::string(suffix), std::move(what));
  };
  keep(raised::name_suffix, std::string(graph.value_name(value)));
  keep(raised::index_suffix, std::int64_t{value.node.index});
  if (const Attribute* const place = graph.attribute(value.node, regions::place)) {
    keep(raised::place_suffix, *place);
  }
}

/// The same of a scale or zero points, and their contents.
void keep_parameter(const Graph& graph, Value value, std::string_view key, Attributes& kept) {
  keep_place(graph, value, key, kept);
  kept.set(std::string(key), *raised::contents(graph, value));
  if (graph.constant(value.node) != nullptr) return;
  kept.set(std::string(key) + std::string(raised::type_suffix),
           element_type_number(graph.type(value).element));
}

class Raising {
 public:
  explicit Raising(Graph& graph) : graph_(graph) {}

  void run() {
    std::vector<Linear> found = find_operators();
    // What `quantize` makes is known before the first `dequantize` looks for it.
    for (const bool to_real : {false, true}) {
      for (Linear& linear : found) {
        if (linear.to_real == to_real && settle_type(linear)) accepted_.push_back(linear);
      }
    }
    if (accepted_.empty()) return;
    Graph before = graph_;
    for (const Linear& linear : accepted_) raise(linear);
    set_types();
    erase_parameters();
    if (!infer_shapes(graph_) || !verify(graph_)) graph_ = std::move(before);
  }

 private:
  // --- finding ---

  std::vector<Linear> find_operators() {
    std::vector<Linear> found;
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid() || !graph_.kind(node).starts_with(prefix)) continue;
      const OpName name = op_name_of(graph_.ref(node));
      Linear linear{.node = node,
                    .to_real = name.op_type == "DequantizeLinear",
                    .microsoft = name.domain == microsoft_domain};
      if (!linear.to_real && name.op_type != "QuantizeLinear") continue;
      if (!linear.microsoft && !in_default_domain(name)) continue;
      if (has_plain_form(linear)) found.push_back(linear);
    }
    return found;
  }

  /// Operands and attributes, without what depends on types.
  [[nodiscard]] bool has_plain_form(Linear& linear) const {
    const NodeRef node = graph_.ref(linear.node);
    const std::size_t count = node.operands().size();
    if ((count != 2 && count != 3) || graph_.result_count(node.id) != 1) return false;
    for (const auto& [name, value] : graph_.attributes(node.id)) {
      if (!name.starts_with(prefix) && !is_known(name, value, linear.to_real)) return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (node.operand(i).is_absent()) return false;
    }
    linear.scale = node.operand(1).node;
    if (!is_parameter(linear.scale)) return false;
    if (graph_.constant(linear.scale)->element() != ElementType::float32) return false;
    if (count == 2) return true;
    linear.zero_point = node.operand(2).node;
    return is_parameter(linear.zero_point);
  }

  // `saturate` is about floats of 8 bits; of reals and how they are computed, 0 says nothing.
  [[nodiscard]] static bool is_known(std::string_view name, const Attribute& value, bool to_real) {
    if (name == "axis" || name == "block_size" || name == "saturate") return true;
    const auto* const number = std::get_if<std::int64_t>(&value);
    if (number == nullptr) return false;
    if (name == "output_dtype" && !to_real)
      return *number == 0 || find_data_type(*number) != nullptr;
    return (name == "output_dtype" || name == "precision") && *number == 0;
  }

  [[nodiscard]] bool is_parameter(NodeId node) const {
    return graph_.kind(node) == ops::Constant::kind;
  }

  /// Whether the contents and the name are all that there is to know: it can be made again.
  [[nodiscard]] bool is_plain(NodeId node) const { return graph_.attributes(node).empty(); }

  // --- types ---

  bool settle_type(Linear& linear) {
    const NodeRef node = graph_.ref(linear.node);
    if (!linear.to_real) linear.clip = clip_behind(linear.node);
    const Value made = linear.clip.is_valid() ? Value{linear.clip} : node.result();
    const Value codes = linear.to_real ? node.operand(0) : made;
    // Not known before the types behind other operators are: the scales are float32, then so is it.
    const ElementType real = graph_.type(node.operand(0)).element;
    if (!linear.to_real && real != ElementType::float32 && real != ElementType::undefined) {
      return false;
    }
    const Shape shape = codes_shape(linear);
    if (linear.to_real) linear.cast = cast_behind(linear.node);
    const Constant& scale = *graph_.constant(linear.scale);
    const auto granularity =
        raised::granularity(graph_.attributes(linear.node), {}, linear.microsoft,
                            raised::parameter_shape(scale), shape);
    if (!granularity) return false;
    UniformType type;
    type.granularity = *granularity;
    if (linear.zero_point.is_valid()) {
      const Constant& zero_point = *graph_.constant(linear.zero_point);
      if (raised::parameter_shape(zero_point) != raised::parameter_shape(scale)) return false;
      type.storage = zero_point.element();
    } else {
      type.storage = storage_of(codes, linear);
    }
    const ElementType wanted = stated_storage(linear);
    if (wanted != ElementType::undefined && wanted != type.storage) return false;
    const auto range = integer_range(type.storage);
    if (!range || type.storage == ElementType::uint32) return false;
    type.storage_min = range->min;
    type.storage_max = range->max;
    if (linear.clip.is_valid() && !limit(type, linear.clip)) return false;
    if (linear.cast.is_valid()) type.expressed = graph_.type({linear.cast}).element;
    const TypeParameters& parameters = parameters_of(linear);
    type.scales = parameters.scales;
    type.zero_points = parameters.zero_points;
    if (!verify(type, shape)) return false;
    linear.type = std::make_shared<const UniformType>(std::move(type));
    if (linear.to_real) {
      linear.has_own_codes = graph_.kind(codes.node) == ops::Constant::kind &&
                             types_.contains(codes) && *types_.at(codes) != *linear.type;
      return linear.has_own_codes || settle_codes(codes, linear.type);
    }
    if (!settle_result(codes, linear.type)) return false;
    made_shapes_.emplace(codes, shape);
    return true;
  }

  /// What the attribute of a QuantizeLinear says; undefined where it says nothing.
  [[nodiscard]] ElementType stated_storage(const Linear& linear) const {
    const auto stated = integer(graph_.attributes(linear.node), "output_dtype", 0);
    const DataType* const type = stated ? find_data_type(*stated) : nullptr;
    return linear.to_real || type == nullptr ? ElementType::undefined : type->element;
  }

  /// Of codes whose operator has no zero point.
  [[nodiscard]] ElementType storage_of(Value codes, const Linear& linear) const {
    ElementType stated = graph_.type(codes).element;
    if (stated == ElementType::undefined) stated = stated_storage(linear);
    if (stated != ElementType::undefined) return stated;
    if (!linear.to_real) return ElementType::uint8;  // ONNX's default
    const auto known = types_.find(codes);
    return known == types_.end() ? stated : known->second->storage;
  }

  [[nodiscard]] Shape codes_shape(const Linear& linear) const {
    const Value operand = graph_.ref(linear.node).operand(0);
    if (const auto made = made_shapes_.find(operand); made != made_shapes_.end()) {
      return made->second;
    }
    const Shape& shape = graph_.type(operand).shape;
    return shape.is_ranked() ? shape : graph_.type({linear.node}).shape;
  }

  /// The one reader of a DequantizeLinear, if that is a Cast to a float type of another width.
  [[nodiscard]] NodeId cast_behind(NodeId node) const {
    const auto uses = graph_.uses(node);
    if (uses.size() != 1) return {};
    const NodeRef user = graph_.ref(uses[0].user);
    const OpName name = op_name_of(user);
    if (name.op_type != "Cast" || !in_default_domain(name) || graph_.result_count(user.id) != 1) {
      return {};
    }
    const DataType* to = find_data_type(user.attribute_or<std::int64_t>("to", 0));
    if (!to || !is_float(to->element) || to->element == ElementType::float32) return {};
    return graph_.type({user.id}).element == to->element ? user.id : NodeId{};
  }

  /// The one reader of a QuantizeLinear, if that is a Clip between known codes.
  [[nodiscard]] NodeId clip_behind(NodeId node) const {
    const auto uses = graph_.uses(node);
    if (uses.size() != 1 || uses[0].operand != 0) return {};
    const NodeRef user = graph_.ref(uses[0].user);
    const OpName name = op_name_of(user);
    const bool is_clip = name.op_type == "Clip" && in_default_domain(name) &&
                         user.operands().size() == 3 && graph_.result_count(user.id) == 1 &&
                         user.operand_constant(1) != nullptr && user.operand_constant(2) != nullptr;
    return is_clip ? user.id : NodeId{};
  }

  /// The codes of the type are those between the bounds of the Clip. False where these are none.
  [[nodiscard]] bool limit(UniformType& type, NodeId clip) const {
    for (const std::size_t operand : {std::size_t{1}, std::size_t{2}}) {
      const Constant& bound = *graph_.ref(clip).operand_constant(operand);
      if (bound.element() != type.storage || bound.element_count() != 1) return false;
      const auto value = read_integers(bound);
      if (!value) return false;
      (operand == 1 ? type.storage_min : type.storage_max) = value->front();
    }
    return type.storage_min < type.storage_max;
  }

  const TypeParameters& parameters_of(const Linear& linear) {
    const auto [found, is_new] =
        parameters_.try_emplace(std::pair(linear.scale, linear.zero_point));
    if (!is_new) return found->second;
    found->second.scales = kept_in_memory(linear.scale);
    if (linear.zero_point.is_valid() && !is_zero(*graph_.constant(linear.zero_point))) {
      found->second.zero_points = kept_in_memory(linear.zero_point);
    }
    return found->second;
  }

  /// Small parameters are read, so that they can be printed and checked, and those of the same
  /// contents become one constant, in the graph, too: two operators that say the same mean the
  /// same. Many that lie in one place of a file could be more than the file. Of a list of one
  /// number, the number.
  Constant kept_in_memory(NodeId node) {
    constexpr std::int64_t most_elements = 4096;
    constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20U;
    Constant constant = *graph_.constant(node);
    if (constant.element_count() > most_elements) return constant;
    if (kept_bytes_ + constant.byte_size() > most_bytes) return constant;
    const auto bytes = constant.read();
    if (!bytes) return constant;
    kept_bytes_ += constant.byte_size();
    const std::span<const std::byte> read = bytes->bytes();
    if (constant.is_deferred()) {
      constant =
          Constant::from_bytes(constant.element(), constant.shape(), {read.begin(), read.end()});
    }
    const Constant known = one_of(constant, read);
    graph_.set_constant(node, known);
    const Shape shape = raised::parameter_shape(known);
    return shape == known.shape() ? known : one_of(known.reshaped(shape), read);
  }

  /// The constant of these contents that was met first.
  Constant one_of(const Constant& constant, std::span<const std::byte> contents) {
    std::string key = to_string(TensorType{constant.element(), constant.shape(), nullptr});
    for (const std::byte byte : contents) key += static_cast<char>(byte);
    return constants_.try_emplace(std::move(key), constant).first->second;
  }

  /// Whether the codes, and what moves of them make, are nowhere read as plain integers.
  [[nodiscard]] bool are_only_codes(Value codes) const {
    std::vector<NodeId> pending{codes.node};
    std::unordered_set<NodeId> seen{codes.node};
    while (!pending.empty()) {
      const NodeId node = pending.back();
      pending.pop_back();
      for (const Use& use : graph_.uses(node)) {
        const std::string_view kind = graph_.kind(use.user);
        if (kind == ops::Output::kind || is_defined_on_codes(kind)) continue;
        // What follows one another in a concat may mean different things.
        const bool moves = find_move(graph_.ref(use.user)) != nullptr && kind != ops::Concat::kind;
        if (!moves || use.operand != 0) return false;
        if (seen.insert(use.user).second) pending.push_back(use.user);
      }
    }
    return true;
  }

  bool settle_result(Value codes, const TypePtr& type) {
    if (!are_only_codes(codes)) return false;
    const ElementType element = graph_.type(codes).element;
    if (element != ElementType::undefined && element != type->storage) return false;
    return types_.try_emplace(codes, type).second;
  }

  /// Finds where codes come from, and what their type means there. A value from which this failed
  /// is not tried again, which keeps many readers of one long chain linear.
  bool settle_codes(Value codes, TypePtr type) {
    std::vector<std::pair<Value, TypePtr>> chain;
    TypePtr limited;  // says which codes there are, where it is not all of them
    bool found = false;
    while (!codes.is_absent() && type && !hopeless_.contains(codes)) {
      if (const auto known = types_.find(codes); known != types_.end()) {
        found = *with_limits(type, *known->second) == *known->second;
        limited = known->second;
        break;
      }
      const ElementType element = graph_.type(codes).element;
      if (element != ElementType::undefined && element != type->storage) break;
      chain.emplace_back(codes, type);
      if (graph_.kind(codes.node) == ops::Constant::kind || is_input_of_codes(codes)) {
        found = true;
        break;
      }
      type = before_move(codes.node, type);
      codes = graph_.ref(codes.node).operand(0);
    }
    for (auto& [value, its_type] : chain) {
      if (found) {
        types_.emplace(value, limited ? with_limits(its_type, *limited) : std::move(its_type));
      } else {
        hopeless_.insert(value);
      }
    }
    return found;
  }

  /// A DequantizeLinear does not say which codes there are.
  static TypePtr with_limits(const TypePtr& type, const UniformType& limits) {
    if (type->storage_min == limits.storage_min && type->storage_max == limits.storage_max) {
      return type;
    }
    UniformType limited = *type;
    limited.storage_min = limits.storage_min;
    limited.storage_max = limits.storage_max;
    return std::make_shared<const UniformType>(std::move(limited));
  }

  /// An input of the model that nobody reads as plain integers.
  [[nodiscard]] bool is_input_of_codes(Value value) const {
    return graph_.kind(value.node) == ops::Input::kind && are_only_codes(value);
  }

  /// The type of operand 0 of a move whose result has `type`; null where it is no move, or no one
  /// type says the same.
  [[nodiscard]] TypePtr before_move(NodeId id, const TypePtr& type) const {
    const NodeRef node = graph_.ref(id);
    const std::string_view kind = node.kind();
    const Granularity& granularity = type->granularity;
    const bool per_tensor = granularity.kind == Granularity::Kind::tensor;
    const bool per_axis = granularity.kind == Granularity::Kind::axis;
    if (kind == ops::Identity::kind) return type;
    if (kind == ops::Transpose::kind) {
      if (per_tensor) return type;
      const std::vector<std::int64_t> perm = ops::Transpose{node}.perm();
      if (!per_axis || std::cmp_greater_equal(granularity.axis, perm.size())) return {};
      return along(type, perm[static_cast<std::size_t>(granularity.axis)]);
    }
    if (has_trait(node, Trait::keeps_order)) {
      if (per_tensor) return type;
      const TensorType* operand = node.operand_type(0);
      return per_axis && operand
                 ? along(type, same_axis(node.type().shape, operand->shape, granularity.axis))
                 : nullptr;
    }
    if (kind == ops::Slice::kind || kind == ops::Expand::kind || kind == ops::Split::kind) {
      return per_tensor ? type : nullptr;
    }
    if (kind == ops::Gather::kind) return per_tensor ? type : before_gather(node, type);
    return {};
  }

  /// The same for a Gather, whose indices' axes stand in the place of one.
  [[nodiscard]] static TypePtr before_gather(const NodeRef& node, const TypePtr& type) {
    const Granularity& granularity = type->granularity;
    const bool per_axis = granularity.kind == Granularity::Kind::axis;
    const auto axis = ops::Gather{node}.axis();
    const TensorType* indices = node.operand_type(1);
    if (!per_axis || !axis || !indices || !indices->shape.is_ranked()) return {};
    if (granularity.axis < *axis) return type;
    const std::int64_t added = indices->shape.rank() - 1;
    return granularity.axis > *axis + added ? along(type, granularity.axis - added) : nullptr;
  }

  static TypePtr along(const TypePtr& type, std::optional<std::int64_t> axis) {
    if (!axis) return {};
    UniformType moved = *type;
    moved.granularity.axis = *axis;
    return std::make_shared<const UniformType>(std::move(moved));
  }

  /// The axis of `other`, of which the same elements in the same order have shape `shape`, that
  /// counts what `axis` counts: as long, and with as many elements in front.
  static std::optional<std::int64_t> same_axis(const Shape& shape, const Shape& other,
                                               std::int64_t axis) {
    const auto count = shape.element_count();
    if (!count || *count == 0 || other.element_count() != count) return std::nullopt;
    std::int64_t before = 1;
    for (std::int64_t i = 0; i < axis; ++i) before *= shape[i].value();
    std::int64_t product = 1;
    for (std::int64_t i = 0; i < other.rank(); product *= other[i++].value()) {
      if (product == before && surely_equal(other[i], shape[axis])) return i;
    }
    return std::nullopt;
  }

  // --- rewriting ---

  void raise(const Linear& linear) {
    const NodeId behind = linear.cast.is_valid() ? linear.cast : linear.clip;
    const NodeId last = behind.is_valid() ? behind : linear.node;
    const Value read = graph_.ref(linear.node).operand(0);
    const Value operand = linear.has_own_codes ? copied(read, linear.type) : read;
    std::vector<NodeId> bounds;
    if (linear.clip.is_valid()) {
      for (const std::size_t bound : {std::size_t{1}, std::size_t{2}}) {
        bounds.push_back(graph_.ref(linear.clip).operand(bound).node);
      }
    }
    // Beside a Clip, operators are made anew, as this library makes them, but of the same codes.
    const auto* const codes =
        linear.to_real ? graph_.type(read).uniform().get() : linear.type.get();
    const bool has_clip = codes != nullptr && is_part_of_storage(*codes);
    Attributes kept = has_clip ? Attributes{{std::string(raised::beside_clip), std::int64_t{1}}}
                               : raised::kept_operator(
                                     graph_, {linear.node, linear.cast, !linear.type->zero_points});
    if (linear.has_own_codes) {
      kept.set(std::string(raised::codes_name), std::string(graph_.value_name(read)));
    }
    TensorType type = graph_.type({last});
    if (!type.shape.is_ranked()) type.shape = graph_.type(operand).shape;
    if (linear.to_real) {
      type.element = linear.type->expressed;
    } else {
      type.element = linear.type->storage;
      type.quantization = linear.type;
    }
    const std::string name(graph_.value_name({last}));
    const NodeId made = replace_in_place(
        graph_, last,
        {.kind = std::string(linear.to_real ? ops::Dequantize::kind : ops::Quantize::kind),
         .name = std::string(graph_.name(last)),
         .operands = {operand},
         .results = {{name, std::move(type)}},
         .attributes = std::move(kept)});
    moved_.emplace(linear.clip.is_valid() ? linear.clip : linear.node, made);
    for (const NodeId parameter : {linear.scale, linear.zero_point}) {
      if (!parameter.is_valid()) continue;
      if (is_plain(parameter)) {
        unused_.insert(parameter);
      } else {
        graph_.set_attribute(parameter, std::string(raised::parameter), std::int64_t{1});
      }
    }
    unused_.insert(bounds.begin(), bounds.end());
    if (behind.is_valid()) unused_.insert(linear.node);
  }

  /// A constant of the same contents, and another meaning.
  Value copied(Value codes, const TypePtr& type) {
    const Value made =
        graph_.add_constant(std::string(graph_.value_name(codes)), *graph_.constant(codes.node));
    if (const Attribute* const place = graph_.attribute(codes.node, regions::place)) {
      graph_.set_attribute(made.node, std::string(regions::place), *place);
    }
    types_.emplace(made, type);
    return made;
  }

  void set_types() {
    for (const auto& [value, quantization] : types_) {
      if (moved_.contains(value.node)) continue;  // made with its type
      if (graph_.kind(value.node) == ops::Constant::kind) {
        graph_.set_constant(value.node, *graph_.constant(value.node), quantization);
      } else {
        TensorType type = graph_.type(value);
        type.element = quantization->storage;
        type.quantization = quantization;
        graph_.set_type(value, std::move(type));
      }
    }
  }

  /// In the order of their indices, so that `restore_linear`, going backwards, gets each of them
  /// again. Operators in front of a Cast go first, for they read parameters.
  void erase_parameters() {
    std::vector<NodeId> candidates(unused_.begin(), unused_.end());
    std::ranges::sort(candidates);
    for (const NodeId node : candidates) {
      if (graph_.kind(node) == ops::Constant::kind) continue;
      for (std::uint32_t i = 0; i < graph_.operands(node).size(); ++i) {
        graph_.set_operand(node, i, {});
      }
    }
    for (const NodeId node : candidates) {
      if (graph_.uses(node).empty()) graph_.erase(node);
    }
  }

  Graph& graph_;
  std::vector<Linear> accepted_;
  std::map<std::pair<NodeId, NodeId>, TypeParameters> parameters_;
  std::map<std::string, Constant> constants_;  // by type and contents
  std::unordered_map<Value, TypePtr> types_;
  std::unordered_map<Value, Shape> made_shapes_;  // of results of QuantizeLinear
  std::unordered_set<Value> hopeless_;
  std::unordered_map<NodeId, NodeId> moved_;
  std::unordered_set<NodeId> unused_;
  std::uint64_t kept_bytes_ = 0;
};

}  // namespace

void raise_linear(Graph& graph) { Raising(graph).run(); }

Attributes raised::kept_operator(const Graph& graph, const Operator& linear) {
  const NodeRef node = graph.ref(linear.node);
  Attributes kept;
  const auto keep = [&](std::string_view name, Attribute value) {
    kept.set(std::string(name), std::move(value));
  };
  keep(raised::kind, std::string(node.kind()));
  keep(raised::operands, static_cast<std::int64_t>(node.operands().size()));
  Value scale = node.operand(1);
  if (graph.kind(scale.node) == ops::Cast::kind) {
    keep_place(graph, scale, raised::scale_cast, kept);
    keep(std::string(raised::scale_cast) + std::string(raised::node_suffix),
         std::string(graph.name(scale.node)));
    scale = graph.operands(scale.node)[0];
  }
  keep_parameter(graph, scale, raised::scale, kept);
  if (!node.operand(2).is_absent()) {
    keep_parameter(graph, node.operand(2), raised::zero_point, kept);
    keep(raised::zeros, std::int64_t{linear.has_zeros ? 1 : 0});
  }
  const bool has_cast = linear.cast.is_valid();
  for (const auto& [name, value] : graph.attributes(linear.node)) {
    const bool moves = has_cast || !name.starts_with(prefix);
    keep(moves ? std::string(raised::attribute) + name : name, value);
  }
  if (has_cast) {
    keep(raised::inner_name, std::string(node.name()));
    keep(raised::inner_value, std::string(graph.value_name({linear.node})));
    keep(raised::inner_index, std::int64_t{linear.node.index});
    for (const auto& [name, value] : graph.attributes(linear.cast)) {
      keep(name.starts_with(prefix) ? name : std::string(raised::cast_attribute) + name, value);
    }
  }
  return kept;
}

const Constant* raised::contents(const Graph& graph, Value value) {
  if (value.is_absent()) return nullptr;
  if (const Constant* const constant = graph.constant(value.node)) return constant;
  const Attribute* const held = graph.attribute(value.node, key::codes);
  return held != nullptr ? std::get_if<Constant>(held) : nullptr;
}

Shape raised::parameter_shape(const Constant& parameter) {
  const bool is_one = parameter.shape().rank() == 1 && parameter.element_count() == 1;
  return is_one ? Shape::scalar() : parameter.shape();
}

std::optional<Granularity> raised::granularity(const Attributes& attributes,
                                               std::string_view attribute_prefix, bool microsoft,
                                               const Shape& scales, const Shape& codes) {
  const auto named = [&](std::string_view name) {
    return std::string(attribute_prefix) + std::string(name);
  };
  const auto block_size = integer(attributes, named("block_size"), 0);
  const auto stated_axis = integer(attributes, named("axis"), 1);
  if (!block_size || !stated_axis) return std::nullopt;
  if (scales.rank() == 0) {
    return *block_size == 0 ? std::optional(Granularity::per_tensor()) : std::nullopt;
  }
  if (!codes.is_static()) return std::nullopt;
  // Without the attribute, com.microsoft's operators have no axis.
  if (microsoft && attributes.find(named("axis")) == nullptr) return std::nullopt;
  const auto axis = normalize_axis(*stated_axis, codes.rank());
  if (!axis || *block_size < 0) return std::nullopt;
  const Granularity granularity =
      *block_size == 0 ? Granularity::per_axis(*axis) : Granularity::per_block(*axis, *block_size);
  if (quadrant::parameter_shape(codes, granularity) != scales) return std::nullopt;
  return granularity;
}

NodeId replace_in_place(Graph& graph, NodeId node, NodeSpec spec) {
  const std::vector<Use> uses(graph.uses(node).begin(), graph.uses(node).end());
  for (const Use& use : uses) graph.set_operand(use.user, use.operand, {});
  graph.erase(node);
  const NodeId made = graph.add(std::move(spec));
  for (const Use& use : uses) graph.set_operand(use.user, use.operand, {made, use.result});
  return made;
}

}  // namespace quadrant::inline v0::onnx

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "io/onnx/dequantize.hpp"
#include "io/onnx/edit.hpp"
#include "io/onnx/element.hpp"
#include "io/onnx/onnxruntime_forms.hpp"
#include "io/onnx/raise.hpp"
#include "io/onnx/small_float_operators.hpp"
#include "io/onnx/small_floats.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/regions.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// What a raised node remembers.
class Memory {
 public:
  explicit Memory(const NodeRef& node) : node_(node) {}

  [[nodiscard]] std::string text(std::string_view name) const {
    return node_.attribute_or(name, std::string{});
  }
  [[nodiscard]] std::int64_t integer(std::string_view name) const {
    return node_.attribute_or<std::int64_t>(name, 0);
  }
  [[nodiscard]] Constant constant(std::string_view name) const {
    return node_.attribute_or(name, Constant{});
  }
  [[nodiscard]] bool has(std::string_view name) const {
    return node_.graph->attribute(node_.id, name) != nullptr;
  }

 private:
  NodeRef node_;
};

class Restoring {
 public:
  Restoring(Graph& graph, Restored which, bool has_weights)
      : graph_(graph),
        is_first_(which == Restored::other),
        has_weights_(has_weights),
        has_limits_(is_first_ && has_limits(graph)) {}

  void run() {
    std::vector<NodeId> nodes;
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid() || !is_raised(graph_, node)) continue;
      if (still_means_the_same(node)) {
        nodes.push_back(node);
      } else {
        forget(node);
      }
    }
    forget_sources(nodes);
    for (const NodeId node : nodes) collect_erased(node);
    add_erased();
    std::erase_if(nodes, [&](NodeId node) { return is_first_ && is_uniform(node); });
    for (const NodeId node : nodes) restore(node);
    if (is_first_) {
      store_codes_as_elements(graph_);
    } else {
      if (!nodes.empty()) drop_types();
      settle_parameters();
    }
  }

 private:
  /// A `dequantize` that is not restored needs the type of what it reads: what makes that is not
  /// restored either.
  void forget_sources(std::vector<NodeId>& nodes) {
    const std::unordered_set<NodeId> restored(nodes.begin(), nodes.end());
    std::unordered_set<NodeId> sources;
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid() || graph_.kind(node) != ops::Dequantize::kind ||
          restored.contains(node)) {
        continue;
      }
      NodeId maker = node;
      do {
        const Value operand = graph_.ref(maker).operand(0);
        if (operand.is_absent()) break;
        maker = operand.node;
      } while (find_move({&graph_, maker}) != nullptr);
      if (restored.contains(maker) && sources.insert(maker).second) forget(maker);
    }
    std::erase_if(nodes, [&](NodeId node) { return sources.contains(node); });
  }

  /// A node that is to be made again, at the index that it had.
  struct Erased {
    bool is_last = false;  ///< erased when all of the others had been
    std::int64_t index = 0;
    std::string name{};  ///< of its value
    NodeSpec spec{};
    std::string cast_of{};  ///< for a Cast: the value that it reads
  };

  [[nodiscard]] Quantization type_of(NodeId node) const {
    const Value operand = graph_.ref(node).operand(0);
    if (operand.is_absent()) return {};
    const bool to_real = graph_.kind(node) == ops::Dequantize::kind;
    return graph_.type(to_real ? operand : Value{node}).quantization;
  }

  [[nodiscard]] bool is_uniform(NodeId node) const { return type_of(node).uniform() != nullptr; }

  [[nodiscard]] bool still_means_the_same(NodeId node) const {
    const Memory memory(graph_.ref(node));
    const Quantization meaning = type_of(node);
    if (memory.has(raised::codes_type)) {
      return meaning && is_to_be_same(node) &&
             mean_the_same(meaning, remembered_format(graph_, node));
    }
    const UniformType* const type = meaning.uniform().get();
    if (type == nullptr || !says(memory.constant(raised::scale), type->scales)) return false;
    const bool zeros = memory.integer(raised::zeros) != 0;
    const Constant zero_points = zeros ? Constant{} : memory.constant(raised::zero_point);
    if (!says(zero_points, type->zero_points)) return false;
    const auto range = integer_range(type->storage);
    if (!range || *range != IntegerRange{type->storage_min, type->storage_max}) return false;
    if (memory.has(raised::zero_point) &&
        memory.constant(raised::zero_point).element() != type->storage) {
      return false;
    }
    if (type->expressed != expressed_by(memory)) return false;
    Shape shape = graph_.type(graph_.ref(node).operand(0)).shape;
    if (!shape.is_ranked()) shape = graph_.type({node}).shape;
    const bool microsoft = memory.text(raised::kind).find("::") != std::string::npos;
    return raised::granularity(graph_.attributes(node), raised::attribute, microsoft,
                               type->scales.shape(), shape) == type->granularity;
  }

  /// Whether codes of another format are wanted as the file had them: not zero points that say what
  /// a QuantizeLinear makes, where that is no good (`lower_small_floats`).
  [[nodiscard]] bool is_to_be_same(NodeId node) const {
    if (is_uniform(node)) return true;
    const Memory memory(graph_.ref(node));
    if (graph_.kind(node) == ops::Quantize::kind) {
      return !memory.has(raised::zero_point) || !has_limits_;
    }
    return has_weights_ || graph_.constant(graph_.operands(node)[0].node) == nullptr;
  }

  /// Whether a parameter of the file is the one of a type.
  static bool says(const Constant& parameter, const Constant& of_type) {
    if (parameter == of_type || !parameter || !of_type) return parameter == of_type;
    if (of_type.element_count() != 1 || parameter.element() != of_type.element() ||
        raised::parameter_shape(parameter) != of_type.shape()) {
      return false;
    }
    const auto a = parameter.read();
    const auto b = of_type.read();
    return a && b && std::ranges::equal(a->bytes(), b->bytes());
  }

  static ElementType expressed_by(const Memory& memory) {
    if (!memory.has(raised::inner_value)) return ElementType::float32;
    const DataType* to = find_data_type(memory.integer(std::string(raised::cast_attribute) + "to"));
    return to ? to->element : ElementType::undefined;
  }

  void forget(NodeId node) {
    std::vector<std::string> names;
    for (const auto& [name, value] : graph_.attributes(node)) {
      if (name.starts_with(raised::kind)) names.push_back(name);
    }
    for (const std::string& name : names) graph_.erase_attribute(node, name);
  }

  // --- nodes that are not there any more ---

  static std::string suffixed(std::string_view key, std::string_view suffix) {
    return std::string(key) + std::string(suffix);
  }

  void collect_erased(NodeId node) {
    const Memory memory(graph_.ref(node));
    for (const std::string_view key : {raised::scale, raised::zero_point}) {
      if (!memory.has(key)) continue;
      const Constant contents = memory.constant(key);
      NodeSpec spec{.kind = std::string(ops::Constant::kind),
                    .results = {{{}, {contents.element(), contents.shape(), nullptr}}},
                    .constant = contents};
      if (const std::int64_t type = memory.integer(suffixed(key, raised::type_suffix))) {
        spec.attributes.set(std::string(key::data_type), type);
      }
      collect(memory, key, std::move(spec));
    }
    if (has_scale_cast(memory)) {
      const TensorType read{ElementType::float32, memory.constant(raised::scale).shape(), nullptr};
      collect(memory, raised::scale_cast,
              {.kind = std::string(ops::Cast::kind),
               .name = memory.text(suffixed(raised::scale_cast, raised::node_suffix)),
               .operands = {Value{}},
               .results = {{{}, read}},
               .attributes = {{"to", element_type_number(ElementType::float32)}}});
    }
    if (memory.has(raised::inner_value)) collect_inner(memory);
  }

  /// Something that keeps the place of an operator until that is restored.
  void collect_inner(const Memory& memory) {
    std::string name = memory.text(raised::inner_value);
    const Value present = graph_.find_value(name);
    if (!present.is_absent() && graph_.attribute(present.node, raised::parameter) != nullptr) {
      parameters_.emplace(std::move(name), present);
      return;
    }
    const Constant nothing = float_scalar(0);
    Erased erased{.index = memory.integer(raised::inner_index), .name = name};
    erased.spec.kind = ops::Constant::kind;
    erased.spec.results.push_back({std::move(name), {nothing.element(), nothing.shape(), nullptr}});
    erased.spec.constant = nothing;
    collect(std::move(erased));
  }

  static bool has_scale_cast(const Memory& memory) {
    return memory.has(suffixed(raised::scale_cast, raised::name_suffix));
  }

  /// What is remembered under `key`; `spec` says all but its name.
  void collect(const Memory& memory, std::string_view key, NodeSpec spec) {
    std::string name = memory.text(suffixed(key, raised::name_suffix));
    spec.results.front().name = name;
    if (memory.has(suffixed(key, raised::place_suffix))) {
      spec.attributes.set(std::string(regions::place),
                          memory.text(suffixed(key, raised::place_suffix)));
    }
    const bool is_cast = key == raised::scale_cast;
    collect({.is_last = memory.has(raised::codes_type),
             .index = memory.integer(suffixed(key, raised::index_suffix)),
             .name = std::move(name),
             .spec = std::move(spec),
             .cast_of = is_cast ? memory.text(suffixed(raised::scale, raised::name_suffix))
                                : std::string()});
  }

  void collect(Erased erased) {
    if (const Value present = graph_.find_value(erased.name); is_it(present, erased.spec)) {
      parameters_.emplace(erased.name, present);
    } else if (collected_.insert(erased.name).second) {
      erased_.push_back(std::move(erased));
    }
  }

  /// Whether the value is still what is to be made.
  [[nodiscard]] bool is_it(Value value, const NodeSpec& spec) const {
    if (value.is_absent()) return false;
    // Nobody looks into such a tensor, or changes it.
    if (graph_.kind(value.node) == opaque_initializer_kind) {
      return graph_.type(value).shape == spec.results.front().type.shape;
    }
    if (graph_.kind(value.node) != spec.kind) return false;
    const Constant* const constant = graph_.constant(value.node);
    return constant == nullptr || *constant == spec.constant;
  }

  /// Those that stayed in the graph go, where nothing that was restored reads them.
  void settle_parameters() {
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid() || graph_.attribute(node, raised::parameter) == nullptr) continue;
      if (graph_.uses(node).empty()) {
        graph_.erase(node);
      } else {
        graph_.erase_attribute(node, std::string(raised::parameter));
      }
    }
  }

  /// Backwards: they were erased in the order of their indices, and the graph hands out the one
  /// that was freed last.
  void add_erased() {
    std::ranges::sort(erased_, std::ranges::greater{},
                      [](const Erased& erased) { return std::pair(erased.is_last, erased.index); });
    for (Erased& erased : erased_) {
      erased.spec.attributes.set(std::string(raised::parameter), std::int64_t{1});
      parameters_.emplace(erased.name, Value{graph_.add(std::move(erased.spec))});
    }
    for (const Erased& erased : erased_) {
      if (!erased.cast_of.empty()) {
        graph_.set_operand(parameters_.at(erased.name).node, 0, parameters_.at(erased.cast_of));
      }
    }
    erased_.clear();
  }

  // --- nodes that change their kind ---

  static std::size_t operands_of(const Memory& memory) {
    return memory.integer(raised::operands) == 3 ? 3 : 2;
  }

  [[nodiscard]] std::vector<Value> linear_operands(NodeId node) const {
    const Memory memory(graph_.ref(node));
    std::vector<Value> operands{codes_of(node)};
    const std::string_view scale = has_scale_cast(memory) ? raised::scale_cast : raised::scale;
    for (const std::string_view key : {scale, raised::zero_point}) {
      if (operands.size() == operands_of(memory)) break;
      const auto found = parameters_.find(memory.text(suffixed(key, raised::name_suffix)));
      operands.push_back(found == parameters_.end() ? Value{} : found->second);
    }
    return operands;
  }

  /// The initializer that was read, where the codes became a constant of their own.
  [[nodiscard]] Value codes_of(NodeId node) const {
    const Value codes = graph_.ref(node).operand(0);
    const Memory memory(graph_.ref(node));
    if (!memory.has(raised::codes_name)) return codes;
    const Value first = graph_.find_value(memory.text(raised::codes_name));
    const Constant* const contents = graph_.constant(codes.node);
    const Constant* const read = first.is_absent() ? nullptr : graph_.constant(first.node);
    return contents != nullptr && read != nullptr && *read == *contents ? first : codes;
  }

  void restore(NodeId node) {
    const Memory memory(graph_.ref(node));
    const std::string kind = memory.text(raised::kind);
    const std::string inner_name = memory.text(raised::inner_name);
    const bool has_cast = memory.has(raised::inner_value);
    const Value inner = has_cast ? parameters_.at(memory.text(raised::inner_value)) : Value{};
    const bool makes_codes = graph_.kind(node) == ops::Quantize::kind;
    const Value read = graph_.ref(node).operand(0);
    std::vector<Value> operands = linear_operands(node);
    TensorType type = graph_.type({node});
    type.quantization = nullptr;
    if (makes_codes && memory.has(raised::codes_type)) {
      type.element = element_of(memory.integer(raised::codes_type));
    }
    Attributes linear;
    Attributes last;  // of the Cast, where there is one
    for (const auto& [name, value] : graph_.attributes(node)) {
      if (name.starts_with(raised::attribute)) {
        linear.set(name.substr(raised::attribute.size()), value);
      } else if (name.starts_with(raised::cast_attribute)) {
        last.set(name.substr(raised::cast_attribute.size()), value);
      } else if (!name.starts_with(raised::kind)) {
        (has_cast ? last : linear).set(name, value);
      }
    }
    if (has_cast) {
      const TensorType real{ElementType::float32, type.shape, nullptr};
      operands = {{replace_in_place(graph_, inner.node,
                                    {.kind = kind,
                                     .name = inner_name,
                                     .operands = std::move(operands),
                                     .results = {{std::string(graph_.value_name(inner)), real}},
                                     .attributes = std::move(linear)})}};
      linear = std::move(last);
    }
    ResultSpec result{std::string(graph_.value_name({node})), std::move(type)};
    std::string node_name(graph_.name(node));
    replace_in_place(graph_, node,
                     {.kind = has_cast ? kind_of({{}, "Cast"}) : kind,
                      .name = std::move(node_name),
                      .operands = std::move(operands),
                      .results = {std::move(result)},
                      .attributes = std::move(linear)});
    const bool is_left =
        !makes_codes && graph_.constant(read.node) != nullptr && graph_.uses(read.node).empty();
    if (is_left) graph_.erase(read.node);  // the initializer that was read took its place
  }

  // --- types ---

  /// Codes that only restored operators read are plain integers again, as in the file. Those that
  /// others read keep their type, along the operations that move them.
  void drop_types() {
    const std::unordered_set<NodeId> kept = connected_to_conversions();
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid() || kept.contains(node)) continue;
      for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
        if (!graph_.type({node, i}).is_quantized()) continue;
        TensorType type = graph_.type({node, i});
        type.quantization = nullptr;
        graph_.set_type({node, i}, std::move(type));
      }
    }
  }

  /// The conversions that were not restored, and all nodes that quantized values connect to one.
  [[nodiscard]] std::unordered_set<NodeId> connected_to_conversions() const {
    std::unordered_set<NodeId> connected;
    std::vector<NodeId> pending;
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (node.is_valid() && is_conversion(graph_.kind(node))) pending.push_back(node);
    }
    while (!pending.empty()) {
      const NodeId node = pending.back();
      pending.pop_back();
      if (!connected.insert(node).second) continue;
      for (const Value operand : graph_.operands(node)) {
        if (!operand.is_absent() && graph_.type(operand).is_quantized()) {
          pending.push_back(operand.node);
        }
      }
      for (const Use& use : graph_.uses(node)) {
        if (graph_.type({node, use.result}).is_quantized()) pending.push_back(use.user);
      }
    }
    return connected;
  }

  Graph& graph_;
  std::vector<Erased> erased_;
  std::unordered_set<std::string> collected_;
  std::unordered_map<std::string, Value> parameters_;
  bool is_first_;
  bool has_weights_;
  bool has_limits_;
};

}  // namespace

void restore_linear(Graph& graph, Restored which, bool has_weights) {
  Restoring(graph, which, has_weights).run();
}

}  // namespace quadrant::inline v0::onnx

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "io/onnx/dequantize.hpp"
#include "io/onnx/element.hpp"
#include "io/onnx/raise.hpp"
#include "quadrant/ir/moves.hpp"

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
  explicit Restoring(Graph& graph) : graph_(graph) {}

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
    if (!nodes.empty()) {
      for (const NodeId node : nodes) collect_erased(node);
      add_erased();
      for (const NodeId node : nodes) restore(node);
      drop_types();
    }
    settle_parameters();
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
    std::int64_t index;
    std::string name;
    Constant constant;  ///< empty for the operator in front of a Cast
    NodeId owner;
  };

  [[nodiscard]] const UniformType* type_of(NodeId node) const {
    const Value operand = graph_.ref(node).operand(0);
    if (operand.is_absent()) return nullptr;
    const bool to_real = graph_.kind(node) == ops::Dequantize::kind;
    return graph_.type(to_real ? operand : Value{node}).uniform().get();
  }

  [[nodiscard]] bool still_means_the_same(NodeId node) const {
    const Memory memory(graph_.ref(node));
    const UniformType* type = type_of(node);
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

  void collect_erased(NodeId node) {
    const Memory memory(graph_.ref(node));
    for (const std::string_view key : {raised::scale, raised::zero_point}) {
      if (!memory.has(key)) continue;
      const std::string name(key);
      Erased erased{memory.integer(name + std::string(raised::index_suffix)),
                    memory.text(name + std::string(raised::name_suffix)),
                    memory.constant(key),
                    {}};
      if (const Value present = graph_.find_value(erased.name); holds(present, erased.constant)) {
        parameters_.emplace(std::move(erased.name), present);
      } else if (collected_.insert(erased.name).second) {
        erased_.push_back(std::move(erased));
      }
    }
    if (memory.has(raised::inner_value)) {
      erased_.push_back(
          {memory.integer(raised::inner_index), memory.text(raised::inner_value), {}, node});
    }
  }

  [[nodiscard]] bool holds(Value value, const Constant& constant) const {
    if (value.is_absent() || graph_.kind(value.node) != ops::Constant::kind) return false;
    return *graph_.constant(value.node) == constant;
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
    std::ranges::sort(erased_, std::ranges::greater{}, &Erased::index);
    for (Erased& erased : erased_) {
      if (erased.constant) {
        parameters_.emplace(erased.name, graph_.add_constant(erased.name, erased.constant));
        continue;
      }
      TensorType type = graph_.type({erased.owner});
      type.element = ElementType::float32;
      const Memory memory(graph_.ref(erased.owner));
      inner_.emplace(erased.owner, graph_.add({.kind = memory.text(raised::kind),
                                               .name = memory.text(raised::inner_name),
                                               .operands = std::vector<Value>(operands_of(memory)),
                                               .results = {{erased.name, std::move(type)}}}));
    }
  }

  // --- nodes that change their kind ---

  static std::size_t operands_of(const Memory& memory) {
    return memory.integer(raised::operands) == 3 ? 3 : 2;
  }

  [[nodiscard]] std::vector<Value> linear_operands(NodeId node) const {
    const Memory memory(graph_.ref(node));
    std::vector<Value> operands{graph_.ref(node).operand(0)};
    for (const std::string_view key : {raised::scale, raised::zero_point}) {
      if (operands.size() == operands_of(memory)) break;
      const auto found =
          parameters_.find(memory.text(std::string(key) + std::string(raised::name_suffix)));
      operands.push_back(found == parameters_.end() ? Value{} : found->second);
    }
    return operands;
  }

  void restore(NodeId node) {
    const std::string kind = Memory(graph_.ref(node)).text(raised::kind);
    std::vector<Value> operands = linear_operands(node);
    Attributes linear;
    Attributes last;  // of the Cast, where there is one
    const auto inner = inner_.find(node);
    const bool has_cast = inner != inner_.end();
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
      for (std::uint32_t i = 0; i < operands.size(); ++i) {
        graph_.set_operand(inner->second, i, operands[i]);
      }
      for (const auto& [name, value] : linear) graph_.set_attribute(inner->second, name, value);
      operands = {{inner->second}};
    }
    TensorType type = graph_.type({node});
    type.quantization = nullptr;
    ResultSpec result{std::string(graph_.value_name({node})), std::move(type)};
    std::string node_name(graph_.name(node));
    replace_in_place(graph_, node,
                     {.kind = has_cast ? kind_of({{}, "Cast"}) : kind,
                      .name = std::move(node_name),
                      .operands = std::move(operands),
                      .results = {std::move(result)},
                      .attributes = has_cast ? std::move(last) : std::move(linear)});
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
  std::unordered_map<NodeId, NodeId> inner_;
};

}  // namespace

void restore_linear(Graph& graph) { Restoring(graph).run(); }

}  // namespace quadrant::inline v0::onnx

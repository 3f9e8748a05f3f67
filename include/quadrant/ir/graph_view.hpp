// What the engine needs to know of a graph. Implement this for an IR of your own and the phases run
// on it without conversion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>

#include "quadrant/ir/attribute.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0 {

struct Operation;    // quadrant/ir/operations.hpp
class Capabilities;  // quadrant/ir/capabilities.hpp

/// A node. The generation tells a node from an earlier one that had the same index.
struct NodeId {
  static constexpr std::uint32_t no_index = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t index = no_index;
  std::uint32_t generation = 0;

  [[nodiscard]] constexpr bool is_valid() const noexcept { return index != no_index; }
  friend constexpr auto operator<=>(const NodeId&, const NodeId&) = default;
};

/// One result of a node. A default-made value stands for an absent operand (a convolution without a
/// bias).
struct Value {
  NodeId node;
  std::uint32_t result = 0;

  [[nodiscard]] constexpr bool is_absent() const noexcept { return !node.is_valid(); }
  friend constexpr auto operator<=>(const Value&, const Value&) = default;
};

/// An edge: result `result` of the node asked about is operand `operand` of `user`. A node that
/// reads a value twice is two uses of it.
struct Use {
  std::uint32_t result = 0;
  NodeId user;
  std::uint32_t operand = 0;
  friend constexpr auto operator<=>(const Use&, const Use&) = default;
};

/// Read access to a directed acyclic graph of operations.
///
/// Inputs, constants and outputs are nodes too (`ops::Input`, `ops::Constant`, `ops::Output`), so
/// that every value has a producer and every edge a user. References and spans that are returned
/// stay valid until the graph is edited. Reading from several threads at once is safe.
class GraphView {
 public:
  GraphView() = default;
  virtual ~GraphView() = default;

  /// Every node's index is below this; arrays beside the graph are this long.
  [[nodiscard]] virtual std::uint32_t index_bound() const noexcept = 0;
  /// The node with this index, or an invalid id where the index is not in use.
  [[nodiscard]] virtual NodeId node_at(std::uint32_t index) const noexcept = 0;

  /// Name of the operation, for example `matmul`. The set is open: an unknown one is left alone.
  [[nodiscard]] virtual std::string_view kind(NodeId node) const noexcept = 0;
  /// For people: messages and filters. Need not be unique, may be empty.
  [[nodiscard]] virtual std::string_view name(NodeId node) const noexcept = 0;
  /// In order; absent ones keep their place.
  [[nodiscard]] virtual std::span<const Value> operands(NodeId node) const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t result_count(NodeId node) const noexcept = 0;
  /// All uses of all results, in any order.
  [[nodiscard]] virtual std::span<const Use> uses(NodeId node) const noexcept = 0;
  /// Null when the node has none of that name.
  [[nodiscard]] virtual const Attribute* attribute(NodeId node,
                                                   std::string_view name) const noexcept = 0;
  /// Contents of a node of kind `constant`, null for every other.
  [[nodiscard]] virtual const Constant* constant(NodeId node) const noexcept = 0;

  [[nodiscard]] virtual const TensorType& type(Value value) const noexcept = 0;
  /// Unique in the graph and the same however the graph was built: plans refer to values by it.
  [[nodiscard]] virtual std::string_view value_name(Value value) const noexcept = 0;

  /// What the graph's own operations are: those that the library's table does not have. Shapes,
  /// schemes and gains then treat them by their traits, as the table's. They live as long as the
  /// graph and its copies. None, unless this is overridden.
  [[nodiscard]] virtual std::span<const Operation> operations() const noexcept;

  /// What the IR can hold, which is asked before anything is decided. Null: everything, unless this
  /// is overridden.
  [[nodiscard]] virtual const Capabilities* capabilities() const noexcept { return nullptr; }

 protected:
  GraphView(const GraphView&) = default;
  GraphView& operator=(const GraphView&) = default;
};

/// A node together with its graph: what typed views and methods read.
struct NodeRef {
  const GraphView* graph = nullptr;
  NodeId id;

  [[nodiscard]] std::string_view kind() const noexcept { return graph->kind(id); }
  [[nodiscard]] std::string_view name() const noexcept { return graph->name(id); }
  [[nodiscard]] std::span<const Value> operands() const noexcept { return graph->operands(id); }
  /// The absent value where the node has fewer operands.
  [[nodiscard]] Value operand(std::size_t index) const noexcept;
  /// Null for an absent operand.
  [[nodiscard]] const TensorType* operand_type(std::size_t index) const noexcept;
  /// The constant that feeds the operand directly; null where there is none.
  [[nodiscard]] const Constant* operand_constant(std::size_t index) const noexcept;
  [[nodiscard]] Value result(std::uint32_t index = 0) const noexcept { return {id, index}; }
  [[nodiscard]] const TensorType& type(std::uint32_t index = 0) const noexcept {
    return graph->type(result(index));
  }

  /// The attribute if it is there and of that type, else `fallback`.
  template <class T>
  [[nodiscard]] T attribute_or(std::string_view attribute_name, const T& fallback) const {
    const Attribute* found = graph->attribute(id, attribute_name);
    const T* typed = found ? std::get_if<T>(found) : nullptr;
    return typed ? *typed : fallback;
  }
};

/// What to call a node in front of people: its name, else that of its first result, else its kind.
[[nodiscard]] std::string_view label(const GraphView& graph, NodeId node) noexcept;

}  // namespace quadrant::inline v0

template <>
struct std::hash<quadrant::NodeId> {
  std::size_t operator()(const quadrant::NodeId& id) const noexcept {
    return std::hash<std::uint64_t>{}((std::uint64_t{id.generation} << 32U) | id.index);
  }
};
template <>
struct std::hash<quadrant::Value> {
  std::size_t operator()(const quadrant::Value& value) const noexcept {
    return std::hash<quadrant::NodeId>{}(value.node) * 31U + value.result;
  }
};

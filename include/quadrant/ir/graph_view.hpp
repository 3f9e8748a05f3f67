// How graphs are read: attributes, the interface, arrays beside it, orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// Named, typed facts about a node or a graph.

/// Something a format holds and the library does not read (a subgraph, a type, unknown fields):
/// carried through and written as it came.
struct Opaque {
  std::string format;  ///< who can read it, for example `onnx.graph`
  Constant bytes;      ///< `uint8`, one-dimensional
  friend bool operator==(const Opaque&, const Opaque&) = default;
};

using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>, Constant, Opaque>;

/// A handful of attributes in the order in which they were set.
class Attributes {
 public:
  using Entry = std::pair<std::string, Attribute>;

  // Not inline: every file that hands attributes around would hold all of the variant's code.
  Attributes() noexcept;
  Attributes(const Attributes& other);
  Attributes(Attributes&& other) noexcept;
  Attributes& operator=(const Attributes& other);
  Attributes& operator=(Attributes&& other) noexcept;
  ~Attributes();
  Attributes(std::initializer_list<Entry> entries);
  /// Many at once, which `set` would take quadratic time for. Of those of one name, the first.
  explicit Attributes(std::vector<Entry> entries);

  /// Null when there is none of that name.
  [[nodiscard]] const Attribute* find(std::string_view name) const noexcept;
  /// Adds or replaces.
  void set(std::string name, Attribute value);
  /// True if there was one.
  bool erase(std::string_view name);

  /// The value if it is there and of that type, else `fallback`.
  template <class T>
  [[nodiscard]] T get_or(std::string_view name, const T& fallback) const {
    const Attribute* found = find(name);
    const T* typed = found ? std::get_if<T>(found) : nullptr;
    return typed ? *typed : fallback;
  }

  [[nodiscard]] auto begin() const noexcept { return entries_.begin(); }
  [[nodiscard]] auto end() const noexcept { return entries_.end(); }
  [[nodiscard]] bool empty() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;

  friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  std::vector<Entry> entries_;
};

// What the engine needs to know of a graph. Implement this for an IR of your own and the phases run
// on it without conversion.

struct Operation;    // quadrant/ir/operations.hpp
class Capabilities;  // quadrant/ir/graph_rewriter.hpp

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

/// The name of a node for people: its name, else that of its first result, else its kind.
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

namespace quadrant::inline v0 {

// Arrays beside a graph: one entry for each value, or for each operand of each node.

/// Numbers the values of a graph from 0. Valid until the graph is edited.
class ValueNumbering {
 public:
  explicit ValueNumbering(const GraphView& graph);
  [[nodiscard]] std::uint32_t operator()(Value value) const noexcept {
    return first_[value.node.index] + value.result;
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return first_.back(); }
  /// Whether the value was there when they were numbered.
  [[nodiscard]] bool contains(Value value) const noexcept {
    return value.node.index + 1 < first_.size() && value.result < result_count(value.node);
  }
  /// As GraphView::result_count, from a flat array: passes over large graphs touch no nodes.
  [[nodiscard]] std::uint32_t result_count(NodeId node) const noexcept {
    return first_[node.index + 1] - first_[node.index];
  }

 private:
  std::vector<std::uint32_t> first_;
};

template <class T>
class ValueMap {
 public:
  ValueMap() = default;
  ValueMap(std::shared_ptr<const ValueNumbering> numbering, const T& initial)
      : numbering_(std::move(numbering)), entries_(numbering_->size(), initial) {}

  [[nodiscard]] T& operator[](Value value) noexcept { return entries_[(*numbering_)(value)]; }
  [[nodiscard]] const T& operator[](Value value) const noexcept {
    return entries_[(*numbering_)(value)];
  }
  [[nodiscard]] const std::shared_ptr<const ValueNumbering>& numbering() const noexcept {
    return numbering_;
  }

 private:
  std::shared_ptr<const ValueNumbering> numbering_;
  std::vector<T> entries_;
};

/// One entry for each operand of each node. Valid until the graph is edited.
template <class T>
class OperandMap {
 public:
  OperandMap() = default;
  /// `make(operand)` gives the first entry for an operand.
  template <class Make>
  OperandMap(const GraphView& graph, Make make) : first_(graph.index_bound() + 1, 0) {
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      const NodeId node = graph.node_at(i);
      if (node.is_valid()) {
        for (const Value operand : graph.operands(node)) entries_.push_back(make(operand));
      }
      first_[i + 1] = static_cast<std::uint32_t>(entries_.size());
    }
  }

  [[nodiscard]] std::span<T> operator[](NodeId user) noexcept {
    return std::span(entries_).subspan(first_[user.index],
                                       first_[user.index + 1] - first_[user.index]);
  }
  [[nodiscard]] std::span<const T> operator[](NodeId user) const noexcept {
    return std::span(entries_).subspan(first_[user.index],
                                       first_[user.index + 1] - first_[user.index]);
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<T> entries_;
};

// The order in which a graph can be computed, and what needs no input for that.

/// All nodes, producers before users. Linear, without recursion. A cycle is an error that names a
/// node on it.
[[nodiscard]] Expected<std::vector<NodeId>> topological_order(const GraphView& graph);

/// The same in the order in which they were added, but each node after what it needs: new nodes
/// come just before their first users.
[[nodiscard]] Expected<std::vector<NodeId>> order_of_making(const GraphView& graph);

/// By index of the node, 1 for constants and what is computed of constants alone. `order` is a
/// topological order of `graph`. Linear.
[[nodiscard]] std::vector<std::uint8_t> of_constants_alone(const GraphView& graph,
                                                           const std::vector<NodeId>& order);

}  // namespace quadrant::inline v0

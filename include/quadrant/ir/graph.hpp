// The library's own graph: an arena of nodes that can be edited.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/node_spec.hpp"

namespace quadrant::inline v0 {

/// A graph of operations with ordered, possibly absent operands and numbered results.
///
/// Handles survive edits of other nodes; using the handle of an erased node is a programming
/// mistake (`contains` tells). Value names are unique: a name that is taken gets a suffix. Copies
/// share the contents of constants. Editing needs exclusive access; reading does not.
class Graph final : public GraphView {
 public:
  // --- building and editing -------------------------------------------------------------------
  /// Operands must be values of this graph, or absent.
  NodeId add(NodeSpec spec);
  Value add_input(std::string name, TensorType type);
  /// The type is that of `constant`.
  Value add_constant(std::string name, Constant constant);
  /// Makes `value` an output of the graph, under `name`; the same value may be several outputs.
  NodeId add_output(std::string name, Value value);

  void set_operand(NodeId node, std::uint32_t operand, Value value);
  /// Every use of `from` becomes a use of `to`.
  void replace_uses(Value from, Value to);
  /// The node's results must be unused.
  void erase(NodeId node);

  void set_type(Value value, TensorType type);
  /// For kind `constant`: changes the contents and, with them, the type of result 0, which keeps
  /// `quantization` (null: none).
  void set_constant(NodeId node, Constant constant, Quantization quantization = nullptr);
  void set_attribute(NodeId node, std::string name, Attribute value);
  void erase_attribute(NodeId node, std::string_view name);
  void set_node_name(NodeId node, std::string name);
  /// Gives `value` the name (not empty), or the name with a suffix if that is taken; returns which.
  std::string_view set_value_name(Value value, std::string name);
  /// `name`, or with a suffix if that is taken.
  [[nodiscard]] std::string free_name(std::string name);
  /// No value made from now on gets this name (of what is inside subgraphs, say).
  void reserve_name(std::string name);
  /// Those, sorted.
  [[nodiscard]] std::vector<std::string> reserved_names() const;

  /// Facts about the whole model, for example its opsets.
  [[nodiscard]] Attributes& attributes() noexcept { return attributes_; }
  [[nodiscard]] const Attributes& attributes() const noexcept { return attributes_; }

  /// Rows of operations that the library's table does not have: GraphView::operations. Static, as a
  /// rule: they must outlive the graph and all its copies.
  void set_operations(std::span<const Operation> rows) noexcept;
  /// What may become of the graph: GraphView::capabilities. They must outlive it and all its
  /// copies. Null: everything.
  void set_capabilities(const Capabilities* capabilities) noexcept { capabilities_ = capabilities; }

  // --- reading --------------------------------------------------------------------------------
  [[nodiscard]] bool contains(NodeId node) const noexcept;
  [[nodiscard]] std::uint32_t node_count() const noexcept { return live_; }
  /// In the order in which they were added.
  [[nodiscard]] std::span<const NodeId> inputs() const noexcept { return inputs_; }
  [[nodiscard]] std::span<const NodeId> outputs() const noexcept { return outputs_; }
  /// The value of that name; the absent value where there is none.
  [[nodiscard]] Value find_value(std::string_view name) const noexcept;
  [[nodiscard]] const Attributes& attributes(NodeId node) const noexcept;
  [[nodiscard]] NodeRef ref(NodeId node) const noexcept { return {this, node}; }

  [[nodiscard]] std::uint32_t index_bound() const noexcept override;
  [[nodiscard]] NodeId node_at(std::uint32_t index) const noexcept override;
  [[nodiscard]] std::string_view kind(NodeId node) const noexcept override;
  [[nodiscard]] std::string_view name(NodeId node) const noexcept override;
  [[nodiscard]] std::span<const Value> operands(NodeId node) const noexcept override;
  [[nodiscard]] std::uint32_t result_count(NodeId node) const noexcept override;
  [[nodiscard]] std::span<const Use> uses(NodeId node) const noexcept override;
  [[nodiscard]] const Attribute* attribute(NodeId node,
                                           std::string_view name) const noexcept override;
  [[nodiscard]] const Constant* constant(NodeId node) const noexcept override;
  [[nodiscard]] const TensorType& type(Value value) const noexcept override;
  [[nodiscard]] std::string_view value_name(Value value) const noexcept override;
  [[nodiscard]] std::span<const Operation> operations() const noexcept override;
  [[nodiscard]] const Capabilities* capabilities() const noexcept override { return capabilities_; }

 private:
  struct Result {
    std::string name;
    TensorType type;
  };
  struct Node {
    std::uint32_t generation = 0;
    bool live = false;
    std::string kind;
    std::string name;
    std::vector<Value> operands;
    std::vector<std::uint32_t> use_positions;  // of operand i in its producer's `uses`
    std::vector<Result> results;
    std::vector<Use> uses;
    Attributes attributes;
    Constant constant;
  };
  struct StringHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };

  [[nodiscard]] const Node& at(NodeId node) const noexcept;
  [[nodiscard]] Node& at(NodeId node) noexcept;
  void link(NodeId user, std::uint32_t operand);
  void unlink(NodeId user, std::uint32_t operand);
  [[nodiscard]] bool is_taken(const std::string& name) const;

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> free_;
  std::vector<NodeId> inputs_;
  std::vector<NodeId> outputs_;
  std::unordered_map<std::string, Value, StringHash, std::equal_to<>> names_;
  std::unordered_set<std::string, StringHash, std::equal_to<>> reserved_;
  std::unordered_map<std::string, std::uint64_t, StringHash, std::equal_to<>> next_suffix_;
  Attributes attributes_;
  const Operation* operations_ = nullptr;
  std::size_t operation_count_ = 0;
  const Capabilities* capabilities_ = nullptr;
  std::uint32_t live_ = 0;
};

}  // namespace quadrant::inline v0

// The library's own graph, and how other graphs become one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// The library's own graph: an arena of nodes that can be edited.

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

/// The library's own Graph as a GraphRewriter. Refers to the graph.
class GraphEditor final : public GraphRewriter {
 public:
  explicit GraphEditor(Graph& graph) noexcept : graph_(&graph) {}

  [[nodiscard]] const GraphView& view() const noexcept override { return *graph_; }
  [[nodiscard]] Expected<NodeId> emit(NodeSpec spec) override;
  [[nodiscard]] Expected<void> set_operand(NodeId node, std::uint32_t operand,
                                           Value value) override;
  [[nodiscard]] Expected<void> set_type(Value value, TensorType type) override;
  [[nodiscard]] Expected<void> set_constant(NodeId node, Constant constant,
                                            Quantization quantization) override;
  [[nodiscard]] Expected<void> set_value_name(Value value, std::string name) override;
  [[nodiscard]] Expected<void> erase(NodeId node) override;

 private:
  Graph* graph_;
};

// A graph of the library with the contents of another IR: for runtimes and reports.

/// All attributes of a node, which a GraphView is asked for one by one.
using AttributesOf = std::function<Attributes(NodeId node)>;

/// The same nodes, in an order of making, with the same names, types, contents (which are shared)
/// and rows of operations of its own. Calibration, second moments, comparisons, sensitivity and
/// reports take it, with a `Runtime` that knows the operations; what they find is by names of
/// values. Plans are made on `view`, which knows what the IR can hold.
///
/// `attributes_of`: null if no node has any. `invalid_model`: a cycle, or two values of one
/// name. Linear; rows and sources of constants must outlive it as they do `view`.
[[nodiscard]] Expected<Graph> to_graph(const GraphView& view, const AttributesOf& attributes_of);

// Models whose inputs and outputs are codes, as models whose inputs and outputs are float, and
// back.

/// Whether an input, or the value of an output, is quantized.
[[nodiscard]] bool has_coded_borders(const GraphView& graph);

/// Inputs that are codes become float, of their expressed type and with the same name, with a
/// `quantize` behind; in front of outputs that are codes comes a `dequantize`. So the model can be
/// fed, and compared, as the one that it was made of. All else stays. Linear.
void make_borders_real(Graph& graph);

/// The opposite: an input that `quantize` alone reads, always by the same parameters, becomes
/// codes, and so does an output that a `dequantize` makes. Returns the inputs and outputs that stay
/// float, with the reason. Linear.
[[nodiscard]] std::vector<LeftAlone> make_borders_coded(Graph& graph);

// Checks that a graph keeps the rules of the IR.

/// No cycles; operands exist, and `uses` lists each once; value names unique and not empty; every
/// known operation has the operands, attributes and types that its view in `ops.hpp` promises;
/// every quantized type keeps its rules, and its storage type is the tensor's element type; where
/// the view has Capabilities, it says what the IR says (`check_view`), and groups of one type have
/// one. The error names the node, and the tensor when it is about a type. Linear in the size of the
/// graph.
[[nodiscard]] Expected<void> verify(const GraphView& graph);

/// The rules of one node alone: all but edges, names and cycles. Besides, an operator of ONNX's own
/// has as many operands and results as one of its versions allows; graphs that were read from ONNX
/// files, which are carried as they are, may hold others.
[[nodiscard]] Expected<void> verify(NodeRef node);

/// The rules of one quantized type for tensors of shape `shape`: codes are integers of at most 32
/// bits, in a range of more than one inside the storage type's; they express a float type; the axis
/// is inside the rank, blocks are not empty; scales are float32, float16 or float64, of
/// `parameter_shape`, finite and not zero; zero points are of the storage type, as many, and inside
/// the range. Values that are deferred are not looked at.
[[nodiscard]] Expected<void> verify(const UniformType& type, const Shape& shape);

/// The same of a format that is not uniform: besides `verify(NumberFormat)`, each of its parts is
/// there, of its type, and of its shape where that of the tensor is known; numbers are such as
/// their level holds; codes have 16 bits at most. In a graph, only constants have such types, and
/// only `dequantize` reads them.
[[nodiscard]] Expected<void> verify(const ScaledFormat& format, const Shape& shape);

}  // namespace quadrant::inline v0

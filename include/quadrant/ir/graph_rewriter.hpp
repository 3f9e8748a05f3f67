// How phase 4 changes a graph. Implement this beside GraphView and schemes rewrite an IR of your
// own, without conversion.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/node_spec.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// The operations that the library's schemes emit, all of them: what an IR must be able to hold.
inline constexpr std::array emitted_ops{
    ops::Constant::kind,  ops::Quantize::kind, ops::Dequantize::kind, ops::StorageCast::kind,
    ops::Transpose::kind, ops::Reshape::kind,  ops::Multiply::kind,   ops::Add::kind};

/// Write access to the graph that a GraphView reads. Handles of other nodes stay good across edits.
/// An IR that cannot do what is asked (a layout, a type that it does not have) says so with
/// `impossible` and stays as it was. Needs exclusive access.
class GraphRewriter {
 public:
  GraphRewriter() = default;
  virtual ~GraphRewriter() = default;

  /// The graph as it is now. Spans that were read before an edit are no longer good.
  [[nodiscard]] virtual const GraphView& view() const noexcept = 0;

  /// Adds a node, anywhere that its operands allow. A result's name that is taken gets a suffix.
  [[nodiscard]] virtual Expected<NodeId> emit(NodeSpec spec) = 0;
  [[nodiscard]] virtual Expected<void> set_operand(NodeId node, std::uint32_t operand,
                                                   Value value) = 0;
  /// The value's shape stays; its element type and its quantization change.
  [[nodiscard]] virtual Expected<void> set_type(Value value, TensorType type) = 0;
  /// For kind `constant`: new contents, and their quantization (null: none).
  [[nodiscard]] virtual Expected<void> set_constant(NodeId node, Constant constant,
                                                    Quantization quantization) = 0;
  /// Renames the value; a name that is taken gets a suffix.
  [[nodiscard]] virtual Expected<void> set_value_name(Value value, std::string name) = 0;
  /// Removes a node that nobody uses any more. The default leaves it, for an IR that eliminates
  /// dead code itself.
  [[nodiscard]] virtual Expected<void> erase(NodeId /*node*/) { return {}; }

  /// Every use of `from`, except by `except`, becomes a use of `to`.
  [[nodiscard]] Expected<void> replace_uses(Value from, Value to, NodeId except = {});

 protected:
  GraphRewriter(const GraphRewriter&) = default;
  GraphRewriter& operator=(const GraphRewriter&) = default;
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

}  // namespace quadrant::inline v0

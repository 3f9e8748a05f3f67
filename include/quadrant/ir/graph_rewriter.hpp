// How graphs are changed: what can be made, and the interface.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// What a node to be made looks like.

/// One result to be made: its name (empty: the graph makes one up) and type.
struct ResultSpec {
  std::string name;
  TensorType type;
};

/// A node to be made.
struct NodeSpec {
  std::string kind;
  std::string name;
  std::vector<Value> operands;
  std::vector<ResultSpec> results;
  Attributes attributes;
  Constant constant;  ///< for kind `constant`
};

// What an IR can hold and make: asked before anything is decided, so that nothing is planned which
// phase 4 would have to refuse half-way.

/// Implement this beside GraphView, and return it from `GraphView::capabilities`. What is refused,
/// with `impossible` and a reason, is not offered, and `explain` says why.
///
/// Quantized types that are asked about have everything but their numbers, which are not known yet:
/// scales are 1, zero points 0, and there are zero points wherever there may be. The same question
/// must get the same answer for any numbers. Asked from one thread at a time.
class Capabilities {
 public:
  Capabilities() = default;
  virtual ~Capabilities() = default;

  /// Whether a value may have this type.
  [[nodiscard]] virtual Expected<void> can_hold(const TensorType& type) const;
  /// Whether an operation of `kind`, one of `emitted_ops`, may read values of these types and make
  /// one of type `result`: `quantize` and `dequantize` are asked about, and, where weight_only
  /// would put scales behind sums, `storage_cast`, `multiply` and `add`.
  [[nodiscard]] virtual Expected<void> can_emit(std::string_view kind,
                                                std::span<const TensorType> operands,
                                                const TensorType& result) const;
  /// Values of the graph that have one type, now and later, group by group: what a loop starts
  /// with, its state, the next state and its result. Groups that share a value are one. Phase 3
  /// quantizes all of a group in one form, or none of it: none where two are weights; where one
  /// came quantized, the group is a coupling like any other. Phase 4 refuses where scales come to
  /// differ all the same. `verify` checks groups. None, unless this is overridden.
  [[nodiscard]] virtual std::vector<std::vector<Value>> of_one_type() const;
  /// Whether the view says what the IR says, of one that keeps rows of its own beside it:
  /// `invalid_model`, with the first difference. `verify` asks this. It does, unless this is
  /// overridden.
  [[nodiscard]] virtual Expected<void> check_view() const;

 protected:
  Capabilities(const Capabilities&) = default;
  Capabilities& operator=(const Capabilities&) = default;
};

struct NumberFormat;  // quadrant/ir/number_format.hpp

/// Values of a static shape in a format whose numbers are not known yet, which takes no memory for
/// them: scales are 1, zero points, other offsets and tables 0. The format has the shape's axes.
[[nodiscard]] TensorType type_without_numbers(NumberFormat format, Shape shape);

// How phase 4 changes a graph. Implement this beside GraphView and schemes rewrite an IR of your
// own, without conversion.

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
  /// Removes a node without uses. The default leaves it, for an IR that eliminates dead code
  /// itself.
  [[nodiscard]] virtual Expected<void> erase(NodeId node);

  /// Every use of `from`, except by `except`, becomes a use of `to`.
  [[nodiscard]] Expected<void> replace_uses(Value from, Value to, NodeId except = {});

 protected:
  GraphRewriter(const GraphRewriter&) = default;
  GraphRewriter& operator=(const GraphRewriter&) = default;
};

}  // namespace quadrant::inline v0

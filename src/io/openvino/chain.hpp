// Rules of several steps. What is on the way is called after its operation, and its shape is left
// to those who read it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "io/openvino/lower.hpp"
#include "io/openvino/raise.hpp"

namespace quadrant::inline v0::openvino_ir {

// --- layers of a node ----------------------------------------------------------------------------

/// Layers on the way to a node's results.
class LayerChain {
 public:
  explicit LayerChain(LoweredNode& node);

  /// Of the element type of the first input, or of `element`.
  Output apply(const OpName& op, const std::vector<Output>& inputs, const Data& data = {},
               ElementType element = ElementType::undefined);
  /// One with broadcasting: `Add`, `Less`, ...
  Output pair(const OpName& op, Output a, Output b, ElementType element = ElementType::undefined);
  /// `Less`, `LogicalAnd`, ...
  Output test(const OpName& op, Output a, Output b) { return pair(op, a, b, ElementType::boolean); }
  /// A scalar of the element type of operand 0, or of `element`.
  Output number(double value, ElementType element = ElementType::undefined);
  Output integers(const std::vector<std::int64_t>& values) {
    return node_.integers("list", values);
  }
  Output integer(std::int64_t value) { return node_.integer("integer", value); }

  /// Operand `index`, of one element, with rank 0.
  Output scalar(std::size_t index);
  /// The extents of `value`, int64.
  Output extents(Output value);
  /// Elements of a list from `begin` to before `end`.
  Output part(Output list, std::int64_t begin, std::int64_t end);
  /// One element of a list, with rank 0.
  Output element_of(Output list, std::int64_t index);
  /// A list of lists and numbers that are lists of one.
  Output joined(const std::vector<Output>& lists) {
    return apply({"Concat"}, lists, {{"axis", "0"}});
  }
  /// How many elements the axes of operand 0 from `begin` to before `end` have, a list of one.
  /// Where others are open, too: no -1, which cannot be found for an array without elements.
  Output count(std::int64_t begin, std::int64_t end);
  Output reduced(std::string_view type, Output value, const std::vector<std::int64_t>& axes,
                 bool keeps = true);
  /// |x|^p, and the p-norm that a sum of these is the p-th power of. `impossible` for p below 1.
  Output power(Output x, std::int64_t p);
  Output root(Output sum, std::int64_t p);

 private:
  LoweredNode& node_;
  ElementType element_;
};

/// All operands, none of which may be missing.
[[nodiscard]] std::vector<Output> all_operands(const LoweredNode& node);

/// A list that is an operand, or an attribute in older versions of ONNX; it may be computed.
[[nodiscard]] std::optional<Output> list_operand(LoweredNode& node, std::size_t index,
                                                 std::string_view attribute);

/// The attribute `axis`: from 0 on, where the rank of operand 0 is known.
[[nodiscard]] std::int64_t axis_of(const LoweredNode& node, std::int64_t fallback);

/// `impossible` where somebody reads another result than the first, which OpenVINO does not give.
void expect_one_result(const LoweredNode& node);

/// As LoweredNode::make, for an operation of one result whose node may list more.
void make_first(LoweredNode& node, const OpName& op, std::span<const Output> inputs,
                const Data& data);

/// The product of the extents `begin` to before `end`; empty where one is not known.
[[nodiscard]] std::optional<std::int64_t> known_count(const Shape& shape, std::int64_t begin,
                                                      std::int64_t end);

/// All axes from `first` to before `rank`.
[[nodiscard]] std::vector<std::int64_t> axes_from(std::int64_t first, std::int64_t rank);

// --- nodes of a layer ----------------------------------------------------------------------------

[[nodiscard]] std::vector<Value> all_inputs(const RaisedLayer& layer);

/// A node on the way, of the element type of the first operand, or of `element`.
Value stepped(RaisedLayer& layer, std::string_view kind, std::vector<Value> operands,
              Attributes attributes = {}, ElementType element = ElementType::undefined);

/// The layer's result is that of a node of `kind` that gives int64, cast to what the layer gives.
void make_int64(RaisedLayer& layer, std::string_view kind, std::vector<Value> operands,
                Attributes attributes = {});

/// The layer's results are those of a node of `kind` with two results, of which the second are
/// indices: int64, cast to what the layer gives.
void make_with_indices(RaisedLayer& layer, std::string_view kind, std::vector<Value> operands,
                       Attributes attributes);

/// An attribute `axis` that is a constant operand there. Empty where it is computed.
[[nodiscard]] std::optional<std::int64_t> constant_axis(const RaisedLayer& layer,
                                                        std::size_t input);

}  // namespace quadrant::inline v0::openvino_ir

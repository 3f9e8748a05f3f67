// Graphs to IRs: what the rules of all operations share.
#pragma once

#include <cstdint>
#include <pugixml.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "io/openvino/weights.hpp"
#include "quadrant/io/openvino.hpp"
#include "quadrant/ir/graph.hpp"
#include "support/refusals.hpp"

namespace quadrant::inline v0::openvino_ir {

class Lowering;

/// An output of a layer that was made.
struct Output {
  std::size_t layer = 0;
  std::size_t index = 0;
};

/// An operation of OpenVINO, as of the operator set that it was defined or last changed in.
struct OpName {
  std::string_view type;
  std::string_view version = "opset1";
};

/// The attributes of `<data>`.
using Data = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] std::string text_of(std::span<const std::int64_t> values);
[[nodiscard]] std::string text_of(bool value);
/// As short as it can be, to be the same float32 again.
[[nodiscard]] std::string text_of(double value);

/// One node, as a rule reads it and makes layers of it. What fails names the node: `impossible`
/// what it cannot be written as, `invalid` what is wrong with it.
class LoweredNode {
 public:
  LoweredNode(Lowering& lowering, NodeRef node) : lowering_(lowering), node_(node) {}

  [[nodiscard]] const NodeRef& node() const noexcept { return node_; }
  template <class T>
  [[nodiscard]] T attribute_or(std::string_view name, const T& fallback) const {
    return node_.attribute_or<T>(name, fallback);
  }
  [[nodiscard]] std::int64_t opset() const noexcept;
  /// Whether there are codes, or what simulates them, anywhere in the model.
  [[nodiscard]] bool is_among_codes() const noexcept;

  // --- operands ---------------------------------------------------------------------------------
  [[nodiscard]] std::size_t operand_count() const noexcept { return node_.operands().size(); }
  [[nodiscard]] bool has(std::size_t index) const noexcept;
  /// `invalid` for one that is missing.
  [[nodiscard]] Output operand(std::size_t index) const;
  [[nodiscard]] const TensorType& type(std::size_t index) const;
  /// Of an operand: `impossible` where the rank is not known.
  [[nodiscard]] const Shape& ranked(std::size_t index) const;
  [[nodiscard]] const Constant* constant(std::size_t index) const noexcept;
  /// The integers of an operand, which is a constant or follows from shapes; empty for others.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> known_list(std::size_t index) const;
  /// The same, or the attribute that it was in older versions of ONNX; empty where there is
  /// neither. `impossible` for a list that is computed.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> list(std::size_t index,
                                                              std::string_view attribute) const;

  // --- layers -----------------------------------------------------------------------------------
  /// By value: layers that are made move those that were.
  [[nodiscard]] TensorType type(Output output) const;
  [[nodiscard]] const TensorType& result_type(std::uint32_t result = 0) const {
    return node_.type(result);
  }
  [[nodiscard]] Output constant(std::string_view ending, const Constant& contents);
  [[nodiscard]] Output integers(std::string_view ending, std::span<const std::int64_t> values);
  [[nodiscard]] Output integer(std::string_view ending, std::int64_t value);
  /// Of rank 0 and a float type.
  [[nodiscard]] Output number(std::string_view ending, ElementType element, double value);
  /// A layer on the way, of one output.
  [[nodiscard]] Output step(const OpName& op, std::span<const Output> inputs, const Data& data,
                            TensorType type, std::string_view ending);
  /// The same with an output of each of these types: output 0, which the others follow.
  [[nodiscard]] Output steps(const OpName& op, std::span<const Output> inputs, const Data& data,
                             std::span<const TensorType> types, std::string_view ending);
  /// The node's results are those of this layer, which gets its name. More than the node has, where
  /// the operation has more, are given as `unused`.
  void make(const OpName& op, std::span<const Output> inputs, const Data& data = {},
            std::span<const TensorType> unused = {});
  /// A result is what a step made, which is there for this node alone: the step gets the name.
  void finish(Output output, std::uint32_t result = 0);
  /// A result is what was there before.
  void alias(Output output, std::uint32_t result = 0);
  /// The type of the layer that made `output`, and what that layer reads.
  [[nodiscard]] std::string_view made_by(Output output) const;
  [[nodiscard]] Output source(Output output, std::size_t index) const;
  /// What `output` was before a Reshape or a Transpose, if that made it; else itself.
  [[nodiscard]] Output before_reshape(Output output) const { return before("Reshape", output); }
  [[nodiscard]] Output before_transpose(Output output) const { return before("Transpose", output); }
  /// `output` in these extents, -1 for what is left.
  [[nodiscard]] Output reshaped(Output output, const Shape& shape, std::string_view ending);
  [[nodiscard]] Output converted(Output output, ElementType element, std::string_view ending);

  /// For the report.
  void decomposed(std::string how);

  [[nodiscard]] Lowering& lowering() noexcept { return lowering_; }

 private:
  [[nodiscard]] std::string name_with(std::string_view ending) const;
  [[nodiscard]] Output before(std::string_view type, Output output) const;

  Lowering& lowering_;
  NodeRef node_;
};

struct LowerRule {
  std::string_view kind;
  void (*lower)(LoweredNode& node) = nullptr;
};

class Lowering {
 public:
  Lowering(Graph graph, const OpenVinoWriteOptions& options, OpenVinoWriteReport& report);

  /// Makes all layers. To be called once.
  void run();
  [[nodiscard]] std::string xml() const;
  [[nodiscard]] const Weights& weights() const noexcept { return weights_; }

 private:
  friend class LoweredNode;

  struct MadeOutput {
    TensorType type;
    pugi::xml_node port;
    std::vector<std::string> names;
  };
  struct MadeLayer {
    pugi::xml_node node;
    std::vector<Output> sources;  ///< of its inputs
    std::vector<MadeOutput> outputs;
    std::size_t users = 0;
    bool is_kept = false;  ///< whether or not somebody reads it
    Constant contents;     ///< of a Const, which has no place yet
  };

  [[nodiscard]] const MadeOutput& made(Output output) const {
    return layers_[output.layer].outputs[output.index];
  }
  std::size_t add_layer(const OpName& op, const std::string& name, std::span<const Output> inputs,
                        const Data& data, std::span<const TensorType> outputs);
  Output add_constant(const std::string& name, const Constant& contents);
  void add_name(Output output, std::string_view name);
  void rename(Output output, NodeRef node, std::uint32_t result);
  void define(Value value, Output output);
  /// `impossible` for a result that its rule did not make.
  [[nodiscard]] Output output_of(Value value) const;
  [[nodiscard]] std::string unique_name(std::string_view wanted);

  void read_facts();
  void lower(NodeRef node);
  void compute(NodeRef node);
  void lower_input(NodeRef node);
  void lower_constant(NodeRef node);
  void lower_output(NodeRef node);
  void lower_carried(NodeRef node);
  /// Layers that rules looked through, and whose results nothing else reads.
  void drop_unused();
  /// Of those that somebody reads, in the .bin file.
  void place_constants();
  void add_edges();

  Graph graph_;
  const OpenVinoWriteOptions& options_;
  OpenVinoWriteReport& report_;
  std::int64_t opset_;
  bool has_codes_;
  bool is_compressed_ = false;
  pugi::xml_document document_;
  pugi::xml_node layers_node_;
  pugi::xml_node edges_node_;
  std::vector<MadeLayer> layers_;
  Weights weights_;
  std::unordered_map<Value, Output> values_;
  std::unordered_map<std::string, std::size_t>
      layer_names_;  ///< and how often each was wanted again
  std::unordered_map<std::string, std::vector<std::string>> tensor_names_;  ///< as they were read
  std::unordered_map<std::string, std::string> layer_info_;
  std::unordered_map<std::string, std::string> input_shapes_;  ///< as they were read
  std::unordered_set<std::string> given_names_;                ///< of tensors
  failures::Refusals refusals_;
  std::unordered_set<Value> missing_;  ///< results of those
};

}  // namespace quadrant::inline v0::openvino_ir

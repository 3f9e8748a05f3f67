// Graphs to TFLite models: the state that the rules of all operations share.
//
// A value of the graph is held as one tensor or several that differ in the order of their axes
// (layout.hpp). Rules ask for operands in the order that they need, and say in which order a result
// is: TRANSPOSE appears where no tensor of that order is there yet. A transpose of the graph is a
// change of the order, and no operator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "io/tflite/known_integers.hpp"
#include "io/tflite/model.hpp"
#include "quadrant/io/tflite.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::tflite {

struct Rule;

/// Of an axis that no axis of the operand becomes.
inline constexpr std::int32_t no_axis = -1;

/// Of a SHAPE that gives int32.
[[nodiscard]] schema::ShapeOptionsT int32_shape();

/// Whether codes of both types mean the same.
[[nodiscard]] bool have_same_parameters(const TensorType& a, const TensorType& b);

class Lowering {
 public:
  Lowering(Graph graph, const TfliteWriteOptions& options, TfliteWriteReport& report)
      : graph_(std::move(graph)), options_(options), report_(report) {}

  /// The file's bytes. To be called once.
  [[nodiscard]] std::vector<std::byte> run();

  // --- values ---------------------------------------------------------------------------------
  [[nodiscard]] const Graph& graph() const noexcept { return graph_; }
  /// `invalid` for an operand that is missing.
  [[nodiscard]] const TensorType& type(Value value) const;
  [[nodiscard]] const Shape& shape(Value value) const { return type(value).shape; }
  /// The shape, which a rule needs: `impossible` where the rank is not known.
  [[nodiscard]] const Shape& ranked(Value value) const;
  /// Contents that are known; null for what is computed.
  [[nodiscard]] const Constant* constant(Value value) const noexcept;
  /// The contents of a constant as floats, whether it holds codes or not.
  [[nodiscard]] std::vector<float> reals(Value value) const;
  [[nodiscard]] std::vector<double> exact_reals(Value value) const;
  /// Of a constant, or of integers that follow from shapes: `impossible` where the run alone tells.
  [[nodiscard]] std::vector<std::int64_t> integers(Value value) const;
  /// The same, with integers among them that the run tells; empty where nothing is known.
  [[nodiscard]] std::optional<IntegerList> open_integers(Value value) const {
    return integers_of(graph_, value, known_);
  }
  /// Whether any order of axes is as good as another: constants, and their float values.
  [[nodiscard]] bool is_free(Value value) const noexcept;
  [[nodiscard]] bool has_one_use(Value value) const noexcept;

  // --- operands -------------------------------------------------------------------------------
  /// The order in which the value was computed.
  [[nodiscard]] Axes axes(Value value) const;
  /// The order for an operation that wants all its operands, of one rank, in the same: the one
  /// that moves the fewest elements.
  [[nodiscard]] Axes common_axes(std::span<const Value> values, std::int64_t rank) const;
  [[nodiscard]] TensorId tensor(Value value, const Axes& axes);
  /// A value that `is_free`, with the same elements in that shape; scales of channels lie along an
  /// axis that is the same in both.
  TensorId free_tensor(Value value, const Axes& axes, const Shape& shape);
  /// The codes in blocks that `value` is the float values of, for an operator of kernel `code`;
  /// `no_tensor` where there are none that it takes.
  [[nodiscard]] TensorId blocks(Value value, const Axes& axes, BuiltinOperator code);
  [[nodiscard]] TensorId plain(Value value) {
    return tensor(value, plain_axes(ranked(value).rank()));
  }
  /// With the elements in the value's own order, the tensor's shape may be another.
  [[nodiscard]] TensorId in_plain_order(Value value);
  /// For an operation that broadcasts: axes of extent 1 are put in front up to `axes.size()`, if
  /// the order asks for it.
  [[nodiscard]] TensorId broadcast(Value value, const Axes& axes);

  // --- results --------------------------------------------------------------------------------
  /// Completes what the graph says of the type of `result`.
  void settle(Value result, ElementType element, const Shape& shape);
  /// The tensor that an operator computes `result` into, in this order. The type is settled.
  TensorId define(Value result, const Axes& axes);
  /// `result` is in `tensor` already.
  void alias(Value result, TensorId tensor, const Axes& axes);
  /// `result` is what `source` is, axes and all.
  void alias(Value result, Value source);
  /// `result` is a constant that is known now.
  void define_constant(Value result, const Constant& constant);
  void know(Value value, IntegerList integers) {
    known_.insert_or_assign(value, std::move(integers));
  }
  /// A tensor of no value of the graph.
  TensorId temporary(NodeRef node, std::string_view what, const TensorType& type);
  [[nodiscard]] std::string name(NodeRef node, std::string_view what) const;

  Model& model() noexcept { return model_; }

  // --- operators ------------------------------------------------------------------------------
  /// RESHAPE of `from` to `to`, whose shape is known but for one extent.
  void reshape(TensorId from, TensorId to);
  /// The same for any extents: axis `i` of `to` is axis `sources[i]` of `from`, or, where that is
  /// `no_axis`, its extent is known, or it is the only one that is neither.
  void reshape(TensorId from, TensorId to, const Axes& sources);
  /// The extents of `to` by the same rule, as an operand: a constant where all are known.
  TensorId extents(TensorId from, TensorId to, const Axes& sources);
  /// If `activation` may be part of the operator that computes `operand`, it is, and `result` is
  /// what the operator computes.
  bool fuse(schema::ActivationFunctionType activation, Value operand, Value result);

  /// What `add` adds to the graph computes the result of `node`: nodes in their order, the last one
  /// that result.
  void compute_by(NodeRef node, Expected<std::vector<NodeId>> (*add)(Graph&, NodeId));

  // --- the report -----------------------------------------------------------------------------
  void decomposed(NodeRef node, std::string how);
  void changed(NodeRef node, std::string how);
  void not_honoured(NodeRef node, std::string what);

 private:
  struct Form {
    Axes axes;
    TensorId tensor = no_tensor;
  };
  /// Operations without a counterpart.
  struct Refused {
    std::string why;
    std::vector<std::string> nodes;
  };

  void lower(NodeRef node);
  void infer(NodeRef node);
  [[nodiscard]] bool is_read_by(Value value, std::string_view kind) const;
  /// Has the node read codes as the plain integers that they are.
  void take_labels_off(NodeRef node);
  /// Has the node compute on float values; gives the `quantize` nodes that have to follow it.
  std::vector<NodeId> make_real(NodeRef node);
  /// Has the operands and results of the node share their parameters; gives what follows as above.
  std::vector<NodeId> unify(NodeRef node, const Rule& rule);
  /// Has the result have the parameters that the kernel gives it; gives what follows as above.
  std::vector<NodeId> fix_result(NodeRef node, const Rule& rule);
  /// Has a node on plain integers that its kernel does not take compute on wider ones: exact, since
  /// what the result has too much is what narrow integers lose. Gives the `cast` nodes that have to
  /// follow it.
  std::vector<NodeId> widen(NodeRef node, const Rule& rule);
  /// The integers as wider ones.
  Value widened(Value narrow, ElementType wide);
  /// Who reads each of a node's results.
  using Readers = std::vector<std::vector<Use>>;
  [[nodiscard]] Readers readers_of(NodeRef node) const;
  /// Has `result` be computed with another type, and quantized then as its readers want it.
  std::vector<NodeId> compute_as(Value result, TensorType computed,
                                 const std::vector<Use>& readers);
  /// Has the readers read `from`.
  void hand_over(Value from, const std::vector<Use>& readers);
  NodeId add_cast(Value operand, std::string_view ending, ElementType to);
  NodeId add_conversion(std::string_view kind, Value operand, std::string_view ending,
                        TensorType type);
  /// The nodes that make `codes` of float values or of other codes; the last one's result are
  /// these.
  std::vector<NodeId> add_quantize(Value from, TensorType codes);
  /// By index: the nodes that outputs depend on. Others are not written.
  [[nodiscard]] std::vector<bool> needed() const;
  /// Whether the result follows from shapes and constants, and is one.
  bool fold(NodeRef node);
  /// The same of what moves a constant: it is one, of the type that the result has.
  bool fold_move(NodeRef node);
  /// Emits what the rule of the node makes.
  void compute(NodeRef node);
  void try_lower(NodeRef node);
  void check_rank(Value value, const Axes& axes) const;
  TensorId rearrange(TensorId from, const TensorType& type, const Axes& old_axes,
                     const Axes& new_axes, std::string_view name);
  TensorId output_tensor(NodeId output);
  void fail_with_all();
  void report(std::vector<LeftAlone>& list, NodeRef node, std::string what);

  Graph graph_;  ///< a copy, whose types are completed; it shares the constants
  const TfliteWriteOptions& options_;
  TfliteWriteReport& report_;
  Model model_;
  std::unordered_map<Value, std::vector<Form>> forms_;
  std::unordered_map<Value, std::vector<Form>> blocks_;  ///< by the codes
  std::unordered_map<TensorId, Value> makers_;  // the value that an operator makes a tensor for
  KnownIntegers known_;
  std::unordered_map<Value, Value> real_values_;  ///< of codes that an operation cannot take
  /// Of plain integers that a kernel does not take, by the wider type.
  std::unordered_map<ElementType, std::unordered_map<Value, Value>> wide_values_;
  std::vector<Refused> refused_;
  std::unordered_set<Value> missing_;   ///< results of those
  std::unordered_set<TensorId> named_;  ///< outputs
};

}  // namespace quadrant::inline v0::tflite

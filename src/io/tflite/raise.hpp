// TFLite models to graphs: the state that the rules of all operators share.
//
// A tensor of the file is held as one value of the graph or several that differ in the order of
// their axes (layout.hpp): images are asked for as NCHW, and a TRANSPOSE of the file is a change of
// the order, and no operation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/tflite/file.hpp"
#include "io/tflite/layout.hpp"
#include "io/tflite/model.hpp"
#include "quadrant/io/tflite.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::tflite {

/// An operator of the file.
struct RaisedOp {
  const schema::Operator* op = nullptr;
  BuiltinOperator code = BuiltinOperator::CUSTOM;
  const schema::OperatorCode* kind = nullptr;

  [[nodiscard]] std::size_t input_count() const { return op->inputs() ? op->inputs()->size() : 0; }
  /// `no_tensor` where there is none.
  [[nodiscard]] TensorId input(std::size_t i) const {
    return i < input_count() ? op->inputs()->Get(static_cast<flatbuffers::uoffset_t>(i))
                             : no_tensor;
  }
  [[nodiscard]] std::size_t output_count() const {
    return op->outputs() ? op->outputs()->size() : 0;
  }
  [[nodiscard]] TensorId output(std::size_t i = 0) const {
    return op->outputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
  }
};

class Raising {
 public:
  explicit Raising(const File& file);

  [[nodiscard]] Graph run();

  // --- tensors of the file ----------------------------------------------------------------------
  [[nodiscard]] const schema::Tensor& tensor(TensorId id) const {
    return *file_.graph().tensors()->Get(static_cast<flatbuffers::uoffset_t>(id));
  }
  /// As the file has it; open where the signature says so.
  [[nodiscard]] const TensorType& type(TensorId id) const {
    return types_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] std::int64_t rank(TensorId id) const { return type(id).shape.rank(); }
  [[nodiscard]] bool is_constant(TensorId id) const;
  /// Whether any order of axes is as good as another: constants, and their float values.
  [[nodiscard]] bool is_free(TensorId id) const;
  /// Whether the tensor has contents that are a short list of integers; which.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(TensorId id) const;

  // --- values of the graph
  // ------------------------------------------------------------------------
  /// The order of the first value there is: axis `i` of the tensor is axis `axes[i]` of the value.
  [[nodiscard]] Axes axes(TensorId id) const;
  [[nodiscard]] Value value(TensorId id, const Axes& axes);
  /// What codes stand for: one `dequantize`, for all who ask.
  [[nodiscard]] Value real_value(Value codes);
  [[nodiscard]] Value plain(TensorId id) { return value(id, plain_axes(rank(id))); }
  [[nodiscard]] Value integer_constant(std::string_view name,
                                       const std::vector<std::int64_t>& values);

  /// Adds a node whose result is tensor `output`, in the order `axes`.
  void add(std::string_view kind, std::vector<Value> operands, TensorId output, const Axes& axes,
           Attributes attributes = {});
  /// The same where the operator applies `activation` to the result.
  void add_activated(std::string_view kind, std::vector<Value> operands, TensorId output,
                     const Axes& axes, schema::ActivationFunctionType activation,
                     Attributes attributes = {});
  /// The same in plain order for an operation that makes int64, where the operator may make int32;
  /// false for other results.
  bool add_wide(std::string_view kind, std::vector<Value> operands, TensorId output,
                Attributes attributes = {});
  /// The tensor as int64, for an operation that takes no int32; `output` names it.
  [[nodiscard]] Value wide_integers(TensorId id, TensorId output);
  /// `output` is the constant `source`, which holds codes or floats of 16 bits, as floats.
  void dequantize_constant(TensorId output, TensorId source);
  /// `output` is the same as `value`.
  void alias(TensorId output, Value value, const Axes& axes);
  /// The same codes, which mean something else, or are plain integers where `type` is null. `name`
  /// is what they are for.
  Value relabelled(Value codes, std::shared_ptr<const UniformType> type, const std::string& name);
  [[nodiscard]] Graph& graph() noexcept { return graph_; }
  [[nodiscard]] std::string name(TensorId id) const;
  /// The type of a value that is the tensor in the order `axes`.
  [[nodiscard]] TensorType type_of(TensorId id, const Axes& axes) const;

 private:
  struct Form {
    Axes axes;
    Value value;
  };

  void raise(const RaisedOp& op);
  void raise_raw(const RaisedOp& op);
  /// Keeps account of copies of what tables of the file may share.
  void count_copy(std::uint64_t bytes);
  Value constant_value(TensorId id, const Axes& axes);
  /// The constant that `dequantize_constant` was told of; `no_tensor` for others.
  [[nodiscard]] TensorId stored(TensorId id) const;
  /// A cast or a dequantize.
  NodeId add_conversion(std::string_view kind, Value from, std::string name, const TensorType& to);

  const File& file_;
  Graph graph_;
  std::vector<TensorType> types_;
  std::vector<std::vector<Form>> forms_;
  std::unordered_map<TensorId, TensorId> stored_;  ///< constants, by the tensor of floats
  std::unordered_map<Value, Value> reals_;         ///< of `real_value`, by the codes
  std::uint64_t copied_ = 0;
};

/// What an operator becomes. False: the rule does not know the operator in this form.
struct RaiseRule {
  BuiltinOperator code;
  bool (*raise)(Raising& raising, const RaisedOp& op);
};

[[nodiscard]] std::span<const RaiseRule> raise_block_rules() noexcept;
[[nodiscard]] std::span<const RaiseRule> raise_formula_rules() noexcept;
[[nodiscard]] std::span<const RaiseRule> raise_image_rules() noexcept;
[[nodiscard]] std::span<const RaiseRule> raise_lookup_rules() noexcept;
[[nodiscard]] std::span<const RaiseRule> raise_move_rules() noexcept;
[[nodiscard]] std::span<const RaiseRule> raise_number_rules() noexcept;

/// The operand 0 of an operator that moves codes, meant as the result is: kernels copy codes,
/// whatever the tensors say that these mean.
[[nodiscard]] Value meant_as(Raising& raising, const RaisedOp& op);

/// Operators on one element after the other: those of the tables that graphs are written by.
[[nodiscard]] bool raise_elementwise(Raising& raising, const RaisedOp& op);

}  // namespace quadrant::inline v0::tflite

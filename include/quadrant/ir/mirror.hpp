// The short way to quantize an IR of your own in place: a graph of the library's is kept beside the
// IR, and every edit is made in both.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_rewriter.hpp"

namespace quadrant::inline v0 {

/// The part of Mirror that does not depend on what stands for an operation in the IR. `view()` is
/// the graph that is kept, with Capabilities that ask here.
class MirrorBase : public GraphRewriter, public Capabilities {
 public:
  MirrorBase(const MirrorBase&) = delete;
  MirrorBase& operator=(const MirrorBase&) = delete;
  ~MirrorBase() override = default;

  /// The program as it is now, as a graph of its own, without the IR's Capabilities: for runtimes
  /// and reports. Shares contents; rows of operations must outlive it.
  [[nodiscard]] Graph graph() const;

  [[nodiscard]] const GraphView& view() const noexcept final { return graph_; }
  [[nodiscard]] Expected<NodeId> emit(NodeSpec spec) final;
  [[nodiscard]] Expected<void> set_operand(NodeId node, std::uint32_t operand, Value value) final;
  [[nodiscard]] Expected<void> set_type(Value value, TensorType type) final;
  [[nodiscard]] Expected<void> set_constant(NodeId node, Constant constant,
                                            Quantization quantization) final;
  [[nodiscard]] Expected<void> set_value_name(Value value, std::string name) final;
  [[nodiscard]] Expected<void> erase(NodeId node) final;

  /// Refuses all but the kinds that the constructor was given, and results that cannot be held.
  [[nodiscard]] Expected<void> can_emit(std::string_view kind, std::span<const TensorType> operands,
                                        const TensorType& result) const override;
  /// What `keep_one_type` was told.
  [[nodiscard]] std::vector<std::vector<Value>> of_one_type() const override;
  /// Shows each operation again and compares: kind, operands, attributes, types and names of
  /// values.
  [[nodiscard]] Expected<void> check_view() const final;

 protected:
  /// `emitted`: the kinds that `make` can make, of `emitted_ops`; others are refused. weight_only
  /// needs `dequantize`. `rows`: GraphView::operations.
  explicit MirrorBase(std::vector<std::string_view> emitted, std::span<const Operation> rows = {});

  /// Stands for a value of an operation that was not added.
  static constexpr Value not_added{{NodeId::no_index - 1}};

  NodeId add_node(NodeSpec shown, const NodeSpec* asked = nullptr);

  /// From now on operands and results of these nodes have one type: of what a loop's state and its
  /// end, shown as moves (`identity_operation`), hand on. Capabilities::of_one_type.
  void keep_one_type(std::vector<NodeId> nodes) { of_one_type_.push_back(std::move(nodes)); }

 private:
  // --- edits of the IR ---------------------------------------------------------------------------
  // One that fails, with `impossible`, has changed nothing; then the graph stays as it was, too.

  /// Operand `operand` of the node, counted as it was shown, is `value` from now on.
  [[nodiscard]] virtual Expected<void> connect(NodeId node, std::uint32_t operand, Value value) = 0;
  /// The value is called so, as no other is that was shown. Not for an IR that has no names.
  virtual void rename(Value /*value*/, const std::string& /*name*/) {}
  /// Removes an operation that no other reads; false: it stays, for an IR that eliminates dead
  /// code.
  [[nodiscard]] virtual Expected<bool> remove(NodeId /*node*/) { return false; }

  // --- Mirror ------------------------------------------------------------------------------------
  [[nodiscard]] virtual NodeSpec show_node(NodeId node) const = 0;
  [[nodiscard]] virtual Expected<NodeId> make_node(const NodeSpec& spec) = 0;
  [[nodiscard]] virtual Expected<void> retype_value(Value value, const TensorType& type) = 0;
  [[nodiscard]] virtual Expected<void> refill_node(NodeId node, const Constant& contents,
                                                   const TensorType& type) = 0;
  virtual void forget(NodeId node) = 0;

  [[nodiscard]] Expected<void> check_kind(std::string_view kind) const;
  [[nodiscard]] Expected<void> check_node(NodeId node) const;
  void refresh(NodeId node);

  Graph graph_;
  std::size_t unnamed_outputs_ = 0;
  std::vector<std::string_view> emitted_;
  std::vector<std::vector<NodeId>> of_one_type_;
};

/// Derive from this, hand over each operation once, and say how each kind of edit is made in the
/// IR: what else GraphView, GraphRewriter and Capabilities want is here. `Op` is what the IR calls
/// an operation, by a pointer or a number: it is copied, compared and hashed. `Type` is the IR's
/// type of a value.
///
/// An edit is made in the IR first, by the function for it; then the graph follows: what `show`
/// says of an operation that was changed counts, not what was asked for. So
/// both agree at any time, also after an edit that fails. `check_rewriter` finds functions that do
/// not do what they should. An edit takes the time of showing one operation; filling and `verify`
/// are linear. Memory: the graph's rows, without contents of constants.
///
/// Refers to the IR, which nothing else may change meanwhile. Reading from several threads is safe.
template <class Op, class Type>
  requires std::copyable<Op> && std::default_initializable<Op>
class Mirror : public MirrorBase {
 public:
  /// The node of an operation; invalid where it was not added.
  [[nodiscard]] NodeId id(const Op& op) const {
    const auto found = ids_.find(op);
    return found == ids_.end() ? NodeId{} : found->second;
  }
  [[nodiscard]] const Op& op(NodeId node) const { return ops_[node.index]; }
  [[nodiscard]] const Op& op(Value value) const { return op(value.node); }

  /// Whether it can be converted.
  [[nodiscard]] Expected<void> can_hold(const TensorType& type) const final {
    return convert(type).map([](const Type& /*converted*/) {});
  }

 protected:
  using MirrorBase::MirrorBase;

  /// For the constructor, with each operation behind those that it reads; and for what edits make
  /// besides, such as a buffer of another type.
  NodeId add(Op op) { return enter(op, add_node(show(op))); }
  /// For `show`: an operand, which `verify` names if its operation was not added.
  [[nodiscard]] Value value(const Op& op, std::uint32_t result = 0) const {
    const NodeId node = id(op);
    return node.is_valid() ? Value{node, result} : not_added;
  }

 private:
  /// The operation as the IR has it: a node as GraphView describes one. Contents of constants are
  /// shared, not copied, by `Constant::from_shared`, or `deferred` for what is read on demand. They
  /// stay as long as they are referred to, also when `refill` has replaced them. Names of values
  /// may be empty where the IR has none: then they are made of kinds and numbers, those of outputs
  /// in the order in which they are added.
  [[nodiscard]] virtual NodeSpec show(Op op) const = 0;
  /// `impossible`, with a reason, for a type that the IR does not have: Capabilities::can_hold.
  [[nodiscard]] virtual Expected<Type> convert(const TensorType& type) const = 0;

  // Edits, as in MirrorBase.
  /// Makes an operation behind its operands, of a kind that was promised, with one result of the
  /// type, and of the name in `spec`, which no other value has.
  [[nodiscard]] virtual Expected<Op> make(const NodeSpec& spec, Type type) = 0;
  /// The computed value is of this type from now on; its shape stays. `impossible` where the
  /// operation cannot make that.
  [[nodiscard]] virtual Expected<void> retype(Value value, Type type) = 0;
  /// The constant has these contents from now on, of this type. They may be an expression over the
  /// old ones: read them now, or keep them and read when code is made.
  [[nodiscard]] virtual Expected<void> refill(NodeId node, const Constant& contents, Type type) = 0;

  [[nodiscard]] NodeSpec show_node(NodeId node) const final { return show(op(node)); }
  [[nodiscard]] Expected<NodeId> make_node(const NodeSpec& spec) final {
    QUADRANT_TRY(Type type, convert(spec.results[0].type));
    QUADRANT_TRY(const Op op, make(spec, std::move(type)));
    return enter(op, add_node(show(op), &spec));
  }
  [[nodiscard]] Expected<void> retype_value(Value value, const TensorType& type) final {
    return convert(type).and_then(
        [&](Type converted) { return retype(value, std::move(converted)); });
  }
  [[nodiscard]] Expected<void> refill_node(NodeId node, const Constant& contents,
                                           const TensorType& type) final {
    return convert(type).and_then(
        [&](Type converted) { return refill(node, contents, std::move(converted)); });
  }
  void forget(NodeId node) final { ids_.erase(op(node)); }
  NodeId enter(const Op& op, NodeId node) {
    if (ops_.size() <= node.index) ops_.resize(std::size_t{node.index} + 1);
    ops_[node.index] = op;
    ids_.insert_or_assign(op, node);
    return node;
  }

  std::vector<Op> ops_;  // by the index of the node
  std::unordered_map<Op, NodeId> ids_;
};

}  // namespace quadrant::inline v0

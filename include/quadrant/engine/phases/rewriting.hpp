// Phase 4: the graph becomes what was selected.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "quadrant/engine/phases/parameters.hpp"
#include "quadrant/engine/phases/selection.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// What the data pass found.
struct PreparedData {
  /// By node: what its method kept for its rewriter, in order.
  std::unordered_map<NodeId, std::vector<Constant>> kept;
  /// By group of the ParameterTable: what the scheme's `resolve` found; null where it has none.
  std::vector<std::shared_ptr<const UniformType>> parameters;
};

/// A decision, complete: what phase 4 carries out. Refers to its parts.
struct Decided {
  const SelectionProblem& problem;
  const Selection& selection;
  const ParameterTable& parameters;
  const PreparedData& data;
};

/// What rewriters, `leave`, `enter` and `convert` work with. It speaks of the forms of their own
/// scheme; those of others, where several run, are floats to them.
class RewriteContext {
 public:
  RewriteContext(GraphRewriter& graph, const Decided& decided) noexcept
      : graph_(&graph), decided_(&decided) {}

  [[nodiscard]] GraphRewriter& graph() noexcept { return *graph_; }
  [[nodiscard]] const GraphView& view() const noexcept { return graph_->view(); }

  /// The form that `value` is made in, or was converted to; null for floats.
  template <QuantizationConstraint C>
  [[nodiscard]] const C* form(Value value) const {
    const ConstraintId form = decided(value).form;
    const bool is_ours = form != float_form && constraints().scheme(form) == scheme_;
    return is_ours ? &constraints().as<C>(form) : nullptr;
  }
  /// The same for a value that was selected.
  template <QuantizationConstraint C>
  [[nodiscard]] const C& selected(Value value) const {
    return *form<C>(value);
  }
  /// The form in which the node reads the operand; null for floats.
  template <QuantizationConstraint C>
  [[nodiscard]] const C* read(NodeRef node, std::uint32_t operand) const noexcept {
    const ConstraintId form = decided_->selection.read(node.id, operand);
    const bool is_ours = form != float_form && constraints().scheme(form) == scheme_;
    return is_ours ? &constraints().as<C>(form) : nullptr;
  }
  /// The parameters of the value in the form that it is in, which the scheme's `resolve` found;
  /// null without that hook, and for floats. An operand that was quantized for its reader has those
  /// of that form.
  [[nodiscard]] std::shared_ptr<const UniformType> parameters(Value value) const {
    const Form known = decided(value);
    return parameters_as(known.value, known.form);
  }
  /// The same in another form in use: in `enter` and `convert`, the one asked for.
  template <QuantizationConstraint C>
  [[nodiscard]] std::shared_ptr<const UniformType> parameters(Value value, const C& form) const {
    const RequestGraph& requests = decided_->problem.requests;
    const Value asked = decided(value).value;
    if (!decided_->problem.eligibility.numbering()->contains(asked)) return nullptr;
    for (RequestId id = requests.first(asked); id != no_request; id = requests[id].next) {
      const ConstraintId known = requests[id].constraint;
      if (constraints().equals(known, scheme_, &form)) return parameters_as(asked, known);
    }
    return nullptr;
  }
  /// What the data pass kept for `node`, by the `index`-th call; empty when it kept nothing.
  [[nodiscard]] Constant prepared(NodeId node, std::size_t index = 0) const {
    const auto found = decided_->data.kept.find(node);
    const bool is_kept = found != decided_->data.kept.end() && index < found->second.size();
    return is_kept ? found->second[index] : Constant{};
  }
  /// What the scheme's `prepare` computed; null where it has no such hook.
  template <class Facts>
  [[nodiscard]] const Facts* shared() const noexcept {
    return decided_->problem.eligibility.facts(scheme_).get<Facts>();
  }
  /// The uniform type of a value that is quantized by now; null when it is not, or in another
  /// format.
  [[nodiscard]] std::shared_ptr<const UniformType> quantization(Value value) const {
    return view().type(value).uniform();
  }

  /// Gives `value` the quantized type `type`; its shape stays.
  [[nodiscard]] Expected<void> set_quantized(Value value, Quantization type);
  /// Adds a node with one result of that name and type, and returns the result. The node's own name
  /// is one that no other node has. What `enter`,
  /// `leave` and `convert` return is named after the value that it is a form of.
  [[nodiscard]] Expected<Value> emit(std::string_view kind, std::vector<Value> operands,
                                     std::string name, TensorType type, Attributes attributes = {});
  /// A `dequantize` of quantized values, which is named after them: what `leave` is where types say
  /// everything. Added the first time that it is asked for, and the same from then on.
  [[nodiscard]] Expected<Value> dequantize(Value quantized);
  /// Adds a `quantize` of floats to that type, which is named after them: what `enter` is there.
  /// `impossible` for floats of another type than it expresses.
  [[nodiscard]] Expected<Value> quantize(Value real, Quantization to);
  /// Adds a constant and returns it.
  [[nodiscard]] Expected<Value> emit_constant(std::string name, Constant contents,
                                              Quantization quantization = {});
  /// `made` takes the place of `value`, a result of the node at hand, for all who read it.
  [[nodiscard]] Expected<void> replace(Value value, Value made);
  /// The same, and `made` is called as `value` was, which has `suffix` behind its name from now on:
  /// whoever refers to it by name finds `made`.
  [[nodiscard]] Expected<void> take_place(Value value, Value made, std::string_view suffix);
  /// What stands in the place of `value` by now.
  [[nodiscard]] Value current(Value value) const;

 private:
  [[nodiscard]] const ConstraintTable& constraints() const noexcept {
    return decided_->problem.requests.constraints();
  }
  [[nodiscard]] std::shared_ptr<const UniformType> parameters_as(Value value,
                                                                 ConstraintId form) const;
  Expected<Value> add(NodeSpec spec);
  std::string free_node_name(const std::string& wanted);
  // A value that was decided on, in one of its forms.
  struct Form {
    Value value;
    ConstraintId form = float_form;
  };
  // What `value` is by now: made by phase 4, or there before.
  [[nodiscard]] Form decided(Value value) const {
    const auto found = made_.find(value);
    if (found != made_.end()) return found->second;
    const bool is_known = decided_->problem.eligibility.numbering()->contains(value);
    return {value, is_known ? decided_->selection.produced(value) : float_form};
  }

  friend class Rewriting;
  GraphRewriter* graph_;
  const Decided* decided_;
  std::uint32_t scheme_ = 0;  // whose hook is called
  std::vector<NodeId> emitted_;
  std::unordered_set<std::string> node_names_;  // filled when the first node is emitted
  std::unordered_map<std::string, std::size_t> name_suffixes_;  // the last one, of each name
  std::unordered_map<Value, Value> replaced_;
  std::unordered_map<Value, Value> dequantized_;  // by codes: what `dequantize` added
  std::unordered_map<Value, Form> made_;
};

/// Runs phase 4 on `graph`, which is the graph that the phases before read, or a copy of it. Node
/// by node, producers first: calls the rewriter of each node whose results were selected and of
/// each Consumer; then makes, once each, the other forms in which the results are read, and hands
/// them to their readers. Graph outputs, subgraphs and operations that no scheme knows read floats.
///
/// The float form keeps the value's name, so that whoever refers to it by name still finds floats;
/// quantized forms beside it are called `<name>_quantized`. Nodes that nobody uses any more are
/// erased. After an error the graph is partly rewritten.
[[nodiscard]] Expected<void> rewrite(GraphRewriter& graph, const Decided& decided);

}  // namespace quadrant::inline v0

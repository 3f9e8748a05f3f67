// How methods and schemes change a graph in phase 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/engine/declare/constraint.hpp"
#include "quadrant/engine/declare/scheme.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

struct Decided;  // quadrant/engine/phases/rewriting.hpp

/// The context of rewriters, `leave`, `enter` and `convert`. It shows the forms of their own
/// scheme; those of others, where several run, are floats to them.
class RewriteContext {
 public:
  /// Refers to both.
  RewriteContext(GraphRewriter& graph, const Decided& decided);
  RewriteContext(const RewriteContext&) = delete;
  RewriteContext& operator=(const RewriteContext&) = delete;
  ~RewriteContext();

  [[nodiscard]] GraphRewriter& graph() noexcept { return *graph_; }
  [[nodiscard]] const GraphView& view() const noexcept { return graph_->view(); }

  /// The form that `value` is made in, or was converted to; null for floats.
  template <QuantizationConstraint C>
  [[nodiscard]] const C* form(Value value) const {
    return static_cast<const C*>(erased_form(value));
  }
  /// The same for a value that was selected.
  template <QuantizationConstraint C>
  [[nodiscard]] const C& selected(Value value) const {
    return *form<C>(value);
  }
  /// The form in which the node reads the operand; null for floats.
  template <QuantizationConstraint C>
  [[nodiscard]] const C* read(NodeRef node, std::uint32_t operand) const noexcept {
    return static_cast<const C*>(erased_read(node, operand));
  }
  /// The parameters of the value in the form that it is in, which the scheme's `resolve` found;
  /// null without that hook, and for floats. An operand that was quantized for its reader has those
  /// of that form.
  [[nodiscard]] std::shared_ptr<const UniformType> parameters(Value value) const;
  /// The same in another form in use: in `enter` and `convert`, the one asked for.
  template <QuantizationConstraint C>
  [[nodiscard]] std::shared_ptr<const UniformType> parameters(Value value, const C& form) const {
    return erased_parameters(value, &form);
  }
  /// What the data pass kept for `node`, by the `index`-th call; empty when it kept nothing.
  [[nodiscard]] Constant prepared(NodeId node, std::size_t index = 0) const;
  /// What the scheme's `prepare` computed; null where it has no such hook.
  template <class Facts>
  [[nodiscard]] const Facts* shared() const noexcept {
    return facts().template get<Facts>();
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
  /// `made` takes the place of `value`, a result of the node at hand, for all its readers.
  [[nodiscard]] Expected<void> replace(Value value, Value made);
  /// The same, and `made` is called as `value` was, which has `suffix` behind its name from now on:
  /// references by name find `made`.
  [[nodiscard]] Expected<void> take_place(Value value, Value made, std::string_view suffix);
  /// What stands in the place of `value` by now.
  [[nodiscard]] Value current(Value value) const;

 private:
  // What phase 4 has made so far.
  struct Made;
  // Of the scheme at hand; null for floats and the forms of others.
  [[nodiscard]] const void* erased_form(Value value) const;
  [[nodiscard]] const void* erased_read(NodeRef node, std::uint32_t operand) const noexcept;
  [[nodiscard]] std::shared_ptr<const UniformType> erased_parameters(Value value,
                                                                     const void* form) const;
  [[nodiscard]] const SharedFacts& facts() const noexcept;
  Expected<Value> add(NodeSpec spec);

  friend class Rewriting;
  GraphRewriter* graph_;
  const Decided* decided_;
  std::uint32_t scheme_ = 0;  // whose hook is called
  std::unique_ptr<Made> made_;
};

}  // namespace quadrant::inline v0

// Phase 3 as a sum of tables: docs/selection.md, put so that a solver can read it.
//
// A variable for each node that has a choice: its labels. One for each operand that a node in float
// may read as codes: the form that it reads. One for each coupling: the form of its members. Where
// many read one value, the set of the forms that they read is gathered reader by reader, in
// variables of its own, so that no table has more than five variables however many readers there
// are. The factors are gains, the prices of conversions, and what must hold.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/policies/factor_graph.hpp"
#include "engine/policies/prices.hpp"
#include "quadrant/engine/phases/selection.hpp"

namespace quadrant::inline v0 {

/// One thing that a node can do: make its results in float, or in a form by an alternative.
struct Label {
  RequestId request = no_request;  ///< of its first result that can be quantized; none: float
  std::uint32_t alternative = 0;
  std::optional<std::uint32_t> scheme;  ///< in float: whose codes alone it may take; none: any
  Gain own;                    ///< of the alternative, of storage, of what is taken together
  bool gains_itself = false;   ///< the alternative has a gain above zero
  std::uint32_t together = 0;  ///< in float: what it takes all of (Benefit::together)
  std::uint32_t number = 0;    ///< among the node's labels, whatever is planned

  [[nodiscard]] bool is_float() const noexcept { return request == no_request; }
};

/// The forms that one value may be read in, as bits of a set.
class FormSet {
 public:
  static constexpr std::size_t most_forms = 31;

  /// False: there are too many.
  [[nodiscard]] bool add(ConstraintId form);
  [[nodiscard]] std::uint32_t bit(ConstraintId form) const noexcept;
  /// The forms of some bits: floats first, then in the order in which they were added.
  [[nodiscard]] std::vector<ConstraintId> of(std::uint32_t bits) const;

 private:
  std::vector<ConstraintId> forms_;
};

/// What each node does: its label, and how it reads its operands.
struct Labelling {
  std::vector<std::uint32_t> labels;  ///< by node index
  OperandMap<ConstraintId> reads;
};

class SelectionModel {
 public:
  /// What nodes can do. `planned`: the request that each value must be made by, or no_request for
  /// floats; null: all is open.
  SelectionModel(const SelectionProblem& problem, const Prices& prices,
                 const ValueMap<RequestId>* planned);

  /// Adds what values cost, once: without it there is no `factors`, `constant` and `assignment`.
  void add_values();

  /// Whether some value has so many forms and readers that tables would not have stayed small. Its
  /// conversions are free then, and no operation has to read it as it is made: what is best here is
  /// a bound, but may be worth less than it says.
  [[nodiscard]] bool is_relaxed() const noexcept { return is_relaxed_; }
  [[nodiscard]] const FactorGraph& factors() const noexcept { return factors_; }
  /// What is there whatever is decided.
  [[nodiscard]] Gain constant() const noexcept { return constant_.gain; }
  /// Nodes, whatever order they were built in.
  [[nodiscard]] std::span<const NodeId> order() const noexcept { return order_; }
  [[nodiscard]] std::span<const Label> labels(NodeId node) const noexcept {
    const LabelRange& range = ranges_[node.index];
    return std::span(labels_).subspan(range.begin, range.count);
  }
  [[nodiscard]] std::size_t variable_count() const noexcept { return factors_.variable_count(); }
  /// none: the node has one label.
  [[nodiscard]] VariableId variable(NodeId node) const noexcept { return variables_[node.index]; }
  /// none: how the operand is read follows from the node's label.
  [[nodiscard]] VariableId variable(NodeId node, std::uint32_t operand) const noexcept {
    return reads_[node][operand].variable;
  }
  [[nodiscard]] Labelling labelling(const Assignment& assignment) const;
  /// Empty where the selection has a label that the model does not know.
  [[nodiscard]] std::optional<Labelling> labelling(const Selection& selection) const;
  /// Empty where a node reads a form that the model does not know.
  [[nodiscard]] std::optional<Assignment> assignment(const Labelling& labelling) const;

  static constexpr VariableId none = static_cast<VariableId>(-1);

  /// The form that a label makes a value in.
  [[nodiscard]] ConstraintId made(Value value, const Label& label) const;

 private:
  // How an operand is read. `float_node`: by a node whose results are float, where that matters.
  struct Read {
    ConstraintId form = float_form;
    bool float_node = false;
    friend bool operator==(const Read&, const Read&) = default;
  };
  struct OperandReads {
    VariableId variable = none;  // the operand's own, if it has one
    std::vector<Read> states;    // of that variable
  };
  // A form whose codes may be taken.
  struct Take {
    ConstraintId form = float_form;
    Gain gain;
  };
  struct Supply {
    Gain price;
    bool requantizes = false;  // one of its conversions makes codes of codes
  };
  // What the readers of a value want of it: bits of the forms that they read, and of those that
  // they gain from being held.
  struct Wants {
    std::uint32_t read = 0;
    std::uint32_t held = 0;
    friend bool operator==(const Wants&, const Wants&) = default;
    friend auto operator<=>(const Wants&, const Wants&) = default;
    friend Wants operator|(Wants a, Wants b) noexcept { return {a.read | b.read, a.held | b.held}; }
  };
  // A variable on which the wants of one value depend.
  struct Reader {
    VariableId variable = none;
    std::vector<Wants> wants;  // by its states
  };
  // A variable that gathers what readers want.
  struct Gathering {
    VariableId variable = none;
    VariableId before = none;  // another Gathering's, or a reader's
    VariableId reader = none;
    std::vector<std::uint32_t> next;  // by the states of `before` and `reader`
  };
  // What the readers of a value want all together, by the states of at most two variables.
  struct Gathered {
    std::vector<VariableId> scope;
    std::vector<Wants> wants;  // by the states of `scope`
  };
  // Whether one of a node's results, up to one of them, is read as it is made.
  struct UsedVariable {
    VariableId variable = none;
    FactorId factor = 0;
  };
  struct CouplingVariable {
    VariableId variable = none;
    std::vector<ConstraintId> forms;
    std::vector<Value> members;
  };

  struct LabelRange {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
  };

  void add_labels(NodeId node, std::uint32_t position, const ValueMap<RequestId>* planned);
  void find_float_labels(NodeId node, std::vector<Label>& labels) const;
  void find_quantized_labels(NodeId node, const ValueMap<RequestId>* planned,
                             std::vector<Label>& labels) const;
  void add_reads(NodeId node, std::uint32_t operand, std::uint32_t position);
  void add_values_of(NodeId node);
  [[nodiscard]] bool add_exact_values(std::span<const Value> values);
  void add_relaxed_reads(Value value);
  [[nodiscard]] std::optional<Gathered> gather(Value value, const FormSet& forms);
  [[nodiscard]] std::vector<Reader> find_readers(Value value, const FormSet& forms,
                                                 Wants& always) const;
  void add_supply(Value value, const FormSet& forms, const Gathered& gathered,
                  VariableId used_before, VariableId used);
  static void add_by_use(Worth worth, bool is_used, bool may_be_unused, std::vector<Worth>& table);
  void add_held_gains(Value value);
  void add_coupling(std::span<const Value> members, bool is_strict);

  [[nodiscard]] std::vector<Take> find_takes(NodeId node, std::uint32_t operand) const;
  [[nodiscard]] OperandReads reads_of(NodeId user, std::uint32_t operand) const;
  [[nodiscard]] std::optional<Supply> supply(Value value, const Label& label,
                                             std::span<const ConstraintId> forms) const;
  [[nodiscard]] std::vector<ConstraintId> forms_of_coupling(std::span<const Value> members) const;
  [[nodiscard]] static std::vector<VariableId> present(std::initializer_list<VariableId> variables);
  [[nodiscard]] std::vector<RequestId> requests_in_order(Value value) const;
  [[nodiscard]] Read read_by(NodeId node, std::uint32_t operand, const Label& label) const;
  [[nodiscard]] Wants wants_of(NodeId user, std::uint32_t operand, const Read& read,
                               const FormSet& forms) const;
  [[nodiscard]] bool has_held_benefit(NodeId user, std::uint32_t operand) const;
  // Sets the variables that follow from labels and reads.
  void complete(Assignment& assignment) const;
  void add_factor(std::span<const VariableId> scope, const std::vector<Worth>& table);

  SelectionProblem problem_;
  Prices prices_;
  FactorGraph factors_;
  Worth constant_;
  bool is_relaxed_ = false;
  std::vector<NodeId> order_;
  std::vector<Label> labels_;          // those of a node together
  std::vector<LabelRange> ranges_;     // by node index
  std::vector<VariableId> variables_;  // by node index; none: there is one label
  OperandMap<OperandReads> reads_;
  std::vector<Gathering> gatherings_;  // those that others start from stand first
  std::vector<UsedVariable> used_;     // those of a node in the order of its results
  std::vector<CouplingVariable> couplings_;
};

}  // namespace quadrant::inline v0

// Graphs to modules: what the rules of all operations share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "io/mlir/region.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/executor.hpp"
#include "support/refusals.hpp"

namespace quadrant::inline v0::mlir_ir {

class Lowering;

/// A tensor of the function.
struct Term {
  std::string name;  ///< `%3`
  TensorType type;
  std::string type_text;
};

/// What an operation has beside its name, in the generic form.
struct OperationText {
  std::string properties;  ///< between `<{` and `}>`
  std::string region;      ///< with braces
  std::string attributes;  ///< between `{` and `}`
};

/// A tensor that loops go over, and where: a map of text.hpp.
struct Read {
  Term term;
  std::string map;
};

/// Makes the region's operations and its `yield`.
using Body = FunctionRef<Scalar(Region&)>;

/// In what an operation on float16 and bfloat16 computes: as ONNX Runtime does, in float32, which
/// is rounded once at the end, or in the type itself, for what only moves elements or converts
/// them.
enum class Precision : std::uint8_t { float32, own };

/// One node, as a rule reads it and makes operations of it. What fails names the node: `impossible`
/// what it cannot be written as, `invalid` what is wrong with it.
class LoweredNode {
 public:
  LoweredNode(Lowering& lowering, NodeRef node, Precision precision)
      : lowering_(lowering), node_(node), precision_(precision) {}

  [[nodiscard]] const NodeRef& node() const noexcept { return node_; }
  template <class T>
  [[nodiscard]] T attribute_or(std::string_view name, const T& fallback) const {
    return node_.attribute_or<T>(name, fallback);
  }
  [[nodiscard]] std::int64_t opset() const noexcept;

  // --- operands --------------------------------------------------------------------------------
  [[nodiscard]] std::size_t operand_count() const noexcept { return node_.operands().size(); }
  [[nodiscard]] bool has(std::size_t index) const noexcept;
  /// With codes as plain integers, and in the precision in which is computed. `invalid` for one
  /// that is missing.
  [[nodiscard]] Term operand(std::size_t index);
  /// With the type that it has in the graph.
  [[nodiscard]] Term typed_operand(std::size_t index);
  [[nodiscard]] const TensorType& type(std::size_t index) const;
  [[nodiscard]] const Shape& shape(std::size_t index) const { return type(index).shape; }
  [[nodiscard]] const Constant* constant(std::size_t index) const noexcept;
  /// Contents of a constant operand, or the attribute that it was in older versions of ONNX; empty
  /// where there is neither. `impossible` for a list that is computed.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> list(std::size_t index,
                                                              std::string_view attribute) const;
  /// The one number of a constant operand, or the attribute that it was; empty where there is
  /// neither. `impossible` for one that is computed.
  [[nodiscard]] std::optional<double> real(std::size_t index, std::string_view attribute) const;

  // --- the result ------------------------------------------------------------------------------
  [[nodiscard]] const TensorType& result_type(std::uint32_t result = 0) const {
    return node_.type(result);
  }
  [[nodiscard]] const Shape& result_shape() const { return node_.type().shape; }
  /// Of the plain integers, where it is codes; in the precision in which is computed.
  [[nodiscard]] ElementType result_element() const { return computed(node_.type().element); }
  /// A result is this, with the type that the graph says.
  void finish(const Term& made, std::uint32_t result = 0);

  // --- operations ------------------------------------------------------------------------------
  Term make(std::string_view op, std::span<const Term> operands, TensorType type,
            const OperationText& text = {});
  Term empty(ElementType element, const Shape& shape);
  Term filled(ElementType element, const Shape& shape, double value);
  /// A constant of the module: contents that are there only because of how this is written.
  Term constant(const Constant& contents);

  /// `linalg.generic`: the elements of `into`, over which loops go by `into_map`, are what `body`
  /// makes of those of `reads` and of `into` itself (its last argument). `kinds` has a letter for
  /// each loop: `p`, parallel, or `r`, a reduction.
  Term loop(std::span<const Read> reads, const Term& into, const std::string& into_map,
            std::string_view kinds, Body body);
  /// Element by element of a result of that shape, to which the operands broadcast.
  Term map(std::span<const Term> operands, ElementType element, const Shape& shape, Body body);
  /// One operation of `arith` on elements that broadcast; where they need not, on the whole
  /// tensors.
  Term together(const Arithmetic& arithmetic, const Term& a, const Term& b, const Shape& shape);
  /// The same of an operation on one element.
  Term each(std::string_view op, const Term& term);
  /// The region of an operation that moves elements of one type into a tensor.
  [[nodiscard]] std::string first_of(ElementType element, ElementType into);
  /// An operation of linalg with a name: the products of two operands, summed into `into`.
  Term sum_of_products(std::string_view op, const Term& a, const Term& b, const Term& into,
                       std::string properties, std::span<const std::string> maps);
  /// With these extents, the elements in the same order.
  Term reshaped(const Term& term, const Shape& shape);
  Term transposed(const Term& term, std::span<const std::int64_t> perm);
  /// The elements offset, offset + step, ...: of the shape of the result.
  Term slice(const Term& term, std::span<const std::int64_t> offsets, const Shape& shape,
             std::span<const std::int64_t> steps);
  Term inserted(const Term& part, const Term& into, std::span<const std::int64_t> offsets);
  /// With so many elements of that value in front of and behind each axis.
  Term padded(const Term& term, std::span<const std::int64_t> before,
              std::span<const std::int64_t> after, double value);
  /// The same, broadcast.
  Term expanded(const Term& term, const Shape& shape);
  Term cast(const Term& term, ElementType element);

 private:
  [[nodiscard]] ElementType computed(ElementType element) const noexcept;

  Lowering& lowering_;
  NodeRef node_;
  Precision precision_;
};

/// How an operand's elements are read by loops over `result`, to which it broadcasts.
[[nodiscard]] std::string broadcast_map(const Shape& operand, const Shape& result);

/// The shape that both broadcast to, as numpy has it. `invalid` where there is none.
[[nodiscard]] Shape broadcast_shape(const Shape& a, const Shape& b);

struct LowerRule {
  std::string_view kind;
  void (*lower)(LoweredNode& node) = nullptr;
};

class Lowering {
 public:
  explicit Lowering(Graph graph);

  /// Makes all operations. To be called once.
  void run();
  /// The whole text, constants read on the way.
  void write(FunctionRef<void(std::string_view)> sink) const;
  [[nodiscard]] std::int64_t operations() const noexcept { return operations_; }

 private:
  friend class LoweredNode;

  struct NamedConstant {
    std::string name;
    Constant contents;
    std::string location;
  };

  [[nodiscard]] Term term(TensorType type);
  Term make(std::string_view op, std::span<const Term> operands, TensorType type,
            const OperationText& text);
  Term add_constant(const Constant& contents, std::string_view location);
  Term typed(const Term& term, const TensorType& type);
  [[nodiscard]] Term term_of(Value value);
  void define(Value value, Term term) { values_.insert_or_assign(value, std::move(term)); }
  void check_inputs() const;
  void lower(NodeRef node);
  void compute(NodeRef node);

  Graph graph_;
  std::int64_t opset_;
  Names names_;
  std::int64_t operations_ = 0;
  std::string location_;  ///< of the node at hand
  std::string body_;
  std::vector<NamedConstant> constants_;
  std::unordered_map<Value, Term> values_;
  std::string head_;
  std::string tail_;
  failures::Refusals refusals_;
  std::unordered_set<Value> missing_;  ///< results of what is refused
};

}  // namespace quadrant::inline v0::mlir_ir

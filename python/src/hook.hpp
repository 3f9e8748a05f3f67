// What a hook of a scheme in Python sees of a graph, and how it answers.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "constraint.hpp"
#include "quadrant/engine/declare/method.hpp"
#include "quadrant/engine/phases/eligibility.hpp"
#include "quadrant/engine/phases/rewriting.hpp"

namespace quadrant::python {

class Hook;

/// What codes stand for, as Python holds it.
struct CodesType {
  Quantization quantization;
};

using Extents = std::optional<std::vector<std::optional<std::int64_t>>>;

/// A value of the graph, and the node that makes it. Good while the hook runs that it was given to;
/// used later, it throws a Failure.
class Node {
 public:
  Node(std::shared_ptr<const Hook> hook, Value value) : hook_(std::move(hook)), value_(value) {}

  /// Throws a Failure where it is of another call than `hook`, or not in the graph any more.
  [[nodiscard]] Value value(const Hook& hook) const;
  [[nodiscard]] std::uint32_t result() const noexcept { return value_.result; }
  /// Tells values of one run apart.
  [[nodiscard]] std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> id() const noexcept {
    return {value_.node.index, value_.node.generation, value_.result};
  }
  [[nodiscard]] std::string_view kind() const;
  /// Of the value, and of the node.
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string_view label() const;
  [[nodiscard]] Extents shape() const;
  [[nodiscard]] std::string_view element() const;
  /// None for absent ones.
  [[nodiscard]] std::vector<std::optional<Node>> operands() const;
  /// How many operands such an operation has at most, with absent ones; None: any number.
  [[nodiscard]] std::optional<std::size_t> most_operands() const;
  [[nodiscard]] std::vector<Node> results() const;
  /// `(user, operand)` for each that reads the value.
  [[nodiscard]] std::vector<std::pair<Node, std::uint32_t>> users() const;
  [[nodiscard]] Dict attributes() const;
  /// None for what is no constant.
  [[nodiscard]] nb::object contents() const;
  /// None for what are no codes.
  [[nodiscard]] std::optional<CodesType> codes_type() const;

 private:
  /// The graph, in which the node is.
  [[nodiscard]] const GraphView& graph() const;

  std::shared_ptr<const Hook> hook_;
  Value value_;
};

/// One call of a hook. It has the parts that the hook's phase has; what needs another throws a
/// Failure, and so does everything once the call is over.
class Hook : public std::enable_shared_from_this<Hook> {
 public:
  struct Parts {
    const GraphView* graph = nullptr;
    const QuantizationMethod* method = nullptr;
    NodeRef node;
    const EligibilityContext* eligibility = nullptr;
    const Eligibility* found = nullptr;   ///< of phase 1, in those after it
    RequestCollector* asks = nullptr;     ///< of `request`
    RequestCollector* answers = nullptr;  ///< of `callback`
    ForwardContext* offers = nullptr;
    DataContext* data = nullptr;
    RewriteContext* rewriting = nullptr;
    bool carries_gains = false;  ///< what is asked for is worth what constraints say
  };

  explicit Hook(const Parts& parts) : parts_(parts) {}
  void close() noexcept { parts_ = {}; }

  [[nodiscard]] Node node(Value value) const { return {shared_from_this(), value}; }
  [[nodiscard]] Node node() const { return node({parts_.node.id, 0}); }
  [[nodiscard]] const GraphView& graph() const;

  /// The value that a hook made. It throws as `Node::value`.
  [[nodiscard]] Value value(const Node& made) const { return made.value(*this); }
  /// Of phase 1, of the value: an index of State.
  [[nodiscard]] unsigned state(const Node& of) const;
  /// What the patterns say, as a state.
  [[nodiscard]] unsigned match() const;

  void need(std::uint32_t operand, const nb::object& constraint);
  void end_alternative();
  void benefit(std::uint32_t operand, const nb::object& constraint, bool takes_codes);
  void produce(const nb::object& constraint);
  void refuse(std::string_view why);

  /// The constraint that the value is in, or None.
  [[nodiscard]] nb::object form(const Node& of) const;
  /// The same of the form in which the node at hand reads an operand.
  [[nodiscard]] nb::object read(std::uint32_t operand) const;
  /// For all results.
  void offer(const nb::object& constraint);
  void offer_requests();

  void keep(nb::handle array);
  [[nodiscard]] nb::object kept(std::size_t index) const;

  void set_type(const Node& of, const CodesType& type);
  void set_constant(const Node& of, nb::handle codes, const CodesType& type);
  void set_operand(const Node& user, std::uint32_t operand, const Node& value);
  [[nodiscard]] Node emit(std::string_view kind, const std::vector<std::optional<Node>>& operands,
                          std::string name, std::string_view element, const Extents& shape,
                          const std::optional<CodesType>& type, const Dict& attributes);
  [[nodiscard]] Node emit_constant(std::string name, nb::handle array,
                                   const std::optional<CodesType>& type);
  void take_place(const Node& of, const Node& made, std::string_view suffix);

 private:
  template <class Part>
  [[nodiscard]] Part& part(Part* of, std::string_view phase) const;
  [[nodiscard]] RewriteContext& rewriting() const;
  /// Throws a Failure where the node has fewer operands.
  void check_operand(NodeId node, std::uint32_t operand) const;

  Parts parts_;
};

/// Throws a Failure, with names that are near, for an operation that neither the library nor the
/// graph knows. Those of other domains than ONNX's own, `onnx.domain::Name`, are anyone's.
void check_kind(std::string_view kind, const GraphView& graph);

/// Uniform codes of axis `axis`, in blocks of `block_size` where that is not 0; without an axis:
/// one scale for all. Throws a Failure for what is no type, whatever the shape.
[[nodiscard]] CodesType uniform(const std::string& storage, const std::string& expressed,
                                std::optional<std::int64_t> axis, std::int64_t block_size,
                                std::pair<std::int64_t, std::int64_t> range, nb::handle scales,
                                std::optional<nb::object> zero_points);
/// What `uniform` was given; for types that are not uniform `format` and dtypes, and the range of
/// codes that are integers.
[[nodiscard]] Dict describe(const CodesType& type);

}  // namespace quadrant::python

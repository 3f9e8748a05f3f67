// How one operation behaves under one scheme: the four questions the engine asks.
//
//   check_eligibility  phase 1  could this be quantized, given some quantization of its parents?
//   callback           phase 2  "my result holds c if my operands hold these": a pure translation
//   request            phase 2  for Consumers: what it asks of its operands on its own account
//   forward            phase 3  what can the result exactly be, now that the parents are known?
//   rewriter           phase 4  make it so
//
// Write a method with the macros of macros.hpp; methods/weight_only has five to read.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "quadrant/engine/constraint.hpp"
#include "quadrant/engine/gain.hpp"
#include "quadrant/engine/pattern.hpp"
#include "quadrant/engine/scheme.hpp"
#include "quadrant/engine/state.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// The answer of phase 1 for the results of a node.
struct Verdict {
  State state = State::Unquantized;
  const char* why = nullptr;  ///< for Unquantized: a literal that says why, or null
};

/// What a method sees in phase 1.
class EligibilityContext {
 public:
  virtual ~EligibilityContext() = default;
  [[nodiscard]] virtual State state(Value value) const noexcept = 0;
};

/// Where a method's answers of phase 2 go; `Asks` is its typed face.
class RequestCollector {
 public:
  virtual ~RequestCollector() = default;
  /// "operand `operand` holds the constraint": joins the alternative that is open.
  virtual void need(std::uint32_t operand, const void* constraint) = 0;
  /// Ends the open alternative. One without needs holds by itself.
  virtual void end_alternative() = 0;
  virtual void benefit(std::uint32_t operand, const void* constraint) = 0;
  virtual void refuse(const char* why) = 0;
};

/// What a method sees in phase 3.
class ForwardContext {
 public:
  virtual ~ForwardContext() = default;
  /// The selected constraint of a parent; null while it is float.
  [[nodiscard]] virtual const void* selected(Value parent) const noexcept = 0;
  /// Makes available what phase 2 promised, as far as the parents kept it.
  virtual void offer_requests() = 0;
  virtual void offer(std::uint32_t result, const void* constraint) = 0;
};

/// The data pass: contents of selected nodes, read between phases 3 and 4.
class DataContext {
 public:
  virtual ~DataContext() = default;
  /// Keeps what was computed from the node's contents for its rewriter.
  virtual void keep(NodeId node, Constant computed) = 0;
  /// This node cannot be quantized after all, because of its contents.
  virtual void refuse(NodeId node, std::string why) = 0;
};

/// Base of all methods, without types. Derive from `Method` instead, through the macros.
/// Methods are immutable and called from several threads at once.
class QuantizationMethod {
 public:
  QuantizationMethod() = default;
  QuantizationMethod(const QuantizationMethod&) = delete;
  QuantizationMethod& operator=(const QuantizationMethod&) = delete;
  virtual ~QuantizationMethod() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Alternatives; empty: always eligible.
  [[nodiscard]] virtual std::span<const ParentsPattern> patterns() const noexcept = 0;
  /// Whether results are float (Consumer) or quantized (Quantizable) when eligible.
  [[nodiscard]] virtual State eligible_state() const noexcept = 0;
  [[nodiscard]] virtual std::source_location place() const noexcept = 0;

  /// Phase 1. The default matches `patterns` and answers `eligible_state`.
  [[nodiscard]] virtual Verdict check_eligibility(NodeRef node,
                                                  const EligibilityContext& context) const;

  /// The operation that the method is registered for.
  [[nodiscard]] std::string_view op() const noexcept { return op_; }

  // The typed hooks of `Method`, without types.
  virtual void erased_callback(const void* wanted, NodeRef node,
                               RequestCollector& collector) const = 0;
  virtual void erased_request(NodeRef node, RequestCollector& collector) const = 0;
  virtual void erased_forward(NodeRef node, ForwardContext& context) const = 0;
  [[nodiscard]] virtual std::optional<StorageChange> erased_storage(const void* constraint,
                                                                    NodeRef node) const = 0;
  [[nodiscard]] virtual Expected<void> erased_examine(const void* selected, NodeRef node,
                                                      DataContext& context) const = 0;

  /// Phase 4, for nodes whose result was selected and for Consumers.
  [[nodiscard]] virtual Expected<void> rewriter(NodeRef node, RewriteContext& context) const;

 protected:
  [[nodiscard]] const Scheme& erased_scheme() const noexcept { return *scheme_; }

 private:
  friend class RegistryBuilder;
  std::string op_;
  const Scheme* scheme_ = nullptr;
};

/// Collects what a `callback` or `request` asks for.
template <QuantizationConstraint C>
class Asks {
 public:
  struct Need {
    std::uint32_t operand;
    C constraint;
  };

  explicit Asks(RequestCollector& collector) noexcept : collector_(&collector) {}

  /// callback: the wanted constraint holds if all of `needs` hold. Several alternatives: if one of
  /// them holds.
  void alternative(std::initializer_list<Need> needs) {
    for (const Need& need : needs) collector_->need(need.operand, &need.constraint);
    collector_->end_alternative();
  }
  /// callback: the wanted constraint holds whatever the operands are.
  void accept() { collector_->end_alternative(); }
  /// request: this Consumer gains if the operand holds the constraint.
  void benefit(std::uint32_t operand, const C& constraint) {
    collector_->benefit(operand, &constraint);
  }
  /// Neither: says why, for explain. A literal.
  void refuse(const char* why) { collector_->refuse(why); }

 private:
  RequestCollector* collector_;
};

/// Collects what `forward` finds available.
template <QuantizationConstraint C>
class Offers {
 public:
  explicit Offers(ForwardContext& context) noexcept : context_(&context) {}

  /// The exact constraint of a parent; null while it is float.
  [[nodiscard]] const C* selected(Value parent) const noexcept {
    return static_cast<const C*>(context_->selected(parent));
  }
  void offer(const C& constraint, std::uint32_t result = 0) {
    context_->offer(result, &constraint);
  }
  /// What the requests of phase 2 imply: right for every method whose `callback` says all.
  void offer_requests() { context_->offer_requests(); }

 private:
  ForwardContext* context_;
};

/// Base of a method class. `Declaration` is what the macros make: scheme, name, patterns, place.
template <class Declaration>
class Method : public QuantizationMethod {
 public:
  using SchemeType = typename Declaration::SchemeType;
  using Constraint = typename SchemeType::Constraint;
  using Asks = quadrant::Asks<Constraint>;
  using Offers = quadrant::Offers<Constraint>;

  [[nodiscard]] std::string_view name() const noexcept final { return Declaration::name; }
  [[nodiscard]] std::span<const ParentsPattern> patterns() const noexcept final {
    return Declaration::patterns;
  }
  [[nodiscard]] State eligible_state() const noexcept final { return Declaration::state; }
  [[nodiscard]] std::source_location place() const noexcept final { return Declaration::place; }

  /// Phase 2, for Quantizable nodes: what the operands must hold so that a result holds `wanted`.
  /// Pure: the same answer for the same arguments. The default refuses.
  virtual void callback(const Constraint& /*wanted*/, NodeRef /*node*/, Asks& asks) const {
    asks.refuse("this operation does not pass quantization on");
  }
  /// Phase 2, for Consumers: what the node asks of its operands. The default asks nothing.
  virtual void request(NodeRef /*node*/, Asks& /*asks*/) const {}
  /// Phase 3. The default offers what the requests imply.
  virtual void forward(NodeRef /*node*/, Offers& offers) const { offers.offer_requests(); }
  /// Bytes before and after for a result that is stored; empty for computed ones.
  [[nodiscard]] virtual std::optional<StorageChange> storage(const Constraint& /*constraint*/,
                                                             NodeRef /*node*/) const {
    return std::nullopt;
  }
  /// The data pass, for selected nodes. The default reads nothing.
  [[nodiscard]] virtual Expected<void> examine(const Constraint& /*selected*/, NodeRef /*node*/,
                                               DataContext& /*context*/) const {
    return {};
  }

  [[nodiscard]] const SchemeType& scheme() const noexcept {
    return static_cast<const SchemeType&>(erased_scheme());
  }

  void erased_callback(const void* wanted, NodeRef node, RequestCollector& collector) const final {
    Asks asks(collector);
    callback(*static_cast<const Constraint*>(wanted), node, asks);
  }
  void erased_request(NodeRef node, RequestCollector& collector) const final {
    Asks asks(collector);
    request(node, asks);
  }
  void erased_forward(NodeRef node, ForwardContext& context) const final {
    Offers offers(context);
    forward(node, offers);
  }
  [[nodiscard]] std::optional<StorageChange> erased_storage(const void* constraint,
                                                            NodeRef node) const final {
    return storage(*static_cast<const Constraint*>(constraint), node);
  }
  [[nodiscard]] Expected<void> erased_examine(const void* selected, NodeRef node,
                                              DataContext& context) const final {
    return examine(*static_cast<const Constraint*>(selected), node, context);
  }
};

/// Base of a method class that serves several operations, with parameters for each.
template <class Declaration>
class ParameterizedMethod : public Method<Declaration> {
 public:
  using Parameters = typename Declaration::Parameters;
  explicit ParameterizedMethod(Parameters parameters) : parameters_(std::move(parameters)) {}

 protected:
  [[nodiscard]] const Parameters& parameters() const noexcept { return parameters_; }

 private:
  Parameters parameters_;
};

}  // namespace quadrant::inline v0

// How one operation behaves under one scheme: the questions the engine asks.
//
//   check_eligibility  phase 1  could this be quantized, given some quantization of its parents?
//   possible           phase 1  where parameters are given: the constraints there are to ask for
//   callback           phase 2  "my result holds c if my operands hold these": a pure translation
//   request            phase 2  what the node asks for on its own account
//   forward            phase 3  what can the result exactly be, now that the parents are known?
//   tie                after 3  which parameters are the same, which follow from others
//   rewriter           phase 4  make it so
//
// Write a method with the macros of macros.hpp; methods/weight_only has five to read.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "quadrant/engine/declare/constraint.hpp"
#include "quadrant/engine/declare/scheme.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// The answer of phase 1 for the results of a node.
struct Verdict {
  State state = State::Unquantized;
  std::string why{};  ///< for Unquantized: says why; empty: the patterns do
};

/// What a method sees in phase 1.
class EligibilityContext : public FactsContext {
 public:
  using FactsContext::FactsContext;
  virtual ~EligibilityContext() = default;
  /// The state of the value under the method's scheme.
  [[nodiscard]] virtual State state(Value value) const noexcept = 0;
};

/// Where a method's finite possibilities of phase 1 go; `Possibilities` is its typed face.
class PossibilityContext {
 public:
  virtual ~PossibilityContext() = default;
  /// How many constraints the value may hold; empty: any that is requested.
  [[nodiscard]] virtual std::optional<std::size_t> count(Value value) const noexcept = 0;
  [[nodiscard]] virtual const void* get(Value value, std::size_t index) const noexcept = 0;
  virtual void add(const void* constraint) = 0;
};

/// Where a method's answers of phase 2 go; `Asks` is its typed face.
class RequestCollector : public FactsContext {
 public:
  using FactsContext::FactsContext;
  virtual ~RequestCollector() = default;
  /// "operand `operand` holds the constraint": joins what is open.
  virtual void need(std::uint32_t operand, const void* constraint) = 0;
  /// Ends the open alternative. One without needs holds by itself. `gain`: empty, that of computing
  /// on the codes of its operands.
  virtual void end_alternative(std::optional<Gain> gain) = 0;
  /// `gain`: empty, the model's.
  virtual void benefit(std::uint32_t operand, const void* constraint, std::optional<Gain> gain,
                       bool takes_codes) = 0;
  /// Ends what is open: its operands are read as codes, all of them or none. `gain`: empty, the
  /// model's.
  virtual void end_taking(std::optional<Gain> gain) = 0;
  virtual void produce(const void* constraint) = 0;
  virtual void refuse(std::string_view why) = 0;
  [[nodiscard]] virtual const PossibilityContext& possibilities() const noexcept = 0;
};

/// What a method sees in phase 3.
class ForwardContext : public FactsContext {
 public:
  using FactsContext::FactsContext;
  virtual ~ForwardContext() = default;
  /// The selected constraint of a parent; null while it is float.
  [[nodiscard]] virtual const void* selected(Value parent) const noexcept = 0;
  /// Makes available what phase 2 promised, as far as the parents kept it.
  virtual void offer_requests() = 0;
  virtual void offer(std::uint32_t result, const void* constraint) = 0;
  virtual void refuse(std::string_view why) = 0;
};

/// The data pass: contents of selected nodes, read between phases 3 and 4.
class DataContext : public FactsContext {
 public:
  using FactsContext::FactsContext;
  virtual ~DataContext() = default;
  /// Keeps what was computed from the node's contents for its rewriter: `prepared(node, i)` is what
  /// the i-th call kept.
  virtual void keep(Constant computed) = 0;
  /// The node cannot be quantized after all, because of its contents.
  virtual void refuse(std::string why) = 0;
};

/// A result or an operand of a node, whichever form it has there.
struct Slot {
  bool is_result = false;
  std::uint32_t index = 0;
  [[nodiscard]] static constexpr Slot result(std::uint32_t index = 0) noexcept {
    return {true, index};
  }
  [[nodiscard]] static constexpr Slot operand(std::uint32_t index) noexcept {
    return {false, index};
  }
};

/// Collects what a method says of parameters. A slot in float, or in another scheme's form, has
/// none here, and what is said of it is passed over.
class ParameterRules {
 public:
  virtual ~ParameterRules() = default;
  /// One scale and zero point for both: a pooling, a concat.
  virtual void share(Slot a, Slot b) = 0;
  /// The parameters of `derived` follow from those of `sources`: the bias of a convolution, whose
  /// scale is the product of the input's and the weight's.
  virtual void derive(Slot derived, std::initializer_list<Slot> sources) = 0;
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

  /// After phase 3, for every node that takes part: which parameters are the same, and which follow
  /// from others. Rules about slots that turned out float are passed over. The default ties
  /// nothing.
  virtual void tie(NodeRef /*node*/, ParameterRules& /*rules*/) const {}

  // The typed hooks of `Method`, without types.
  virtual void erased_possible(NodeRef node, PossibilityContext& context) const = 0;
  virtual void erased_callback(const void* wanted, NodeRef node,
                               RequestCollector& collector) const = 0;
  virtual void erased_request(NodeRef node, RequestCollector& collector) const = 0;
  virtual void erased_forward(NodeRef node, ForwardContext& context) const = 0;
  [[nodiscard]] virtual std::optional<StorageChange> erased_storage(const void* constraint,
                                                                    NodeRef node) const = 0;
  [[nodiscard]] virtual Expected<void> erased_examine(const void* selected, NodeRef node,
                                                      DataContext& context) const = 0;

  /// Phase 4, for nodes whose results were selected (a quantizer gives them a quantized type), for
  /// Consumers, and for others whose result stays float but that got what they asked for in
  /// `request`. `RewriteContext::form` tells the cases apart.
  [[nodiscard]] virtual Expected<void> rewriter(NodeRef node, RewriteContext& context) const;

 protected:
  [[nodiscard]] const Scheme& erased_scheme() const noexcept { return *scheme_; }

 private:
  friend class RegistryBuilder;
  std::string op_;
  const Scheme* scheme_ = nullptr;
};

/// Phase 1, for schemes whose parameters are given: the constraints that values may hold at all.
template <QuantizationConstraint C>
class Possibilities {
 public:
  explicit Possibilities(PossibilityContext& context) noexcept : context_(&context) {}

  /// Empty where the value may hold any constraint that is requested.
  [[nodiscard]] std::optional<std::size_t> count(Value value) const noexcept {
    return context_->count(value);
  }
  [[nodiscard]] const C& get(Value value, std::size_t index) const noexcept {
    return *static_cast<const C*>(context_->get(value, index));
  }
  /// The node's results may hold `constraint`. Once one is added, no other can be asked for.
  void add(const C& constraint) { context_->add(&constraint); }

 private:
  PossibilityContext* context_;
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

  /// callback: the wanted constraint holds if all of `needs` hold, which are read as codes; other
  /// operands are read in float. Several alternatives: if one of them holds. `gain`: what the node
  /// itself gains.
  void alternative(std::span<const Need> needs, Gain gain = {}) { add(needs, gain); }
  void alternative(std::initializer_list<Need> needs, Gain gain = {}) {
    add({needs.begin(), needs.size()}, gain);
  }
  /// As `alternative`, for a node that computes on codes, where the gain model says what each
  /// operand is worth.
  void compute(std::span<const Need> needs) { add(needs, std::nullopt); }
  void compute(std::initializer_list<Need> needs) {
    add({needs.begin(), needs.size()}, std::nullopt);
  }
  /// callback: the wanted constraint holds whatever the operands are.
  void accept() { collector_->end_alternative(Gain{}); }

  /// request: the node gains if the operand is held as `constraint`. It still reads floats: the
  /// shared dequantize stands in front of it.
  void benefit(std::uint32_t operand, const C& constraint) {
    collector_->benefit(operand, &constraint, std::nullopt, false);
  }
  /// request: the node, whose result stays float, gains if it reads the operand's codes. Its
  /// rewriter makes it do so.
  void take(std::uint32_t operand, const C& constraint) {
    collector_->benefit(operand, &constraint, std::nullopt, true);
  }
  void take(std::uint32_t operand, const C& constraint, Gain gain) {
    collector_->benefit(operand, &constraint, gain, true);
  }
  /// request: the same for several operands, of which it reads all as codes or none: both factors
  /// of a product. Of several such declarations of a node one comes true at most; what it takes
  /// besides, one by one, is taken as well. `gain`: of all together; left out, the model's of each.
  void take_all(std::span<const Need> needs, std::optional<Gain> gain = std::nullopt) {
    for (const Need& need : needs) collector_->need(need.operand, &need.constraint);
    collector_->end_taking(gain);
  }
  void take_all(std::initializer_list<Need> needs, std::optional<Gain> gain = std::nullopt) {
    take_all(std::span(needs.begin(), needs.size()), gain);
  }
  /// request: the node would make its own results in this form, whatever reads them: `callback`
  /// says how, and what that is worth.
  void produce(const C& constraint) { collector_->produce(&constraint); }

  /// Neither: says why, for explain. The text is copied.
  void refuse(std::string_view why) { collector_->refuse(why); }

  /// What the scheme's `prepare` computed; null where it has no such hook.
  template <class Facts>
  [[nodiscard]] const Facts* shared() const noexcept {
    return collector_->shared<Facts>();
  }
  /// What phase 1 found possible for a value: see `possible`.
  [[nodiscard]] std::optional<std::size_t> possible_count(Value value) const noexcept {
    return collector_->possibilities().count(value);
  }
  [[nodiscard]] const C& possible(Value value, std::size_t index) const noexcept {
    return *static_cast<const C*>(collector_->possibilities().get(value, index));
  }

 private:
  void add(std::span<const Need> needs, std::optional<Gain> gain) {
    for (const Need& need : needs) collector_->need(need.operand, &need.constraint);
    collector_->end_alternative(gain);
  }

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
  /// What the scheme's `prepare` computed; null where it has no such hook.
  template <class Facts>
  [[nodiscard]] const Facts* shared() const noexcept {
    return context_->shared<Facts>();
  }
  /// A constraint that was not requested is not taken; where no other is offered, explain names it.
  void offer(const C& constraint, std::uint32_t result = 0) {
    context_->offer(result, &constraint);
  }
  /// What the requests of phase 2 imply: right for every method whose `callback` says all.
  void offer_requests() { context_->offer_requests(); }
  /// Nothing: says why, for explain. The text is copied.
  void refuse(std::string_view why) { context_->refuse(why); }

 private:
  ForwardContext* context_;
};

/// Base of a method class. `Declaration` is what the macros make: scheme, name, patterns, place.
template <class Declaration>
class Method : public QuantizationMethod {
 public:
  using SchemeType = typename Declaration::SchemeType;
  static_assert(std::derived_from<SchemeType, Scheme>,
                "a method's scheme must derive from quadrant::Scheme");
  using Constraint = typename SchemeType::Constraint;
  using Asks = quadrant::Asks<Constraint>;
  using Offers = quadrant::Offers<Constraint>;
  using Possibilities = quadrant::Possibilities<Constraint>;

  [[nodiscard]] std::string_view name() const noexcept final { return Declaration::name; }
  [[nodiscard]] std::span<const ParentsPattern> patterns() const noexcept final {
    return Declaration::patterns;
  }
  [[nodiscard]] State eligible_state() const noexcept final { return Declaration::state; }
  [[nodiscard]] std::source_location place() const noexcept final { return Declaration::place; }

  /// Phase 1, where parameters are given: what the results may hold, from what the operands may.
  /// The default says nothing: any constraint can be asked for.
  virtual void possible(NodeRef /*node*/, Possibilities& /*possibilities*/) const {}
  /// Phase 2, for Quantizable nodes: what the operands must hold so that a result holds `wanted`.
  /// Pure: the same answer for the same arguments. The default refuses.
  virtual void callback(const Constraint& /*wanted*/, NodeRef /*node*/, Asks& asks) const {
    asks.refuse("this operation does not pass quantization on");
  }
  /// Phase 2: what the node asks for on its own account. The default asks nothing.
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

  void erased_possible(NodeRef node, PossibilityContext& context) const final {
    Possibilities possibilities(context);
    possible(node, possibilities);
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
  explicit ParameterizedMethod(Parameters given) : parameters_(std::move(given)) {}

 protected:
  [[nodiscard]] const Parameters& parameters() const noexcept { return parameters_; }

 private:
  Parameters parameters_;
};

namespace detail {

/// Refuses a method class with a hook of another type, which hides the engine's when it is not
/// marked `override`: the engine would never call it.
template <class M>
constexpr void check_hooks() {
  using C = typename M::Constraint;
  static_assert(
      requires {
        static_cast<Verdict (M::*)(NodeRef, const EligibilityContext&) const>(
            &M::check_eligibility);
      },
      "a method's check_eligibility must be: "
      "Verdict check_eligibility(NodeRef, const EligibilityContext&) const override");
  static_assert(
      requires { static_cast<void (M::*)(NodeRef, Possibilities<C>&) const>(&M::possible); },
      "a method's possible must be: void possible(NodeRef, Possibilities&) const override");
  static_assert(
      requires { static_cast<void (M::*)(const C&, NodeRef, Asks<C>&) const>(&M::callback); },
      "a method's callback must be: "
      "void callback(const Constraint& wanted, NodeRef, Asks&) const override");
  static_assert(
      requires { static_cast<void (M::*)(NodeRef, Asks<C>&) const>(&M::request); },
      "a method's request must be: void request(NodeRef, Asks&) const override");
  static_assert(
      requires { static_cast<void (M::*)(NodeRef, Offers<C>&) const>(&M::forward); },
      "a method's forward must be: void forward(NodeRef, Offers&) const override");
  static_assert(
      requires {
        static_cast<std::optional<StorageChange> (M::*)(const C&, NodeRef) const>(&M::storage);
      },
      "a method's storage must be: "
      "std::optional<StorageChange> storage(const Constraint&, NodeRef) const override");
  static_assert(
      requires {
        static_cast<Expected<void> (M::*)(const C&, NodeRef, DataContext&) const>(&M::examine);
      },
      "a method's examine must be: "
      "Expected<void> examine(const Constraint& selected, NodeRef, DataContext&) const override");
  static_assert(
      requires { static_cast<void (M::*)(NodeRef, ParameterRules&) const>(&M::tie); },
      "a method's tie must be: void tie(NodeRef, ParameterRules&) const override");
  static_assert(
      requires {
        static_cast<Expected<void> (M::*)(NodeRef, RewriteContext&) const>(&M::rewriter);
      },
      "a method's rewriter must be: "
      "Expected<void> rewriter(NodeRef, RewriteContext&) const override");
}

}  // namespace detail
}  // namespace quadrant::inline v0

// A way to quantize: what its constraints are, and how a value changes its form.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "quadrant/engine/declare/constraint.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// What a scheme computes once a run over the whole graph, for all of its hooks.

/// What a scheme's `prepare` returned, whose type only the scheme knows. A handle: copies are
/// cheap, and reading from several threads at once is safe.
class SharedFacts {
 public:
  /// None.
  SharedFacts() = default;
  template <class Facts>
  explicit SharedFacts(std::shared_ptr<const Facts> facts)
      : facts_(std::move(facts)), type_(&type_of<Facts>) {}

  /// Null where there are none, or of another type.
  template <class Facts>
  [[nodiscard]] const Facts* get() const noexcept {
    return type_ == &type_of<Facts> ? static_cast<const Facts*>(facts_.get()) : nullptr;
  }

 private:
  // One object a type, with one address in a program and its shared library: a plug-in that is
  // linked statically to a room of its own would have another, and find nothing.
  template <class Facts>
  static inline char type_of = 0;

  std::shared_ptr<const void> facts_;
  const char* type_ = nullptr;
};

/// Base of what hooks are given, one for each call: it refers to the facts.
class FactsContext {
 public:
  FactsContext() = default;
  explicit FactsContext(const SharedFacts& facts) noexcept : facts_(&facts) {}
  explicit FactsContext(SharedFacts&&) = delete;
  /// What the scheme's `prepare` computed; null where it has no such hook, or of another type.
  template <class Facts>
  [[nodiscard]] const Facts* shared() const noexcept {
    return facts_ == nullptr ? nullptr : facts_->get<Facts>();
  }

 protected:
  FactsContext(const FactsContext&) = default;
  FactsContext& operator=(const FactsContext&) = default;
  ~FactsContext() = default;

 private:
  const SharedFacts* facts_ = nullptr;
};

class RewriteContext;

/// A change of form, with the constraints as what they are. A gain model may be asked what it is
/// worth: `gains.of_conversion(conversion)`.
template <class C>
struct ConversionOf : FormChange {
  /// Null: floats.
  [[nodiscard]] const C* from() const noexcept { return static_cast<const C*>(before.constraint); }
  [[nodiscard]] const C* to() const noexcept { return static_cast<const C*>(after.constraint); }
};

/// A request for parameters: those of form `constraint`, which all of `members` share.
template <class C>
struct ParameterQuery {
  const GraphView* graph = nullptr;
  const C* constraint = nullptr;
  std::span<const Value> members;  ///< one at least; by name
  /// Where a method derives them: the parameters of the sources, in its order. Empty: they are
  /// found from data.
  std::span<const std::shared_ptr<const UniformType>> sources;
  SharedFacts facts;

  /// What the scheme's `prepare` computed; null where it has no such hook.
  template <class Facts>
  [[nodiscard]] const Facts* shared() const noexcept {
    return facts.get<Facts>();
  }
};

/// Base of every scheme. Derive, and let QUADRANT_SCHEME declare the overrides. Immutable once it
/// is in a Registry.
///
/// A scheme with constraint type `C` must have the dequantizer (`leave`), and may have:
///
///     /// What the scheme computes over the whole graph: once a run, before phase 1; the same for
///     /// the same graph. Every hook of its methods reads it: `asks.shared<Facts>()`. It may read
///     /// contents, though runs that only plan wait for that, too. An error ends the run.
///     Expected<Facts> prepare(const GraphView& graph) const;
///     /// Adds what turns the floats `real` into codes of form `to`; returns them.
///     Expected<Value> enter(Value real, const C& to, RewriteContext& context) const;
///     /// Adds what turns codes of one form into codes of another, without floats in between.
///     Expected<Value> convert(Value quantized, const C& to, RewriteContext& context) const;
///     /// What a conversion is worth: a cost, so what is above zero counts as zero. Empty: it
///     /// cannot be had; but floats always can, then at no cost. By default the gain model's
///     /// `of_conversion`, for conversions whose hook the scheme has.
///     std::optional<Gain> price(const ConversionOf<C>& conversion, const GainModel& gains) const;
///     /// The form that a value had in the model as given; empty: not one of this scheme's.
///     std::optional<C> recognize(const TensorType& type) const;
///     /// The element type of codes of form `form`, for gain models that want to know.
///     ElementType storage_type(const C& form) const;
///     /// The type that a value of type `real` has in the form, all but its numbers
///     /// (`type_without_numbers`), by which an IR is asked whether it can hold it
///     /// (`Capabilities`). Empty: not known, and not asked.
///     std::optional<TensorType> type_of(const C& form, const TensorType& real) const;
///     /// The parameters (scales, zero points) of values that share them, found once, in the data
///     /// pass; `RewriteContext::parameters` has them.
///     Expected<std::shared_ptr<const UniformType>> resolve(const ParameterQuery<C>& query) const;
class Scheme {
 public:
  Scheme() = default;
  virtual ~Scheme() = default;

  /// As in `--scheme`, for example `weight_only`.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual const ConstraintType& constraint_type() const noexcept = 0;
  /// The options in effect, in one line, for plans and reports.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Whether the options go together, which `RegistryBuilder::freeze` asks: as its errors.
  [[nodiscard]] virtual Expected<void> check() const;

  /// Adds what turns `quantized` into float and returns the float value. Called at most once for
  /// each value; all readers of floats share the result.
  [[nodiscard]] virtual Expected<Value> leave(Value quantized, RewriteContext& context) const = 0;

  // The optional hooks, without types.
  [[nodiscard]] virtual Expected<SharedFacts> erased_prepare(const GraphView& graph) const;
  [[nodiscard]] virtual bool can_enter() const noexcept = 0;
  [[nodiscard]] virtual bool can_convert() const noexcept = 0;
  [[nodiscard]] virtual std::optional<Gain> erased_price(const FormChange& change,
                                                         const GainModel& gains) const = 0;
  [[nodiscard]] virtual Expected<Value> erased_enter(Value real, const void* to,
                                                     RewriteContext& context) const = 0;
  [[nodiscard]] virtual Expected<Value> erased_convert(Value quantized, const void* to,
                                                       RewriteContext& context) const = 0;
  /// Interns the recognized constraint, if there is one.
  [[nodiscard]] virtual std::optional<ConstraintId> erased_recognize(
      const TensorType& type, std::uint32_t scheme, ConstraintTable& constraints) const = 0;
  /// Empty: the scheme does not tell.
  [[nodiscard]] virtual std::optional<ElementType> erased_storage_type(const void* form) const = 0;
  /// Empty: the scheme does not tell.
  [[nodiscard]] virtual std::optional<TensorType> erased_type_of(const void* form,
                                                                 const TensorType& real) const;
  [[nodiscard]] virtual bool can_resolve() const noexcept = 0;
  [[nodiscard]] virtual Expected<std::shared_ptr<const UniformType>> erased_resolve(
      const ParameterQuery<void>& query) const = 0;

 protected:
  Scheme(const Scheme&) = default;
  Scheme& operator=(const Scheme&) = default;
};

// What QUADRANT_SCHEME's overrides call. A scheme has a hook if it has a function of that name;
// one of the wrong signature does not compile.
namespace detail {

// `&S::enter` finds the name, whatever its type, unless it is overloaded; then the call finds it.
template <class S, class C = typename S::Constraint>
concept HasEnter = requires { &S::enter; } ||
                   requires(S s, const C& to, RewriteContext& r) { s.enter(Value(), to, r); };
template <class S, class C = typename S::Constraint>
concept HasConvert = requires { &S::convert; } ||
                     requires(S s, const C& to, RewriteContext& r) { s.convert(Value(), to, r); };
template <class S, class C = typename S::Constraint>
concept HasPrice = requires { &S::price; } ||
                   requires(S s, ConversionOf<C> c, const GainModel& g) { s.price(c, g); };
template <class S>
concept HasRecognize =
    requires { &S::recognize; } || requires(S s, const TensorType& type) { s.recognize(type); };
template <class S, class C = typename S::Constraint>
concept HasStorageType =
    requires { &S::storage_type; } || requires(S s, const C& form) { s.storage_type(form); };
template <class S>
concept HasPrepare =
    requires { &S::prepare; } || requires(S s, const GraphView& graph) { s.prepare(graph); };
template <class T>
inline constexpr bool is_expected = false;
template <class T>
inline constexpr bool is_expected<Expected<T>> = true;
template <class S, class C = typename S::Constraint>
concept HasTypeOf = requires { &S::type_of; } ||
                    requires(S s, const C& form, const TensorType& real) { s.type_of(form, real); };
template <class S, class C = typename S::Constraint>
concept HasResolve = requires { &S::resolve; } ||
                     requires(S s, const ParameterQuery<C>& query) { s.resolve(query); };

template <class S>
Expected<SharedFacts> prepare(const S& scheme, const GraphView& graph) {
  if constexpr (HasPrepare<S>) {
    constexpr bool is_right = requires { requires is_expected<decltype(scheme.prepare(graph))>; };
    static_assert(is_right,
                  "a scheme's prepare must be: Expected<Facts> prepare(const GraphView&) const");
    if constexpr (is_right) {
      using Facts = typename decltype(scheme.prepare(graph))::value_type;
      QUADRANT_TRY(Facts facts, scheme.prepare(graph));
      return SharedFacts(std::make_shared<const Facts>(std::move(facts)));
    } else {
      return SharedFacts();
    }
  } else {
    return SharedFacts();
  }
}

template <class S>
std::optional<Gain> price(const S& scheme, const FormChange& change, const GainModel& gains) {
  const ConversionOf<typename S::Constraint> conversion{change};
  const ConversionKind kind = conversion.kind();
  if (kind == ConversionKind::enter && !HasEnter<S>) return std::nullopt;
  if (kind == ConversionKind::convert && !HasConvert<S>) return std::nullopt;
  if constexpr (HasPrice<S>) {
    static_assert(
        requires {
          { scheme.price(conversion, gains) } -> std::same_as<std::optional<Gain>>;
        },
        "a scheme's price must be: "
        "std::optional<Gain> price(const ConversionOf<Constraint>&, const GainModel&) const");
    return scheme.price(conversion, gains);
  } else {
    return gains.of_conversion(change);
  }
}

template <class S>
Expected<Value> enter(const S& scheme, Value real, const void* to, RewriteContext& context) {
  if constexpr (HasEnter<S>) {
    using C = typename S::Constraint;
    static_assert(
        requires(const C& constraint) {
          { scheme.enter(real, constraint, context) } -> std::same_as<Expected<Value>>;
        },
        "a scheme's enter must be: "
        "Expected<Value> enter(Value real, const Constraint& to, RewriteContext&) const");
    return scheme.enter(real, *static_cast<const C*>(to), context);
  } else {
    return fail(ErrorCode::impossible, "this scheme does not quantize floats");
  }
}

template <class S>
Expected<Value> convert(const S& scheme, Value quantized, const void* to, RewriteContext& context) {
  if constexpr (HasConvert<S>) {
    using C = typename S::Constraint;
    static_assert(
        requires(const C& constraint) {
          { scheme.convert(quantized, constraint, context) } -> std::same_as<Expected<Value>>;
        },
        "a scheme's convert must be: "
        "Expected<Value> convert(Value quantized, const Constraint& to, RewriteContext&) const");
    return scheme.convert(quantized, *static_cast<const C*>(to), context);
  } else {
    return fail(ErrorCode::impossible, "this scheme does not requantize");
  }
}

template <class S>
std::optional<ConstraintId> recognize(const S& scheme, const TensorType& type, std::uint32_t index,
                                      ConstraintTable& constraints) {
  if constexpr (HasRecognize<S>) {
    static_assert(
        requires {
          { scheme.recognize(type) } -> std::same_as<std::optional<typename S::Constraint>>;
        },
        "a scheme's recognize must be: "
        "std::optional<Constraint> recognize(const TensorType&) const");
    const auto found = scheme.recognize(type);
    if (found) return constraints.intern(index, &*found);
  }
  return std::nullopt;
}

template <class S>
std::optional<ElementType> storage_type(const S& scheme, const void* form) {
  if constexpr (HasStorageType<S>) {
    using C = typename S::Constraint;
    static_assert(
        requires(const C& constraint) {
          { scheme.storage_type(constraint) } -> std::same_as<ElementType>;
        },
        "a scheme's storage_type must be: ElementType storage_type(const Constraint& form) const");
    return scheme.storage_type(*static_cast<const C*>(form));
  } else {
    return std::nullopt;
  }
}

template <class S>
std::optional<TensorType> type_of(const S& scheme, const void* form, const TensorType& real) {
  if constexpr (HasTypeOf<S>) {
    using C = typename S::Constraint;
    static_assert(
        requires(const C& constraint) {
          { scheme.type_of(constraint, real) } -> std::same_as<std::optional<TensorType>>;
        },
        "a scheme's type_of must be: "
        "std::optional<TensorType> type_of(const Constraint& form, const TensorType& real) const");
    return scheme.type_of(*static_cast<const C*>(form), real);
  } else {
    return std::nullopt;
  }
}

template <class S>
Expected<std::shared_ptr<const UniformType>> resolve(const S& scheme,
                                                     const ParameterQuery<void>& erased) {
  using C = typename S::Constraint;
  const ParameterQuery<C> query{erased.graph, static_cast<const C*>(erased.constraint),
                                erased.members, erased.sources, erased.facts};
  if constexpr (HasResolve<S>) {
    static_assert(
        requires {
          { scheme.resolve(query) } -> std::same_as<Expected<std::shared_ptr<const UniformType>>>;
        },
        "a scheme's resolve must be: Expected<std::shared_ptr<const UniformType>> "
        "resolve(const ParameterQuery<Constraint>&) const");
    return scheme.resolve(query);
  } else {
    return nullptr;
  }
}

}  // namespace detail
}  // namespace quadrant::inline v0

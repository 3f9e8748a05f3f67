// The declarative face of the engine. Opt in by including this header where methods are written.
//
//   struct ChannelWise { ... };                      // a constraint: see constraint.hpp
//   struct MyScheme : Scheme {
//     QUADRANT_SCHEME(MyScheme, ChannelWise, "my_scheme")
//     ... options ...
//   };
//
//   QUADRANT_QUANTIZER(TransposeMethod, MyScheme, ops::Transpose, requires_parents(AnyQuantizable))
//   {
//     void callback(const ChannelWise& wanted, NodeRef node, Asks& asks) const override { ... }
//     Expected<void> rewriter(NodeRef node, RewriteContext& context) const override { ... }
//   };
//   QUADRANT_CONSUMER(MatMulMethod, MyScheme, ops::MatMul,
//                     requires_parents(AnyQuantizable, AnyUnquantized),
//                     requires_parents(AnyUnquantized, AnyQuantizable)) {
//     void request(NodeRef node, Asks& asks) const override { ... }
//   };
//   QUADRANT_DEQUANTIZER(MyScheme)(Value quantized, RewriteContext& context) const { ... }
//   QUADRANT_METHODS(MyScheme) {
//     add<TransposeMethod>();
//     add<MatMulMethod>();
//   }
//
// The macros make ordinary classes and open ordinary functions; nothing runs before main.
#pragma once

#include <array>
#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>

#include "quadrant/engine/declare/method.hpp"
#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/declare/rewrite_context.hpp"

namespace quadrant::inline v0::detail {

template <class... Patterns>
constexpr std::array<ParentsPattern, sizeof...(Patterns)> pattern_list(Patterns... patterns) {
  static_assert((std::same_as<Patterns, ParentsPattern> && ...),
                "what follows a method's operation are its patterns: requires_parents(...)");
  return {patterns...};
}

}  // namespace quadrant::inline v0::detail

#define QUADRANT_DETAIL_SCHEME(scheme_type, constraint, scheme_name)                             \
 public:                                                                                         \
  using Constraint = constraint;                                                                 \
  struct Registration final : ::quadrant::MethodRegistration<scheme_type> {                      \
    using ::quadrant::MethodRegistration<scheme_type>::MethodRegistration;                       \
    void run();                                                                                  \
  };                                                                                             \
  [[nodiscard]] std::string_view name() const noexcept override { return scheme_name; }          \
  [[nodiscard]] const ::quadrant::ConstraintType& constraint_type() const noexcept override {    \
    static_assert(std::same_as<std::remove_cvref_t<decltype(*this)>, scheme_type>,               \
                  "QUADRANT_SCHEME begins with the name of the class in which it stands");       \
    static_assert(::quadrant::QuantizationConstraint<Constraint>,                                \
                  "a constraint needs ==, <, hash(), print() and static parse(text): see "       \
                  "QuantizationConstraint");                                                     \
    return ::quadrant::constraint_type<Constraint>;                                              \
  }                                                                                              \
  [[nodiscard]] ::quadrant::Expected<::quadrant::SharedFacts> erased_prepare(                    \
      const ::quadrant::GraphView& graph) const override {                                       \
    return ::quadrant::detail::prepare(*this, graph);                                            \
  }                                                                                              \
  [[nodiscard]] bool can_enter() const noexcept override {                                       \
    return ::quadrant::detail::HasEnter<scheme_type>;                                            \
  }                                                                                              \
  [[nodiscard]] bool can_convert() const noexcept override {                                     \
    return ::quadrant::detail::HasConvert<scheme_type>;                                          \
  }                                                                                              \
  [[nodiscard]] std::optional<::quadrant::Gain> erased_price(                                    \
      const ::quadrant::FormChange& change, const ::quadrant::GainModel& gains) const override { \
    return ::quadrant::detail::price(*this, change, gains);                                      \
  }                                                                                              \
  [[nodiscard]] ::quadrant::Expected<::quadrant::Value> erased_enter(                            \
      ::quadrant::Value real, const void* to, ::quadrant::RewriteContext& context)               \
      const override {                                                                           \
    return ::quadrant::detail::enter(*this, real, to, context);                                  \
  }                                                                                              \
  [[nodiscard]] ::quadrant::Expected<::quadrant::Value> erased_convert(                          \
      ::quadrant::Value quantized, const void* to, ::quadrant::RewriteContext& context)          \
      const override {                                                                           \
    return ::quadrant::detail::convert(*this, quantized, to, context);                           \
  }                                                                                              \
  [[nodiscard]] std::optional<::quadrant::ConstraintId> erased_recognize(                        \
      const ::quadrant::TensorType& type, std::uint32_t scheme,                                  \
      ::quadrant::ConstraintTable& constraints) const override {                                 \
    return ::quadrant::detail::recognize(*this, type, scheme, constraints);                      \
  }                                                                                              \
  [[nodiscard]] std::optional<::quadrant::ElementType> erased_storage_type(const void* of)       \
      const override {                                                                           \
    return ::quadrant::detail::storage_type(*this, of);                                          \
  }                                                                                              \
  [[nodiscard]] std::optional<::quadrant::TensorType> erased_type_of(                            \
      const void* of, const ::quadrant::TensorType& real) const override {                       \
    return ::quadrant::detail::type_of(*this, of, real);                                         \
  }                                                                                              \
  [[nodiscard]] bool can_resolve() const noexcept override {                                     \
    return ::quadrant::detail::HasResolve<scheme_type>;                                          \
  }                                                                                              \
  [[nodiscard]] ::quadrant::Expected<std::shared_ptr<const ::quadrant::UniformType>>             \
  erased_resolve(const ::quadrant::ParameterQuery<void>& query) const override {                 \
    return ::quadrant::detail::resolve(*this, query);                                            \
  }

/// Inside a scheme's class: its constraint type, its name, and what the engine asks of it.
#define QUADRANT_SCHEME(scheme_type, constraint, scheme_name)  \
  QUADRANT_DETAIL_SCHEME(scheme_type, constraint, scheme_name) \
  [[nodiscard]] ::quadrant::Expected<::quadrant::Value> leave( \
      ::quadrant::Value quantized, ::quadrant::RewriteContext& context) const override;

/// The same in the class of a scheme that is derived from `base`, whose constraint type and
/// dequantizer it has.
#define QUADRANT_DERIVED_SCHEME(scheme_type, base, scheme_name) \
  QUADRANT_DETAIL_SCHEME(scheme_type, base::Constraint, scheme_name)

#define QUADRANT_DETAIL_DECLARATION(method, scheme_type, eligible, ...)           \
  using SchemeType = scheme_type;                                                 \
  static constexpr std::string_view name = #method;                               \
  static constexpr ::quadrant::State state = eligible;                            \
  static constexpr auto patterns = ::quadrant::detail::pattern_list(__VA_ARGS__); \
  static constexpr std::source_location place = std::source_location::current();

#define QUADRANT_DETAIL_METHOD(method, scheme_type, op, eligible, ...)      \
  struct method##Declaration {                                              \
    using OpType = op;                                                      \
    QUADRANT_DETAIL_DECLARATION(method, scheme_type, eligible, __VA_ARGS__) \
  };                                                                        \
  struct method##Base : ::quadrant::Method<method##Declaration> {           \
    using Declaration = method##Declaration;                                \
  };                                                                        \
  struct method final : method##Base

/// Opens the class of a method whose result is quantized when it is selected. No patterns: always
/// eligible, unless check_eligibility is overridden.
#define QUADRANT_QUANTIZER(method, scheme_type, op, ...) \
  QUADRANT_DETAIL_METHOD(method, scheme_type, op, ::quadrant::State::Quantizable, __VA_ARGS__)

/// Opens the class of a method that benefits from quantized operands and has a float result.
#define QUADRANT_CONSUMER(method, scheme_type, op, ...) \
  QUADRANT_DETAIL_METHOD(method, scheme_type, op, ::quadrant::State::Consumer, __VA_ARGS__)

#define QUADRANT_DETAIL_PARAMETERIZED(method, scheme_type, params, eligible, ...)    \
  struct method##Declaration {                                                       \
    using Parameters = params;                                                       \
    QUADRANT_DETAIL_DECLARATION(method, scheme_type, eligible, __VA_ARGS__)          \
  };                                                                                 \
  struct method##Base : ::quadrant::ParameterizedMethod<method##Declaration> {       \
    using Declaration = method##Declaration;                                         \
    using ::quadrant::ParameterizedMethod<method##Declaration>::ParameterizedMethod; \
  };                                                                                 \
  struct method final : method##Base

/// Like QUADRANT_QUANTIZER for several operations; `params` is the type of what differs.
#define QUADRANT_PARAMETERIZED(method, scheme_type, params, ...)                             \
  QUADRANT_DETAIL_PARAMETERIZED(method, scheme_type, params, ::quadrant::State::Quantizable, \
                                __VA_ARGS__)

/// Like QUADRANT_CONSUMER for several operations.
#define QUADRANT_PARAMETERIZED_CONSUMER(method, scheme_type, params, ...)                 \
  QUADRANT_DETAIL_PARAMETERIZED(method, scheme_type, params, ::quadrant::State::Consumer, \
                                __VA_ARGS__)

/// Opens the body of the scheme's dequantizer: `(Value quantized, RewriteContext& context) const`.
#define QUADRANT_DEQUANTIZER(scheme_type) ::quadrant::Expected<::quadrant::Value> scheme_type::leave

/// Opens the body in which a scheme's methods are listed.
#define QUADRANT_METHODS(scheme_type) void scheme_type::Registration::run()

// Which method answers for which operation. Built once, then immutable.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/engine/declare/method.hpp"
#include "quadrant/engine/declare/scheme.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// One scheme or several, with their methods. Immutable; share it between threads. A handle: copies
/// are cheap, and what refers to methods stays good while one of them lives.
class Registry {
 public:
  /// Several schemes for one run, in which each value takes one of them or none. Two of one name
  /// are an error. The order does not matter: schemes are numbered by name.
  ///
  ///     auto both = Registry::join(std::vector{four_bits.renamed("int4"),
  ///                                            eight_bits.renamed("int8")});
  [[nodiscard]] static Expected<Registry> join(std::span<const Registry> registries);

  [[nodiscard]] std::uint32_t scheme_count() const noexcept {
    return static_cast<std::uint32_t>(entries_.size());
  }
  [[nodiscard]] const Scheme& scheme(std::uint32_t index = 0) const noexcept;
  /// What the scheme is called in this run, in plans and explanations: its own name, unless it was
  /// `renamed`.
  [[nodiscard]] std::string_view name(std::uint32_t index = 0) const noexcept {
    return entries_[index].name;
  }
  /// The same methods under another name, so that one scheme can be in a run several times, with
  /// other options each. For a registry of one scheme.
  [[nodiscard]] Registry renamed(std::string name) const;
  /// One of the schemes alone, under the name that it has here.
  [[nodiscard]] Registry only(std::uint32_t index) const;
  /// Null for an operation that the scheme does not know: its results stay float.
  [[nodiscard]] const QuantizationMethod* find(std::string_view op,
                                               std::uint32_t scheme = 0) const noexcept;
  /// The same for a node, of which the operation may be one that only the graph's own rows know
  /// (`GraphView::operations`): its method is the first of those that `add_where` added for it.
  [[nodiscard]] const QuantizationMethod* find(NodeRef node,
                                               std::uint32_t scheme = 0) const noexcept;
  /// Sorted by operation.
  [[nodiscard]] std::vector<const QuantizationMethod*> methods(std::uint32_t scheme = 0) const;
  /// The names of the schemes, `a+b`.
  [[nodiscard]] std::string names() const;

 private:
  friend class RegistryBuilder;
  struct Contents;
  struct Entry {
    std::string name;
    std::shared_ptr<const Contents> contents;
  };
  explicit Registry(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  std::vector<Entry> entries_;
};

/// Collects a scheme and its methods; `freeze` makes the Registry. The macros open functions that
/// call `add`, the one way in: nothing registers itself behind your back.
class RegistryBuilder {
 public:
  /// A builder with everything that QUADRANT_METHODS lists for `S`.
  template <std::derived_from<Scheme> S>
  [[nodiscard]] static RegistryBuilder of(S scheme) {
    RegistryBuilder builder(std::make_unique<S>(std::move(scheme)));
    typename S::Registration(builder).run();
    return builder;
  }

  explicit RegistryBuilder(std::unique_ptr<const Scheme> scheme);
  RegistryBuilder(RegistryBuilder&&) noexcept = default;
  RegistryBuilder& operator=(RegistryBuilder&&) noexcept = default;
  RegistryBuilder(const RegistryBuilder&) = delete;
  RegistryBuilder& operator=(const RegistryBuilder&) = delete;
  ~RegistryBuilder() = default;

  /// Several methods for one operation are an error that `freeze` reports, with their places; but
  /// one of the scheme's own replaces one that it inherits.
  void add(std::string_view op, std::unique_ptr<QuantizationMethod> method);

  /// For the graph's own operations of which `holds` is true: of those that hold, the first that
  /// was added, the scheme's own before those that it inherits. Its `op()` is empty.
  void add_of_rows(bool (*holds)(const Operation& row), std::unique_ptr<QuantizationMethod> method);

  /// What `list` adds is inherited.
  void inherit(FunctionRef<void()> list);

  /// The order in which methods were added does not matter.
  [[nodiscard]] Expected<Registry> freeze() &&;

 private:
  [[nodiscard]] std::string describe_duplicates() const;

  struct Collected;
  std::shared_ptr<Collected> collected_;
};

namespace detail {

template <class M>
struct ParametersOf {
  static_assert(
      requires { typename M::Parameters; },
      "add_parameterized<Method, Op>(parameters) is for methods opened with "
      "QUADRANT_PARAMETERIZED; use add<Method>()");
  using Type = typename M::Parameters;
};

}  // namespace detail

/// The functions that the body of QUADRANT_METHODS calls. It also adds methods of your own to a
/// scheme that has its list already:
///
///     RegistryBuilder builder = RegistryBuilder::of(WeightOnly());
///     WeightOnly::Registration(builder).add<MyMethod>();
///     auto registry = std::move(builder).freeze();
template <class S>
class MethodRegistration {
 public:
  explicit MethodRegistration(RegistryBuilder& builder) noexcept : builder_(&builder) {}

  template <class M>
  void add() {
    check<M>();
    static_assert(
        requires { typename M::Declaration::OpType; },
        "add<Method>() is for methods of one operation, opened with QUADRANT_QUANTIZER "
        "or QUADRANT_CONSUMER; use add_parameterized<Method, Op>(parameters)");
    check_operation<typename M::Declaration::OpType>();
    builder_->add(M::Declaration::OpType::kind, std::make_unique<M>());
  }
  /// One class for several operations, each with its parameters.
  template <class M, class Op>
  void add_parameterized(typename detail::ParametersOf<M>::Type parameters) {
    check_operation<Op>();
    add_parameterized<M>(Op::kind, std::move(parameters));
  }
  /// The same for an operation that a table names.
  template <class M>
  void add_parameterized(std::string_view op, typename detail::ParametersOf<M>::Type parameters) {
    check<M>();
    static_assert(std::constructible_from<M, typename M::Parameters>,
                  "a parameterized method's class needs `using <method>Base::<method>Base;`, the "
                  "constructor that takes the parameters");
    builder_->add(op, std::make_unique<M>(std::move(parameters)));
  }

  /// The same for all operations of which `holds` is true: those of the library's table, and those
  /// that a graph's own rows add (`GraphView::operations`), so that a scheme knows them by what
  /// they are. Several such conditions of a scheme should exclude one another.
  ///
  ///     add_where<MoveMethod>([](const Operation& row) { return row.move != nullptr; });
  template <class M>
  void add_where(bool (*holds)(const Operation& row),
                 const typename detail::ParametersOf<M>::Type& parameters = {}) {
    for (const Operation& row : operations()) {
      if (holds(row)) add_parameterized<M>(row.kind, parameters);
    }
    builder_->add_of_rows(holds, std::make_unique<M>(parameters));
  }

  /// All methods of a scheme that this one is derived from: its moves, products and lookups, with
  /// what this one overrides. Methods that this one adds for an operation, before or after, take
  /// the place of those.
  ///
  ///     QUADRANT_METHODS(MyFormat) { add_all_of<WeightOnly>(); }
  template <class Base>
  void add_all_of() {
    static_assert(std::derived_from<S, Base> && !std::same_as<S, Base>,
                  "add_all_of<Base>() takes the methods of a scheme that this one is derived from");
    builder_->inherit([&] { typename Base::Registration(*builder_).run(); });
  }

 private:
  template <class M>
  static constexpr void check() {
    static_assert(std::derived_from<M, QuantizationMethod>,
                  "a method is a class opened with one of the QUADRANT_ macros");
    if constexpr (std::derived_from<M, QuantizationMethod>) {
      static_assert(std::derived_from<S, typename M::SchemeType>,
                    "this method asks a scheme that the list's scheme is not derived from");
      detail::check_hooks<M>();
    }
  }

  template <class Op>
  static constexpr void check_operation() {
    static_assert(
        requires { std::string_view(Op::kind); },
        "an operation is a type with a static member `kind`, its name");
  }

  RegistryBuilder* builder_;
};

}  // namespace quadrant::inline v0

// Which method answers for which operation. Built once, then immutable.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quadrant/engine/method.hpp"
#include "quadrant/engine/scheme.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// A scheme and its methods. Immutable; share it between threads. A handle: copies are cheap, and
/// what refers to methods stays good while one of them lives.
class Registry {
 public:
  [[nodiscard]] const Scheme& scheme() const noexcept { return *contents_->scheme; }
  /// Null for an operation that the scheme does not know: its results stay float.
  [[nodiscard]] const QuantizationMethod* find(std::string_view op) const noexcept;
  /// Sorted by operation.
  [[nodiscard]] std::vector<const QuantizationMethod*> methods() const;

 private:
  friend class RegistryBuilder;
  struct StringHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  struct Contents {
    std::unique_ptr<const Scheme> scheme;
    std::unordered_map<std::string, std::unique_ptr<QuantizationMethod>, StringHash,
                       std::equal_to<>>
        methods;
  };
  explicit Registry(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

  std::shared_ptr<const Contents> contents_;
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

  /// Two methods for one operation are reported by `freeze`.
  void add(std::string_view op, std::unique_ptr<QuantizationMethod> method);

  /// The order in which methods were added does not matter.
  [[nodiscard]] Expected<Registry> freeze() &&;

 private:
  std::shared_ptr<Registry::Contents> contents_;
  std::string duplicates_;
};

/// What the body of QUADRANT_METHODS calls.
class MethodRegistration {
 public:
  explicit MethodRegistration(RegistryBuilder& builder) noexcept : builder_(&builder) {}

  template <std::derived_from<QuantizationMethod> M>
  void add() {
    builder_->add(M::Declaration::OpType::kind, std::make_unique<M>());
  }
  /// One class for several operations, each with its parameters.
  template <std::derived_from<QuantizationMethod> M, class Op>
  void add_parameterized(typename M::Parameters parameters) {
    builder_->add(Op::kind, std::make_unique<M>(std::move(parameters)));
  }

 private:
  RegistryBuilder* builder_;
};

}  // namespace quadrant::inline v0

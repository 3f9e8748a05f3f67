// What a scheme computes once a run over the whole graph, for all of its hooks.
#pragma once

#include <memory>
#include <utility>

namespace quadrant::inline v0 {

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

}  // namespace quadrant::inline v0

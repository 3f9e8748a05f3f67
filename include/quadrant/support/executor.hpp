// How the library runs pieces of work: callbacks, and loops on threads that the caller lends.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace quadrant::inline v0 {

// A non-owning reference to something callable: for callbacks that are used before the call
// returns.

template <class Signature>
class FunctionRef;

/// Two pointers wide; never allocates. The callable must outlive the reference.
template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             std::is_invocable_r_v<Result, Callable&, Args...>)
  FunctionRef(
      Callable&& callable) noexcept  // NOLINT: implicit, like a reference
                                     // Cast back below to what it was, const or not.
                                     // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        // NOLINTNEXTLINE(performance-unnecessary-value-param): as `Result(Args...)` says
        call_([](void* object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(
              std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  Result (*call_)(void*, Args...);
};

// How the library runs independent pieces of work. It owns no threads: the caller lends them.

/// Runs a loop whose iterations are independent. Results never depend on the executor.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  /// Calls `body(0) ... body(count - 1)`, each once, in any order, possibly at the same time, and
  /// returns when all have returned.
  virtual void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) = 0;
};

/// The default: runs the loop in the calling thread, in order.
class SerialExecutor final : public Executor {
 public:
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override;
};

}  // namespace quadrant::inline v0

// A bound on the memory that tensors take together.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// So many bytes, for the tensors that threads make inside a `Scope`, as long as these live: one
/// for which there is not enough left is refused before it takes any. A handle: copies share the
/// bytes, and tensors keep what they came from.
class TensorMemory {
 public:
  explicit TensorMemory(std::uint64_t bytes) : state_(std::make_shared<State>(bytes)) {}

  [[nodiscard]] std::uint64_t limit() const noexcept { return state_->limit; }
  /// What tensors that live take.
  [[nodiscard]] std::uint64_t used() const noexcept { return state_->used.load(); }
  /// Whether one was refused.
  [[nodiscard]] bool was_short() const noexcept { return state_->was_short.load(); }

  /// False, and nothing is taken, where there are not so many left.
  [[nodiscard]] bool take(std::uint64_t bytes) const noexcept;
  void give_back(std::uint64_t bytes) const noexcept { state_->used.fetch_sub(bytes); }

  /// While it lives, tensors that this thread makes take from `memory`, and from no other.
  class Scope {
   public:
    explicit Scope(const TensorMemory& memory) noexcept;
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const TensorMemory* outer_;
  };
  /// Of the innermost scope of this thread; null outside of all.
  [[nodiscard]] static const TensorMemory* current() noexcept;

 private:
  struct State {
    explicit State(std::uint64_t bytes) : limit(bytes) {}
    const std::uint64_t limit;
    std::atomic<std::uint64_t> used{0};
    std::atomic<bool> was_short{false};
  };
  std::shared_ptr<State> state_;
};

/// Bytes that a kernel has beside its tensors, taken from the memory of its thread as long as this
/// lives: for tables that can be many times as large as the result.
class ScratchMemory {
 public:
  /// `impossible` where there are not so many left.
  [[nodiscard]] static Expected<ScratchMemory> take(std::uint64_t bytes);
  ScratchMemory(ScratchMemory&& other) noexcept
      : memory_(std::exchange(other.memory_, {})), bytes_(other.bytes_) {}
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;
  ScratchMemory& operator=(ScratchMemory&&) = delete;
  ~ScratchMemory() {
    if (memory_) memory_->give_back(bytes_);
  }

 private:
  ScratchMemory(std::optional<TensorMemory> memory, std::uint64_t bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}

  std::optional<TensorMemory> memory_;  // none where there is no bound
  std::uint64_t bytes_ = 0;
};

}  // namespace quadrant::inline v0

// Processes of one job, which run the same calls on parts of the work. The library starts none and
// knows no protocol: a program that has some (by an adapter of MPI, say) lends them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// One of the ranks, as it sees itself and the others. All of them make the same calls in the same
/// order, each from one thread; what they get is the same on all. An error of one is an error of
/// all: the others get it at their next call, with the name of the rank if not all have it, and it
/// is the answer to every call that follows. So a rank that fails between two calls must make one
/// more, `agree`, lest the others wait for it.
///
/// Messages go along a binary tree: of b bytes each, a rank sends and receives b log2(size) at
/// most, each way.
class Ranks {
 public:
  using Merge = FunctionRef<Expected<std::string>(std::string mine, std::string theirs)>;
  using Add = FunctionRef<Expected<void>(std::string theirs)>;
  using Print = FunctionRef<std::string()>;

  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  [[nodiscard]] virtual std::size_t rank() const noexcept = 0;  ///< from 0
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  [[nodiscard]] bool is_first() const noexcept { return rank() == 0; }
  /// For people: `rank 2 of 4`, and where it runs.
  [[nodiscard]] std::string name() const;
  /// How long others may be waited for, in seconds.
  virtual void set_patience(double seconds) = 0;

  /// The bytes of all ranks, merged: `mine` are of lower ranks than `theirs`. `merge` is called on
  /// some ranks alone; its errors are errors of all.
  [[nodiscard]] Expected<std::string> combine(Expected<std::string> own, Merge merge);
  /// The same of what is more than bytes: `add` is called on some ranks, with bytes of higher ones,
  /// lower ones first; `print`, of what that comes to, on all that have no error, once and last.
  [[nodiscard]] Expected<std::string> combine(Expected<void> own, Add add, Print print);
  /// Those of the first rank; an error of any is one of all.
  [[nodiscard]] Expected<std::string> of_first(Expected<std::string> own);
  /// The bytes of all ranks, in their order.
  [[nodiscard]] Expected<std::vector<std::string>> gather(Expected<std::string> own);
  /// That all have got here without an error.
  [[nodiscard]] Expected<void> agree(Expected<void> own);
  /// That all have the same: `usage` where they have not; `what` that is, for the message.
  [[nodiscard]] Expected<void> check_same(std::string_view what, std::string_view own);

  /// Whether others could not be reached, or did not come, and may still be at work: nothing can be
  /// asked of them any more.
  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }
  /// Whether a call has failed, on all ranks.
  [[nodiscard]] bool has_failed() const noexcept { return failure_.has_value(); }

 protected:
  /// Both wait for the other side, as long as patience lasts; then, and where it is gone, they
  /// fail. `has_failed`: this rank has an error to tell, and does not wait long. `bytes` of a call
  /// that failed stay as they are as long as this lives: they may still be under way.
  [[nodiscard]] virtual Expected<void> send(std::size_t to, std::string_view bytes,
                                            bool has_failed) = 0;
  [[nodiscard]] virtual Expected<std::string> receive(std::size_t from, bool has_failed) = 0;
  /// Where it runs; empty: that does not matter.
  [[nodiscard]] virtual std::string host() const { return {}; }

 private:
  [[nodiscard]] Expected<void> exchange(bool has_failed, FunctionRef<void(std::string theirs)> add,
                                        Print print);

  std::string message_;  ///< of the call that is made
  std::optional<Error> failure_;
  bool is_broken_ = false;
};

/// Whether this is the one that writes and prints: the first, or alone.
[[nodiscard]] inline bool is_first(const Ranks* ranks) noexcept {
  return ranks == nullptr || ranks->is_first();
}

}  // namespace quadrant::inline v0

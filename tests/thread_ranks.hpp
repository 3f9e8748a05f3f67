// Ranks that are threads of one process.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "quadrant/support/executor.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::test {

/// Between all ranks; messages lie in it until they are taken.
class Wires {
 public:
  void put(std::size_t from, std::size_t to, std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    messages_[{from, to}].emplace_back(bytes);
    sent_ += bytes.size();
    changed_.notify_all();
  }
  Expected<std::string> take(std::size_t from, std::size_t to, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    auto& waiting = messages_[{from, to}];
    if (!changed_.wait_for(lock, patience, [&] { return !waiting.empty(); })) {
      return fail(ErrorCode::io, "rank " + std::to_string(from) + " did not answer");
    }
    std::string bytes = std::move(waiting.front());
    waiting.pop_front();
    return bytes;
  }
  [[nodiscard]] std::size_t sent() const { return sent_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<std::string>> messages_;
  std::size_t sent_ = 0;
};

class ThreadRank final : public Ranks {
 public:
  ThreadRank(Wires& wires, std::size_t rank, std::size_t size)
      : wires_(wires), rank_(rank), size_(size) {}

  [[nodiscard]] std::size_t rank() const noexcept override { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  void set_patience(double seconds) override {
    patience_ = std::chrono::milliseconds(static_cast<int>(seconds * 1000));
  }

 private:
  Expected<void> send(std::size_t to, std::string_view bytes, bool /*has_failed*/) override {
    wires_.put(rank_, to, bytes);
    return {};
  }
  Expected<std::string> receive(std::size_t from, bool /*has_failed*/) override {
    return wires_.take(from, rank_, patience_);
  }

  Wires& wires_;
  std::size_t rank_;
  std::size_t size_;
  std::chrono::milliseconds patience_ = std::chrono::seconds(60);
};

/// What `call` gives on each of `size` ranks, in their order.
template <class Call>
auto on_ranks(std::size_t size, Call call) {
  using Result = decltype(call(std::declval<Ranks&>()));
  Wires wires;
  std::vector<std::unique_ptr<Result>> results(size);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRank own(wires, rank, size);
      results[rank] = std::make_unique<Result>(call(own));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<Result> made;
  for (auto& result : results) made.push_back(std::move(*result));
  return made;
}

}  // namespace quadrant::test

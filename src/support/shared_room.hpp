// Memory that threads share, of which each takes some for a while.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>

namespace quadrant::inline v0 {

/// So many bytes. Who finds no room waits until others have let go, but for a thread that has some
/// already: an executor may hand it more work while it waits for the first, and it would wait for
/// itself.
class SharedRoom {
 public:
  explicit SharedRoom(std::uint64_t bytes) : bytes_(bytes), free_(bytes) {}

  /// What one has taken, until it goes.
  class Share {
   public:
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    /// All there is, where that is less than `bytes`.
    Share(SharedRoom& room, std::uint64_t bytes)
        : room_(room), bytes_(std::min(bytes, room.bytes_)), holder_(std::this_thread::get_id()) {
      std::unique_lock lock(room_.mutex_);
      if (room_.holders_.contains(holder_)) bytes_ = 0;
      room_.freed_.wait(lock, [this] { return bytes_ <= room_.free_; });
      room_.free_ -= bytes_;
      room_.holders_.insert(holder_);
    }
    ~Share() {
      const std::lock_guard lock(room_.mutex_);
      room_.free_ += bytes_;
      room_.holders_.erase(room_.holders_.find(holder_));
      room_.freed_.notify_all();
    }

   private:
    SharedRoom& room_;
    std::uint64_t bytes_;
    std::thread::id holder_;
  };

 private:
  std::uint64_t bytes_;
  std::mutex mutex_;
  std::uint64_t free_;                      // guarded by mutex_
  std::multiset<std::thread::id> holders_;  // guarded by mutex_
  std::condition_variable freed_;
};

}  // namespace quadrant::inline v0

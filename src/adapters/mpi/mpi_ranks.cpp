#include "adapters/mpi/mpi_ranks.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

namespace quadrant::inline v0 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int tag = 0;
// Of one message; counts of MPI are ints.
constexpr std::size_t most_at_once = std::size_t{1} << 30U;
// How long a rank that has failed waits for others to come and hear of it.
constexpr double short_patience = 3;

class Mpi final : public MpiRanks {
 public:
  explicit Mpi(MPI_Comm communicator) : communicator_(communicator) {
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  }

  [[nodiscard]] std::size_t rank() const noexcept override {
    return static_cast<std::size_t>(rank_);
  }
  [[nodiscard]] std::size_t size() const noexcept override {
    return static_cast<std::size_t>(size_);
  }
  void set_patience(double seconds) override { patience_ = seconds; }

  void finish() override {
    MPI_Comm_free(&communicator_);
    MPI_Finalize();
  }

  [[noreturn]] void abort(int code) override {
    constexpr unsigned seconds = 10;
    ::alarm(seconds);  // where MPI cannot even reach its own launcher
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  [[nodiscard]] Expected<void> send(std::size_t to, std::string_view bytes,
                                    bool has_failed) override;
  [[nodiscard]] Expected<std::string> receive(std::size_t from, bool has_failed) override;
  [[nodiscard]] std::string host() const override {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int size = 0;
    MPI_Get_processor_name(name.data(), &size);
    return {name.data(), static_cast<std::size_t>(size)};
  }
  [[nodiscard]] Expected<void> wait(MPI_Request request, std::size_t other, bool has_failed) const;
  [[nodiscard]] static Expected<void> check(int status, std::size_t other);

  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 1;
  double patience_ = 3600;
  // Not of the calls that wait: a request that they give up stays with MPI, which cannot take back
  // what is sent, until the job ends.
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_coming_ = 0;
  std::string coming_;
};

Expected<void> Mpi::check(int status, std::size_t other) {
  if (status == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int size = 0;
  MPI_Error_string(status, text.data(), &size);
  return fail(ErrorCode::io,
              fmt::format("cannot reach rank {}: {}", other, std::string(text.data())));
}

// Not by MPI_Wait, which waits for ever, and keeps a core busy meanwhile.
Expected<void> Mpi::wait(MPI_Request request, std::size_t other, bool has_failed) const {
  using namespace std::chrono_literals;
  const double patience = has_failed ? std::min(patience_, short_patience) : patience_;
  const Clock::time_point start = Clock::now();
  Clock::duration pause = 0us;
  while (true) {
    int is_done = 0;
    QUADRANT_CHECK(check(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), other));
    if (is_done != 0) return {};
    const Clock::duration waited = Clock::now() - start;
    if (std::chrono::duration<double>(waited).count() > patience) break;
    if (waited < 200us) {
      std::this_thread::yield();
      continue;
    }
    pause = std::min<Clock::duration>(pause + 20us, 1ms);
    std::this_thread::sleep_for(pause);
  }
  return fail(
      ErrorCode::io,
      fmt::format("rank {} did not answer for {:g} s: it hangs, cannot be reached, or needs "
                  "more time than ranks wait for one another",
                  other, patience));
}

Expected<void> Mpi::send(std::size_t to, std::string_view bytes, bool has_failed) {
  const auto put = [&](const void* data, std::size_t size) -> Expected<void> {
    MPI_Request request = MPI_REQUEST_NULL;
    QUADRANT_CHECK(check(MPI_Isend(data, static_cast<int>(size), MPI_BYTE, static_cast<int>(to),
                                   tag, communicator_, &request),
                         to));
    return wait(request, to, has_failed);
  };
  bytes_sent_ = bytes.size();
  QUADRANT_CHECK(put(&bytes_sent_, sizeof(bytes_sent_)));
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, most_at_once);
    QUADRANT_CHECK(put(part.data(), part.size()));
    bytes.remove_prefix(part.size());
  }
  return {};
}

Expected<std::string> Mpi::receive(std::size_t from, bool has_failed) {
  const auto get = [&](void* data, std::size_t size) -> Expected<void> {
    MPI_Request request = MPI_REQUEST_NULL;
    QUADRANT_CHECK(check(MPI_Irecv(data, static_cast<int>(size), MPI_BYTE, static_cast<int>(from),
                                   tag, communicator_, &request),
                         from));
    return wait(request, from, has_failed);
  };
  QUADRANT_CHECK(get(&bytes_coming_, sizeof(bytes_coming_)));
  coming_.assign(bytes_coming_, '\0');
  for (std::size_t at = 0; at < coming_.size(); at += most_at_once) {
    QUADRANT_CHECK(get(coming_.data() + at, std::min(most_at_once, coming_.size() - at)));
  }
  return std::exchange(coming_, {});
}

}  // namespace

Expected<std::unique_ptr<MpiRanks>> MpiRanks::start(int& argc, char**& argv) {
  // It waits for all ranks, for ever where one cannot be reached.
  constexpr unsigned longest_start = 600;
  ::alarm(longest_start);
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    return fail(ErrorCode::impossible, "MPI cannot be started");
  }
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  ::alarm(0);
  return std::make_unique<Mpi>(copy);
}

}  // namespace quadrant::inline v0

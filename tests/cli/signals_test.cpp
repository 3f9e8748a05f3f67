#include "cli/signals.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <new>
#include <string>

#include "cli/exit_code.hpp"
#include "temporary_folder.hpp"

using namespace quadrant;

namespace {

struct Ended {
  int status = 0;
  std::string told;  ///< on standard error
};

// How a process ends that calls `body` after handle_signals.
template <class Body>
Ended in_process(Body body) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    cli::handle_signals();
    ::_exit(body());
  }
  ::close(ends[1]);
  Ended ended;
  std::array<char, 256> part{};
  for (ssize_t size = 0; (size = ::read(ends[0], part.data(), part.size())) > 0;) {
    ended.told.append(part.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  REQUIRE(::waitpid(child, &ended.status, 0) == child);
  return ended;
}

}  // namespace

TEST_CASE("who looks at a page that its file no longer has is told so") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("a", std::string(20000, 'a'));
  const Ended ended = in_process([&] {
    const int file = ::open(path.c_str(), O_RDWR);
    void* const pages = ::mmap(nullptr, 20000, PROT_READ, MAP_SHARED, file, 0);
    if (pages == MAP_FAILED || ::ftruncate(file, 100) != 0) return 99;
    return static_cast<const volatile char*>(pages)[15000] == 'a' ? 98 : 97;
  });
  REQUIRE(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == static_cast<int>(cli::exit_code(ErrorCode::io)));
  CHECK(ended.told ==
        "quadrant: a file became shorter, or could not be read, while it was in use\n");
}

TEST_CASE("Ctrl-C asks for a stop, and ends the process the second time") {
  const auto interrupted = [](int times) {
    return in_process([times] {
      std::signal(SIGINT, SIG_DFL);  // the test program's handler says more
      const cli::StopOnInterrupt interrupt;
      for (int i = 0; i < times; ++i) {
        ::kill(::getpid(), SIGINT);
        while (!interrupt.token().stop_requested()) ::usleep(1000);
        ::usleep(200'000);  // one that waits already would count once
      }
      return 42;
    });
  };
  const Ended once = interrupted(1);
  REQUIRE(WIFEXITED(once.status));
  CHECK(WEXITSTATUS(once.status) == 42);
  const Ended twice = interrupted(2);
  REQUIRE(WIFSIGNALED(twice.status));
  CHECK(WTERMSIG(twice.status) == SIGINT);
}

TEST_CASE("Ctrl-C that is ignored stays ignored, and what was blocked stays blocked") {
  const Ended ignored = in_process([] {
    std::signal(SIGINT, SIG_IGN);
    const cli::StopOnInterrupt interrupt;
    ::kill(::getpid(), SIGINT);
    ::usleep(200'000);
    return interrupt.token().stop_requested() ? 98 : 42;
  });
  REQUIRE(WIFEXITED(ignored.status));
  CHECK(WEXITSTATUS(ignored.status) == 42);
  const Ended blocked = in_process([] {
    std::signal(SIGINT, SIG_DFL);
    sigset_t mask{};
    ::sigaddset(&mask, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &mask, nullptr);
    {
      const cli::StopOnInterrupt interrupt;
    }
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return ::sigismember(&mask, SIGINT) == 1 ? 42 : 98;
  });
  REQUIRE(WIFEXITED(blocked.status));
  CHECK(WEXITSTATUS(blocked.status) == 42);
}

TEST_CASE("memory that is missing in a destructor is no defect") {
  struct Hungry {
    Hungry() = default;
    Hungry(const Hungry&) = delete;
    Hungry& operator=(const Hungry&) = delete;
    ~Hungry() { throw_bad_alloc(); }
    static void throw_bad_alloc() { throw std::bad_alloc(); }
  };
  const Ended ended = in_process([] {
    const Hungry hungry;
    return 98;
  });
  REQUIRE(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == static_cast<int>(cli::exit_code(ErrorCode::io)));
  CHECK(ended.told == "quadrant: not enough memory\n");
}

TEST_CASE("a write beyond the size that files may have fails like any other") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("a", "");
  const Ended ended = in_process([&] {
    const rlimit limit{1000, 1000};
    const int file = ::open(path.c_str(), O_RDWR);
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 99;
    return ::pwrite(file, "a", 1, 5000) < 0 && errno == EFBIG ? 42 : 98;
  });
  REQUIRE(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == 42);
}

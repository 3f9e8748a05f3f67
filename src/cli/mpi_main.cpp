// quadrant-mpi: the command on several ranks, which mpirun or a scheduler starts.
#include <cstdlib>

#include "adapters/mpi/mpi_ranks.hpp"
#include "cli/exit_code.hpp"
#include "closed_streams.hpp"
#include "run.hpp"
#include "signals.hpp"

// Streams of C are what the command prints to.
// NOLINTBEGIN(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc,cppcoreguidelines-pro-type-vararg)
namespace {

/// What a rank prints that is not the first, to be shown where it ends the job alone.
class Kept {
 public:
  Kept() : stream_(::open_memstream(&text_, &size_)) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    if (stream_ != nullptr) std::fclose(stream_);
    std::free(text_);
  }
  [[nodiscard]] std::FILE* stream() const noexcept { return stream_; }
  void show() const {
    std::fflush(stream_);
    std::fwrite(text_, 1, size_, stderr);
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* stream_;
};

int run_on(quadrant::MpiRanks& ranks, int argc, char** argv) {
  using quadrant::cli::ExitCode;
  const Kept errors;
  std::FILE* const nowhere = std::fopen("/dev/null", "w");
  if (errors.stream() == nullptr || nowhere == nullptr) {
    ranks.abort(static_cast<int>(ExitCode::input_output));
  }
  const bool is_first = ranks.is_first();
  const int code = quadrant::cli::run(argc, argv, is_first ? stdout : nowhere,
                                      is_first ? stderr : errors.stream(), nullptr, &ranks);
  const bool is_alone = !ranks.has_failed() && (code == static_cast<int>(ExitCode::defect) ||
                                                code == static_cast<int>(ExitCode::input_output));
  if (ranks.is_broken() || is_alone) {
    if (!is_first) errors.show();
    std::fflush(nullptr);
    ranks.abort(code);
  }
  std::fflush(nullptr);
  std::fclose(nowhere);
  ranks.finish();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  quadrant::cli::hold_closed_streams();
  const auto ranks = quadrant::MpiRanks::start(argc, argv);
  if (!ranks) {
    std::fprintf(stderr, "quadrant-mpi: %s\n", to_string(ranks.error()).c_str());
    return static_cast<int>(quadrant::cli::exit_code(ranks.error().code));
  }
  quadrant::cli::handle_signals();
  return run_on(**ranks, argc, argv);
}
// NOLINTEND(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc,cppcoreguidelines-pro-type-vararg)

// Ranks of MPI: https://www.mpi-forum.org
#pragma once

#include <memory>

#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

/// The ranks of this job (MPI_COMM_WORLD, of which it takes a copy). One at a time in a process,
/// used by the thread that made it.
class MpiRanks : public Ranks {
 public:
  /// Starts MPI, which the process must not have done. Arguments of MPI's own are taken off.
  /// `impossible` where it does not start.
  [[nodiscard]] static Expected<std::unique_ptr<MpiRanks>> start(int& argc, char**& argv);

  /// Ends MPI, and with that waits for the others, which end it, too.
  virtual void finish() = 0;
  /// Ends all ranks, also those that do not answer, with this exit code.
  [[noreturn]] virtual void abort(int code) = 0;
};

}  // namespace quadrant::inline v0

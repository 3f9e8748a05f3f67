#include "closed_streams.hpp"
#include "run.hpp"
#include "signals.hpp"

int main(int argc, char** argv) {
  quadrant::cli::hold_closed_streams();
  quadrant::cli::handle_signals();
  return quadrant::cli::run(argc, argv, stdout, stderr);
}

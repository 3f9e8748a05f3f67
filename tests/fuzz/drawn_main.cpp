// Runs a target on inputs that are drawn evenly, without libFuzzer: ten times as many in the same
// time on a library built for speed, and the same ones on each machine.
// usage: drawn_NAME RUNS FOLDER: an input that ends the process is left in FOLDER, for fuzz_NAME
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

std::vector<std::uint8_t> input;  // NOLINT: a handler of signals has no other way to it
std::string finding;              // NOLINT

extern "C" void keep_input(int signal) {
  if (std::FILE* file = std::fopen(finding.c_str(), "wb")) {
    (void)std::fwrite(input.data(), 1, input.size(), file);
    (void)std::fclose(file);
    (void)std::fprintf(stderr, "signal %d; the input is kept in %s\n", signal, finding.c_str());
  }
  std::_Exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    (void)std::fprintf(stderr, "usage: %s RUNS FOLDER\n", argv[0]);
    return 2;
  }
  const unsigned long runs = std::strtoul(argv[1], nullptr, 10);
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) {
    (void)std::signal(signal, keep_input);
  }
  constexpr std::uint64_t most_bytes = 256;
  std::mt19937_64 random(1);  // NOLINT: the same inputs each time
  for (unsigned long run = 0; run < runs; ++run) {
    input.resize(random() % (most_bytes + 1));
    for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random());
    finding = std::string(argv[2]) + "/drawn-" + std::to_string(run);
    (void)LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  (void)std::printf("%lu runs\n", runs);
  return 0;
}

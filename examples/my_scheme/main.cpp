// `quadrant` with one scheme more: every subcommand serves it.
#include <cstdio>

#include "command.hpp"
#include "quadrant/command.hpp"

int main(int argc, char** argv) {
  quadrant::SchemeTable schemes;  // the library's
  if (const auto added = schemes.add(my::power_of_two()); !added) {
    std::fputs((quadrant::to_string(added.error()) + '\n').c_str(), stderr);
    return 1;
  }
  return quadrant::run_command(argc, argv, &schemes);
}

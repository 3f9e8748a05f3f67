// `quadrant` with one scheme more: every subcommand serves it.
#include "command.hpp"
#include "quadrant/command.hpp"

int main(int argc, char** argv) { return quadrant::run_command(argc, argv, {my::power_of_two()}); }

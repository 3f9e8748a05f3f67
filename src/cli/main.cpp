#include "quadrant/command.hpp"

int main(int argc, char** argv) { return quadrant::run_command(argc, argv); }

#include "run.hpp"

int main(int argc, char** argv) { return quadrant::cli::run(argc, argv, stdout, stderr); }

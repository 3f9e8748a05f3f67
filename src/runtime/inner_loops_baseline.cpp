// The inner loops for every processor.
#define QUADRANT_INNER_LOOPS baseline
#include "runtime/inner_loops_eigen.hpp"

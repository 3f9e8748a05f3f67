// The inner loops for x86 processors with AVX2 and FMA. CMakeLists.txt says so to the compiler.
#define QUADRANT_INNER_LOOPS avx2
#define Eigen quadrant_eigen_avx2
#include "runtime/inner_loops_eigen.hpp"

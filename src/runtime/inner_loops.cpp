#include "runtime/inner_loops.hpp"

namespace quadrant::inline v0 {

#ifdef QUADRANT_AVX2_LOOPS

namespace {
bool has_avx2() noexcept { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
}  // namespace

template <>
const InnerLoops<float>& inner_loops() noexcept {
  return has_avx2() ? avx2::float_loops : baseline::float_loops;
}
template <>
const InnerLoops<double>& inner_loops() noexcept {
  return has_avx2() ? avx2::double_loops : baseline::double_loops;
}

#else

template <>
const InnerLoops<float>& inner_loops() noexcept {
  return baseline::float_loops;
}
template <>
const InnerLoops<double>& inner_loops() noexcept {
  return baseline::double_loops;
}

#endif

}  // namespace quadrant::inline v0

// The loops that most of the time goes into, compiled for several kinds of processors.
#pragma once

#include <cstdint>

#include "runtime/gemm.hpp"

namespace quadrant::inline v0 {

/// T: float, double. All functions are pure and give the same on every call with the same numbers;
/// processors may round differently.
template <class T>
struct InnerLoops {
  /// out += factor * a * b, as in gemm.hpp; nothing is empty.
  void (*add_product)(const MatrixView<const T>& a, const MatrixView<const T>& b, T factor,
                      const MatrixView<T>& out);

  /// out[i] = sum over t < taps of weights[t] * source[offsets[t] + i], for all i < length; also
  /// for those up to the next multiple of `padding`, which have to be there.
  void (*weighted_sum)(const T* source, const std::int64_t* offsets, const T* weights,
                       std::int64_t taps, std::int64_t length, T* out);
  static constexpr std::int64_t padding = 64;

  /// y[i] = 1 / (1 + exp(-x[i])) for all i < count. NaN stays.
  void (*sigmoid)(const T* x, std::int64_t count, T* y);
};

/// Those for the processor that this runs on.
template <class T>
[[nodiscard]] const InnerLoops<T>& inner_loops() noexcept;

// What there is to choose from. The last one is compiled for x86 alone: see CMakeLists.txt.
namespace baseline {
extern const InnerLoops<float> float_loops;
extern const InnerLoops<double> double_loops;
}  // namespace baseline
namespace avx2 {
extern const InnerLoops<float> float_loops;
extern const InnerLoops<double> double_loops;
}  // namespace avx2

}  // namespace quadrant::inline v0

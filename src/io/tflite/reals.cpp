#include "io/tflite/reals.hpp"

#include "io/tflite/failure.hpp"
#include "numerics/reals.hpp"

namespace quadrant::inline v0::tflite {

std::vector<double> reals_of(const Constant& constant, const Quantization& quantization) {
  if (quantization) return value_of(read_reals(constant, quantization));
  if (!is_integer(constant.element())) return value_of(read_reals(constant));
  const auto integers = value_of(read_integers(constant, constant.element_count()));
  return {integers.begin(), integers.end()};
}

}  // namespace quadrant::inline v0::tflite

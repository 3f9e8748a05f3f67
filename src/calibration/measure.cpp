#include "calibration/measure.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "calibration/reals.hpp"

namespace quadrant::inline v0 {

Expected<void> measure_agreement(std::string_view name, const Tensor& signal,
                                 const Tensor& approximation, Agreement& agreement) {
  if (!(signal.shape() == approximation.shape())) {
    return fail(ErrorCode::impossible,
                fmt::format("it has shape [{}] in one model and [{}] in the other",
                            to_string(signal.shape()), to_string(approximation.shape())),
                {.tensor = std::string(name)});
  }
  if (signal.element() == ElementType::float32 && approximation.element() == ElementType::float32) {
    agreement.add(signal.as<float>(), approximation.as<float>());
    return {};
  }
  QUADRANT_TRY(const std::vector<double> signals, to_doubles(signal));
  QUADRANT_TRY(const std::vector<double> approximations, to_doubles(approximation));
  agreement.add(signals, approximations);
  return {};
}

}  // namespace quadrant::inline v0

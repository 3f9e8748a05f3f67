#include "numerics/metrics.hpp"

#include <cmath>
#include <limits>

#include "numerics/pieces.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {
namespace {

class Sqnr {
 public:
  void add(std::span<const float> signal, std::span<const float> approximation) {
    QUADRANT_ASSERT(signal.size() == approximation.size());
    for (std::size_t i = 0; i < signal.size(); ++i) {
      const auto value = static_cast<double>(signal[i]);
      const double error = value - static_cast<double>(approximation[i]);
      signal_ += value * value;
      noise_ += error * error;
    }
  }

  [[nodiscard]] double decibels() const {
    if (noise_ == 0) return std::numeric_limits<double>::infinity();
    return 10 * std::log10(signal_ / noise_);
  }

 private:
  double signal_ = 0;
  double noise_ = 0;
};

}  // namespace

double sqnr_db(std::span<const float> signal, std::span<const float> approximation) {
  Sqnr sqnr;
  sqnr.add(signal, approximation);
  return sqnr.decibels();
}

Expected<double> weight_sqnr_db(const Constant& real,
                                const std::shared_ptr<const UniformType>& type) {
  QUADRANT_TRY(const Constant codes, quantized(real, type));
  QUADRANT_TRY(const Constant approximation, dequantized(codes, type));
  FloatReader signal_reader(real);
  FloatReader approximation_reader(approximation);
  Sqnr sqnr;
  const std::int64_t count = real.element_count();
  for (std::int64_t first = 0; first < count; first += std::int64_t{piece_elements}) {
    const std::size_t size = piece_size(first, count);
    QUADRANT_TRY(const auto signal, signal_reader.read(first, size));
    QUADRANT_TRY(const auto values, approximation_reader.read(first, size));
    sqnr.add(signal, values);
  }
  return sqnr.decibels();
}

}  // namespace quadrant::inline v0

#include <fmt/format.h>

#include <algorithm>

#include "numerics/parameters.hpp"
#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<void> check_size(std::size_t count, const Shape& shape) {
  if (shape.element_count() == static_cast<std::int64_t>(count)) return {};
  return fail(ErrorCode::impossible,
              fmt::format("{} values do not fill a tensor of shape [{}]", count, to_string(shape)));
}

Expected<void> check_codes(std::span<const std::int32_t> codes, ElementType storage) {
  const IntegerRange range = integer_range(storage).value_or(IntegerRange{});
  const auto found = std::ranges::find_if(
      codes, [&](std::int32_t code) { return code < range.min || code > range.max; });
  if (found == codes.end()) return {};
  return fail(ErrorCode::impossible,
              fmt::format("element {} is {}, where {} holds {} to {}", found - codes.begin(),
                          *found, to_string(storage), range.min, range.max));
}

Expected<void> check_present(const Tensor& tensor) {
  if (tensor) return {};
  return fail(ErrorCode::impossible, "there is no tensor to convert");
}

}  // namespace

Expected<Tensor> quantize_tensor(const Tensor& real, const Quantization& quantization,
                                 const RoundingProfile& rounding) {
  QUADRANT_CHECK(check_present(real));
  QUADRANT_TRY(const Constant codes, quantized(real.to_constant(), quantization, rounding));
  return Tensor::from_constant(codes);
}

Expected<Tensor> dequantize_tensor(const Tensor& codes, const Quantization& quantization) {
  QUADRANT_CHECK(check_present(codes));
  QUADRANT_TRY(const Constant real, dequantized(codes.to_constant(), quantization));
  return Tensor::from_constant(real);
}

Expected<std::vector<std::int32_t>> quantize_values(std::span<const float> real, const Shape& shape,
                                                    const UniformType& type,
                                                    const RoundingProfile& rounding) {
  QUADRANT_CHECK(check_size(real.size(), shape));
  QUADRANT_TRY(const Parameters parameters,
               Parameters::read(std::make_shared<const UniformType>(type), shape));
  std::vector<std::int32_t> codes(real.size());
  parameters.for_each_run(
      0, real.size(), [&](auto each, RunParameters run, std::size_t position, std::size_t length) {
        quantize_run<each.value>(real.data() + position, codes.data() + position, length, run,
                                 parameters.storage_min, parameters.storage_max, rounding);
      });
  return codes;
}

Expected<std::vector<float>> dequantize_values(std::span<const std::int32_t> codes,
                                               const Shape& shape, const UniformType& type) {
  QUADRANT_CHECK(check_size(codes.size(), shape));
  QUADRANT_TRY(const Parameters parameters,
               Parameters::read(std::make_shared<const UniformType>(type), shape));
  QUADRANT_CHECK(check_codes(codes, type.storage));
  std::vector<float> real(codes.size());
  parameters.for_each_run(
      0, codes.size(), [&](auto each, RunParameters run, std::size_t position, std::size_t length) {
        dequantize_run<each.value>(codes.data() + position, real.data() + position, length, run);
      });
  return real;
}

}  // namespace quadrant::inline v0

#include "calibration/reals.hpp"

#include <fmt/format.h>

#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0 {

namespace {

template <class T>
std::vector<double> doubles(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

}  // namespace

Expected<std::vector<double>> to_doubles(const Tensor& tensor) {
  switch (tensor.element()) {
    case ElementType::boolean:
    case ElementType::uint4:
    case ElementType::uint8:
      return doubles<std::uint8_t>(tensor);
    case ElementType::int4:
    case ElementType::int8:
      return doubles<std::int8_t>(tensor);
    case ElementType::int16:
      return doubles<std::int16_t>(tensor);
    case ElementType::uint16:
      return doubles<std::uint16_t>(tensor);
    case ElementType::int32:
      return doubles<std::int32_t>(tensor);
    case ElementType::uint32:
      return doubles<std::uint32_t>(tensor);
    case ElementType::int64: {
      const auto values = tensor.as<std::int64_t>();
      std::vector<double> result(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) result[i] = static_cast<double>(values[i]);
      return result;
    }
    case ElementType::uint64: {
      const auto values = tensor.as<std::uint64_t>();
      std::vector<double> result(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) result[i] = static_cast<double>(values[i]);
      return result;
    }
    case ElementType::float64:
      return doubles<double>(tensor);
    case ElementType::float32:
      return doubles<float>(tensor);
    case ElementType::float16:
    case ElementType::bfloat16: {
      std::vector<float> wide(static_cast<std::size_t>(tensor.element_count()));
      widen_to_float(tensor.element(), tensor.bytes(), wide);
      return std::vector<double>(wide.begin(), wide.end());
    }
    default:
      return fail(ErrorCode::impossible,
                  fmt::format("elements of type {} are no numbers", to_string(tensor.element())));
  }
}

}  // namespace quadrant::inline v0

#include "io/tflite/number.hpp"

#include <algorithm>
#include <cmath>

#include "io/tflite/failure.hpp"
#include "ir/scales.hpp"

namespace quadrant::inline v0::tflite {

TensorId number_tensor(Lowering& lowering, const NodeRef& node, std::string_view what,
                       const TensorType& type, float value) {
  Model& model = lowering.model();
  if (!type.is_quantized()) {
    if (type.element == ElementType::float32) return model.real(value);
    if (is_integer(type.element) && std::isfinite(value)) {
      constexpr IntegerRange widest{-(std::int64_t{1} << 53U), std::int64_t{1} << 53U};
      const IntegerRange range = integer_range(type.element).value_or(widest);
      const auto number = static_cast<std::int64_t>(std::clamp(static_cast<double>(value),
                                                               static_cast<double>(range.min),
                                                               static_cast<double>(range.max)));
      return model.add_constant(
          lowering.name(node, fmt::format("{}_{}", what, number)),
          make_zero_points(type.element, Shape::scalar(), std::span(&number, 1)), nullptr, {});
    }
    impossible(fmt::format("a number beside {}", to_string(type.element)));
  }
  const auto parameters = Model::parameters(type.quantization, {});
  const auto range = integer_range(type.element);
  if (!parameters || parameters->scale.size() != 1 || !range || std::isnan(value)) {
    impossible("a number that has no code");
  }
  const double code =
      std::nearbyint(static_cast<double>(value) / static_cast<double>(parameters->scale.front())) +
      static_cast<double>(parameters->zero_point.front());
  const auto nearest = static_cast<std::int64_t>(
      std::clamp(code, static_cast<double>(range->min), static_cast<double>(range->max)));
  return model.add_constant(lowering.name(node, fmt::format("{}_{}", what, value)),
                            make_zero_points(type.element, Shape::scalar(), std::span(&nearest, 1)),
                            type.quantization, {});
}

}  // namespace quadrant::inline v0::tflite

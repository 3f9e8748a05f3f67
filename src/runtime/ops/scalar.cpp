#include "runtime/ops/scalar.hpp"

#include "runtime/dispatch.hpp"
#include "runtime/half_floats.hpp"
#include "runtime/ops/numbers.hpp"

namespace quadrant::inline v0::interpreted {

Expected<Tensor> scalar_of(ElementType element, double number) {
  const bool half = is_half_float(element);
  const ElementType computed = half ? ElementType::float32 : element;
  QUADRANT_TRY(const Tensors scalar, with_element(computed, [&]<class T>() -> Expected<Tensors> {
                 const std::array value{converted<T>(number)};
                 return Tensors{Tensor::from_values<T>(computed, Shape::scalar(), value)};
               }));
  return half ? rounded_to(element, scalar[0]) : scalar[0];
}

}  // namespace quadrant::inline v0::interpreted

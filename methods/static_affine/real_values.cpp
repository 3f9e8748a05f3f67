#include "static_affine/real_values.hpp"

#include "quadrant/numerics/convert.hpp"

namespace quadrant::inline v0::static_affine {

Expected<std::vector<float>> read_reals(const Constant& constant) {
  QUADRANT_TRY(const ConstantBytes contents, constant.read());
  std::vector<float> values(static_cast<std::size_t>(constant.element_count()));
  widen_to_float(constant.element(), contents.bytes(), values);
  return values;
}

}  // namespace quadrant::inline v0::static_affine

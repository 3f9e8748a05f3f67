#include "transforms/channels.hpp"

#include "numerics/reals.hpp"

namespace quadrant::inline v0 {

bool is_channelwise(const Constant& constant, std::int64_t channels, std::int64_t axis,
                    std::int64_t rank) {
  const Shape& shape = constant.shape();
  if (shape.rank() > rank) return false;
  if (constant.element_count() == 1) return true;
  return constant.element_count() == channels && shape.rank() >= -axis &&
         surely_equal(shape[shape.rank() + axis], channels);
}

Expected<std::vector<double>> read_channels(const Constant& constant, std::int64_t channels) {
  QUADRANT_TRY(std::vector<double> values, read_reals(constant));
  if (values.size() == 1) values.resize(static_cast<std::size_t>(channels), values[0]);
  return values;
}

}  // namespace quadrant::inline v0

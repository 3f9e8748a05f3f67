#include "numerics/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "quadrant/ir/scales.hpp"
#include "quadrant/ir/verify.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<Constant> in_memory(const Constant& constant) {
  if (!constant || !constant.is_deferred()) return constant;
  QUADRANT_TRY(const ConstantBytes contents, constant.read());
  const auto bytes = contents.bytes();
  return Constant::from_bytes(constant.element(), constant.shape(), {bytes.begin(), bytes.end()});
}

Expected<void> check(const UniformType& type, const Shape& shape) {
  auto status = verify(type, shape);
  // To the verifier the model is at fault; here, the request is.
  if (!status) return fail(ErrorCode::impossible, std::move(status).error().message);
  return {};
}

}  // namespace

Expected<Parameters> Parameters::read(const UniformType& type, const Shape& shape) {
  if (!is_integer(type.storage) || bit_width(type.storage) > 16) {
    return fail(ErrorCode::impossible,
                fmt::format("codes of type {} are not supported: choose an integer of at most 16 "
                            "bits",
                            to_string(type.storage)));
  }
  QUADRANT_TRY(Groups groups, Groups::of(shape, type.granularity));
  // Twice: before it reads, for the shapes; afterwards, for values that had been deferred.
  QUADRANT_CHECK(check(type, shape));
  UniformType resident = type;
  QUADRANT_TRY(resident.scales, in_memory(type.scales));
  QUADRANT_TRY(resident.zero_points, in_memory(type.zero_points));
  QUADRANT_CHECK(check(resident, shape));

  QUADRANT_TRY(std::vector<float> scales, read_scales(resident.scales));
  const std::size_t count = scales.size();
  Parameters parameters{.groups = groups,
                        .scales = std::move(scales),
                        .zero_points = std::vector<std::int32_t>(count),
                        .storage_min = static_cast<std::int32_t>(type.storage_min),
                        .storage_max = static_cast<std::int32_t>(type.storage_max)};
  if (resident.zero_points) {
    QUADRANT_TRY(const auto zero_points,
                 read_integers(resident.zero_points, resident.zero_points.element_count()));
    std::ranges::transform(zero_points, parameters.zero_points.begin(),
                           [](std::int64_t value) { return static_cast<std::int32_t>(value); });
  }
  parameters.same_zero_point =
      std::ranges::adjacent_find(parameters.zero_points, std::not_equal_to{}) ==
      parameters.zero_points.end();
  return parameters;
}

}  // namespace quadrant::inline v0

#include "quadrant/numerics/encoding.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "numerics/groups.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<void> check(const Encoding& encoding, const Encoding& first, std::size_t index) {
  const auto refuse = [index](std::string_view what) {
    return fail(ErrorCode::impossible, fmt::format("encoding {} {}", index, what));
  };
  if (encoding.bits < 2 || (encoding.bits > 16 && encoding.bits != 32)) {
    return refuse(fmt::format("has {} bits: it must have 2 to 16, or 32", encoding.bits));
  }
  const std::int64_t most = (std::int64_t{1} << encoding.bits) - 1;
  if (encoding.steps < most - 1 || encoding.steps > most) {
    return refuse(
        fmt::format("has {} steps: {} bits have {}", encoding.steps, encoding.bits, most));
  }
  if (encoding.bits != first.bits || encoding.steps != first.steps) {
    return refuse("has other codes than the first: those of a tensor are the same");
  }
  const auto scale = static_cast<float>(encoding.scale);
  if (!(scale > 0) || std::isinf(scale)) {
    return refuse(fmt::format("has the scale {}: it must be above 0, and finite, as float32",
                              encoding.scale));
  }
  if (encoding.zero_point < 0 || encoding.zero_point > encoding.steps) {
    return refuse(fmt::format("has zero point {}: it must lie in 0 to {}", encoding.zero_point,
                              encoding.steps));
  }
  return {};
}

}  // namespace

Expected<UniformType> uniform_type(std::span<const Encoding> encodings, const Shape& shape,
                                   const Granularity& granularity, CodeSign sign) {
  QUADRANT_TRY(const Groups groups, Groups::of(shape, granularity));
  if (encodings.size() != static_cast<std::size_t>(groups.group_count())) {
    return fail(ErrorCode::impossible,
                fmt::format("{} encodings, where a tensor of shape [{}] has {} scales",
                            encodings.size(), to_string(shape), groups.group_count()));
  }
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    QUADRANT_CHECK(check(encodings[i], encodings[0], i));
  }
  const Encoding first = encodings.empty() ? Encoding{} : encodings[0];
  const std::int64_t shift = sign == CodeSign::signed_codes ? (first.steps + 1) / 2 : 0;

  UniformType type;
  type.storage = storage_element(first.bits, sign == CodeSign::signed_codes);
  type.granularity = granularity;
  type.storage_min = -shift;
  type.storage_max = first.steps - shift;
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
  bool all_zero = true;
  for (const Encoding& encoding : encodings) {
    scales.push_back(static_cast<float>(encoding.scale));
    zero_points.push_back(encoding.zero_point - shift);
    all_zero = all_zero && zero_points.back() == 0;
  }
  const Shape parameters = parameter_shape(shape, granularity);
  type.scales = make_scales(ElementType::float32, parameters, scales);
  if (!all_zero) type.zero_points = make_zero_points(type.storage, parameters, zero_points);
  return type;
}

}  // namespace quadrant::inline v0

#include "numerics/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<void> check(const Quantization& type, const Shape& shape) {
  auto status = verify(type, shape);
  // To the verifier the model is at fault; here, the request is.
  if (!status) return fail(ErrorCode::impossible, std::move(status).error().message);
  return {};
}

// The values at `begin` to `end` of parameters in the order of groups.
Expected<Constant> slice(const Constant& values, std::size_t begin, std::size_t end) {
  const auto width = static_cast<std::size_t>(byte_width(values.element()));
  std::vector<std::byte> bytes((end - begin) * width);
  QUADRANT_CHECK(values.read(begin * width, bytes));
  return Constant::from_bytes(values.element(), Shape{static_cast<std::int64_t>(end - begin)},
                              std::move(bytes));
}

// A type of a vector, with the parameters of these groups.
Expected<ScaledFormat> part_of(const ScaledFormat& type, std::size_t begin, std::size_t end) {
  ScaledFormat part = type;
  part.format.scales.front().groups = Granularity::per_axis(0);
  for (auto* const constants : {&part.scales, &part.offsets}) {
    for (Constant& values : *constants) {
      QUADRANT_TRY(values, slice(values, begin, end));
    }
  }
  QUADRANT_CHECK(check(part, part.scales.front().shape()));
  return part;
}

// Scales and zero points of a type that holds them in memory, as numbers.
Expected<void> fill(Parameters& parameters, const ScaledFormat& type) {
  QUADRANT_TRY(parameters.scales, read_scale_bytes(type.scales.front()));
  if (type.format.offset == Offset::zero_point) {
    QUADRANT_TRY(const auto zero_points, read_zero_points(type));
    parameters.zero_points.resize(zero_points.size());
    std::ranges::transform(zero_points, parameters.zero_points.begin(),
                           [](std::int64_t value) { return static_cast<std::int32_t>(value); });
  } else {
    parameters.zero_points.assign(static_cast<std::size_t>(parameters.groups.groups_of_run()), 0);
  }
  parameters.same_zero_point =
      std::ranges::adjacent_find(parameters.zero_points, std::not_equal_to{}) ==
      parameters.zero_points.end();
  return {};
}

}  // namespace

Expected<Parameters> Parameters::without_values(const Quantization& type, const Shape& shape) {
  const NumberFormat format = scaled_format(type).format;
  const auto* const code = std::get_if<IntegerCode>(&format.code);
  if (code == nullptr || !is_integer(type.storage()) || bit_width(type.storage()) > 16) {
    return fail(ErrorCode::impossible,
                fmt::format("codes of type {} are not supported: choose an integer of at most 16 "
                            "bits",
                            to_string(type.storage())));
  }
  QUADRANT_TRY(const Groups groups, Groups::of(shape, innermost_groups(format)));
  QUADRANT_CHECK(check(type, shape));
  return Parameters{.groups = groups,
                    .storage_min = static_cast<std::int32_t>(code->min),
                    .storage_max = static_cast<std::int32_t>(code->max)};
}

Expected<Parameters> Parameters::read(const Quantization& type, const Shape& shape) {
  QUADRANT_TRY(Parameters parameters, without_values(type, shape));
  QUADRANT_TRY(const Quantization resident, in_memory(type));
  // Values that had been deferred are checked only now.
  if (resident != type) QUADRANT_CHECK(check(resident, shape));
  QUADRANT_CHECK(fill(parameters, scaled_format(resident)));
  return parameters;
}

Expected<ParameterReader> ParameterReader::make(const Quantization& type, const Shape& shape) {
  constexpr std::size_t few = 16384;
  ParameterReader reader;
  ScaledFormat scaled = scaled_format(type);
  const Constant& scales = scaled.scales.front();
  QUADRANT_TRY(const Groups layout, Groups::of(shape, innermost_groups(scaled.format)));
  const auto groups = static_cast<std::size_t>(layout.group_count());
  if (!scales || !scales.is_deferred() || groups <= few) {
    QUADRANT_TRY(Parameters all, Parameters::read(type, shape));
    reader.all_ = std::make_shared<const Parameters>(std::move(all));
    return reader;
  }
  QUADRANT_TRY(reader.part_, Parameters::without_values(type, shape));
  reader.type_ = std::move(scaled);
  return reader;
}

Expected<const Parameters*> ParameterReader::around(std::int64_t first, std::size_t count) {
  if (!part_) return all_.get();
  const Groups& groups = part_->groups;
  auto begin = static_cast<std::size_t>(groups.group_count());
  std::size_t end = 0;
  groups.for_each_batch(first, count, [&](const RunBatch& batch) {
    begin = std::min(begin, batch.group);
    end = std::max(end, batch.group + (groups.interleaved() ? batch.length : batch.runs));
  });
  const std::size_t held = part_->first_group;
  if (begin < held || end > held + part_->scales.as<float>().size()) {
    QUADRANT_TRY(const ScaledFormat part, part_of(type_, begin, end));
    part_->first_group = begin;
    QUADRANT_CHECK(fill(*part_, part));
  }
  return &*part_;
}

}  // namespace quadrant::inline v0

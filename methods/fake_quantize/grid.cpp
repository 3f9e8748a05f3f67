#include "fake_quantize/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "ir/scales.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

using Bounds = FakeQuantizeBounds<double>;

constexpr std::array<double Bounds::*, 4> members{&Bounds::input_low, &Bounds::input_high,
                                                  &Bounds::output_low, &Bounds::output_high};

// Of fewer levels, half a step would be as much as the numbers themselves.
constexpr std::int64_t least_repaired = 3;

// What is not worth a word: what float32 bounds leave of a range's end, with room.
constexpr double unremarkable = 1.0 / 256;

tl::unexpected<Error> unfit(std::string reason) {
  return fail(ErrorCode::impossible, std::move(reason));
}

// The axis along which bounds of these shapes differ, as aligned to X; -1: none.
Expected<std::int64_t> common_axis(const std::array<Shape, 4>& shapes) {
  std::int64_t common = -1;
  for (const Shape& shape : shapes) {
    for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
      if (surely_equal(shape[axis], 1)) continue;
      if (common != -1 && common != axis) {
        return unfit("its bounds differ along several axes");
      }
      common = axis;
    }
  }
  return common;
}

// How many groups bounds of these lengths are of.
Expected<std::size_t> common_length(const std::array<std::vector<double>, 4>& values) {
  std::size_t count = 1;
  for (const auto& list : values) count = std::max(count, list.size());
  for (const auto& list : values) {
    if (list.empty()) return unfit("a bound is empty");
    if (list.size() != 1 && list.size() != count) return unfit("its bounds have other lengths");
  }
  return count;
}

Expected<void> check(const Bounds& bounds, std::size_t group) {
  for (const auto member : members) {
    if (!std::isfinite(bounds.*member)) {
      return unfit(fmt::format("a bound of channel {} is not finite", group));
    }
  }
  if (bounds.input_low > bounds.input_high) {
    return unfit(fmt::format("the input range of channel {} runs backwards, from {} to {}", group,
                             bounds.input_low, bounds.input_high));
  }
  return {};
}

// --- scales and zero points ---------------------------------------------------------------------

// Of one group.
struct Step {
  double scale = 1;
  double first = 0;  // low / scale: how many steps below zero the grid begins, with a sign
};

struct Interval {
  double low = 0;
  double high = 0;

  [[nodiscard]] Step step(std::int64_t levels) const {
    const double scale = (high - low) / static_cast<double>(levels - 1);
    return {scale, low / scale};
  }
  // Backwards ranges are the grid of the one forwards, mirrored.
  [[nodiscard]] bool holds_zero() const {
    return std::min(low, high) <= 0 && std::max(low, high) >= 0;
  }
};

double off_grid(const Interval& range, std::int64_t levels) {
  const double first = range.step(levels).first;
  return std::abs(first - std::nearbyint(first));
}

Interval repaired(Interval range, std::int64_t levels) {
  const bool is_forwards = range.low <= range.high;
  double& smallest = is_forwards ? range.low : range.high;
  double& largest = is_forwards ? range.high : range.low;
  smallest = std::min(smallest, 0.0);
  largest = std::max(largest, 0.0);
  const Step step = range.step(levels);
  const double first = std::nearbyint(step.first);
  return {first * step.scale, (first + static_cast<double>(levels - 1)) * step.scale};
}

// Puts zero on the grid of `range`, or says that it is not there.
Expected<void> settle(Interval& range, const Ranges& ranges, std::size_t group,
                      std::string_view which, const ZeroRule& zero, std::string& note) {
  if (range.low == range.high) {
    return unfit(fmt::format("the {} range of channel {} has no length: both ends are {}", which,
                             group, range.low));
  }
  const auto scale = static_cast<float>(range.step(ranges.levels).scale);
  if (!std::isnormal(scale)) {
    return unfit(fmt::format("a step of the {} range of channel {} is no float32", which, group));
  }
  const double off = off_grid(range, ranges.levels);
  if (range.holds_zero() && off <= unremarkable) return {};
  std::string what = range.holds_zero() ? fmt::format("zero is {:.3g} steps off the grid", off)
                                        : std::string("zero is no value");
  what +=
      fmt::format(" of the {} range of channel {}, {} to {}", which, group, range.low, range.high);
  if (range.holds_zero() && off * 256 <= zero.tolerance * static_cast<double>(ranges.levels)) {
    what += ": the nearest code stands for it";
  } else if (ranges.levels < least_repaired) {
    return unfit(what + ", of which there are too few to move them");
  } else if (zero.repair) {
    range = repaired(range, ranges.levels);
    what += fmt::format("; it was moved to {} to {}", range.low, range.high);
  } else {
    return unfit(what + "; it can be moved (`repair_ranges` of 'convert')");
  }
  if (note.empty()) note = std::move(what);
  return {};
}

// --- types --------------------------------------------------------------------------------------

struct CodeRange {
  ElementType storage = ElementType::uint8;
  std::int64_t min = 0;
};

// Smallest codes: as many on either side of zero as there are, the odd one below.
std::int64_t smallest_signed(std::int64_t levels) { return -(levels / 2); }

bool is_centred(const std::vector<Step>& steps, std::int64_t levels) {
  return std::ranges::all_of(steps, [&](const Step& step) {
    return std::nearbyint(step.first) == static_cast<double>(smallest_signed(levels));
  });
}

// `is_constant`: nobody has to limit codes that are there to fewer than their type has, for which
// runtimes have no operator in 4 bits.
std::optional<CodeRange> choose_codes(const std::vector<Step>& steps, std::int64_t levels,
                                      Storages storages, bool is_constant) {
  constexpr std::int64_t levels_of_4_bits = 16;
  const bool may_be_short =
      levels == levels_of_4_bits || (is_constant && levels < levels_of_4_bits);
  const auto find = [&](bool has_sign) -> std::optional<CodeRange> {
    const ElementType narrow = has_sign ? ElementType::int4 : ElementType::uint4;
    const ElementType wide = has_sign ? ElementType::int8 : ElementType::uint8;
    const std::int64_t min = has_sign ? smallest_signed(levels) : 0;
    if (may_be_short && storages.contains(narrow)) return CodeRange{narrow, min};
    if (storages.contains(wide)) return CodeRange{wide, min};
    return std::nullopt;
  };
  const bool wants_sign = is_centred(steps, levels);
  const auto first = find(wants_sign);
  return first ? first : find(!wants_sign);
}

std::shared_ptr<const UniformType> make_type(const std::vector<Step>& steps,
                                             const Granularity& granularity, std::int64_t levels,
                                             const CodeRange& codes, ElementType expressed) {
  auto type = std::make_shared<UniformType>();
  type->storage = codes.storage;
  type->expressed = expressed;
  type->granularity = granularity;
  type->storage_min = codes.min;
  type->storage_max = codes.min + levels - 1;
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
  for (const Step& step : steps) {
    scales.push_back(static_cast<float>(step.scale));
    zero_points.push_back(codes.min - static_cast<std::int64_t>(std::nearbyint(step.first)));
  }
  const Shape shape = granularity.kind == Granularity::Kind::tensor
                          ? Shape(std::vector<std::int64_t>{})
                          : Shape{static_cast<std::int64_t>(steps.size())};
  type->scales = make_scales(ElementType::float32, shape, scales);
  if (std::ranges::any_of(zero_points, [](std::int64_t zero) { return zero != 0; })) {
    type->zero_points = make_zero_points(codes.storage, shape, zero_points);
  }
  return type;
}

tl::unexpected<Error> no_storage(Storages storages) {
  return unfit(fmt::format("the target has no codes for it but {}", storages.print()));
}

}  // namespace

std::int64_t code_of_one_number(std::int64_t smallest, std::int64_t levels) noexcept {
  return smallest + levels - 1 >= 1 ? 1 : -1;
}

Expected<Ranges> read_ranges(NodeRef node) {
  const ops::FakeQuantize view{node};
  Ranges ranges;
  if (node.operand_type(0) == nullptr) return unfit("it has no operand");
  if (!is_float(node.type().element)) return unfit("its result is not known to be float");
  const auto levels = view.levels();
  if (!levels) return unfit("it does not say how many levels there are");
  ranges.levels = *levels;
  constexpr std::int64_t most_levels = 256;
  if (ranges.levels > most_levels) {
    return unfit(fmt::format("{} levels are more than 8 bits hold", ranges.levels));
  }
  std::array<Shape, 4> shapes;
  std::array<std::vector<double>, 4> values;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Constant* const bound = node.operand_constant(i + 1);
    if (bound == nullptr) return unfit("a bound is computed");
    QUADRANT_TRY(shapes[i], view.aligned(bound->shape(), node.operand_type(0)->shape));
    // An unknown rank still takes one range for all.
    if (!shapes[i].is_ranked() && bound->element_count() == 1) {
      shapes[i] = Shape(std::vector<std::int64_t>{});
    }
    if (!shapes[i].is_ranked()) {
      return unfit("it is not known which axis its bounds are of");
    }
    QUADRANT_TRY(values[i], read_reals(*bound));
  }
  QUADRANT_TRY(const std::int64_t axis, common_axis(shapes));
  QUADRANT_TRY(const std::size_t count, common_length(values));
  for (std::size_t group = 0; group < count; ++group) {
    Bounds bounds;
    for (std::size_t i = 0; i < members.size(); ++i) {
      bounds.*members[i] = values[i][values[i].size() == 1 ? 0 : group];
    }
    QUADRANT_CHECK(check(bounds, group));
    ranges.groups.push_back(bounds);
  }
  const bool is_one =
      std::ranges::adjacent_find(ranges.groups, std::ranges::not_equal_to{}) == ranges.groups.end();
  if (is_one) {
    ranges.groups.resize(1);
  } else {
    ranges.granularity = Granularity::per_axis(axis);
  }
  return ranges;
}

Expected<CodeTypes> activation_types(const Ranges& ranges, ElementType expressed, Storages storages,
                                     const ZeroRule& zero) {
  CodeTypes types;
  std::vector<Step> input;
  std::vector<Step> output;
  bool is_same = true;
  for (std::size_t group = 0; group < ranges.groups.size(); ++group) {
    const Bounds& bounds = ranges.groups[group];
    Interval in{bounds.input_low, bounds.input_high};
    Interval out{bounds.output_low, bounds.output_high};
    QUADRANT_CHECK(settle(in, ranges, group, "input", zero, types.remark));
    QUADRANT_CHECK(settle(out, ranges, group, "output", zero, types.remark));
    is_same = is_same && in.low == out.low && in.high == out.high;
    input.push_back(in.step(ranges.levels));
    output.push_back(out.step(ranges.levels));
  }
  // Codes are what the output means; the input's zero point may be another.
  const auto codes = choose_codes(output, ranges.levels, storages, false);
  if (!codes) return no_storage(storages);
  types.output = make_type(output, ranges.granularity, ranges.levels, *codes, expressed);
  types.input = is_same ? types.output
                        : make_type(input, ranges.granularity, ranges.levels, *codes, expressed);
  return types;
}

Expected<CodeTypes> constant_types(const Ranges& ranges, ElementType expressed, Storages storages,
                                   const ZeroRule& zero) {
  CodeTypes types;
  std::vector<Step> output;
  std::vector<std::size_t> dead;
  for (std::size_t group = 0; group < ranges.groups.size(); ++group) {
    const Bounds& bounds = ranges.groups[group];
    Interval out{bounds.output_low, bounds.output_high};
    if (out.low == out.high) {
      dead.push_back(group);
      output.emplace_back();
      continue;
    }
    QUADRANT_CHECK(settle(out, ranges, group, "output", zero, types.remark));
    output.push_back(out.step(ranges.levels));
  }
  // What is one number takes no part in the choice of a type.
  std::vector<Step> live;
  for (std::size_t group = 0; group < output.size(); ++group) {
    if (!std::ranges::binary_search(dead, group)) live.push_back(output[group]);
  }
  const auto codes = choose_codes(live, ranges.levels, storages, true);
  if (!codes) return no_storage(storages);
  for (const std::size_t group : dead) {
    const double number = ranges.groups[group].output_low;
    const auto smallest = static_cast<double>(codes->min);
    const auto code = static_cast<double>(code_of_one_number(codes->min, ranges.levels));
    output[group] = {number == 0 ? 1 : number / code, smallest};  // zero point 0, for any type
  }
  types.output = make_type(output, ranges.granularity, ranges.levels, *codes, expressed);
  types.input = types.output;
  return types;
}

}  // namespace quadrant::inline v0::low_precision

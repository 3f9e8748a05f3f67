// Attributes of simulated quantization and of instrumentation, checked.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "ir/shape_rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace detail {
namespace {

// The attribute `axis` of a node whose operand 0 has it.
Expected<std::int64_t> axis_attribute(NodeRef node) {
  QUADRANT_TRY(const std::int64_t axis, attribute_or<std::int64_t>(node, "axis", 0));
  const Shape shape = operand_shape(node, 0);
  if (!shape.is_ranked()) return axis;
  const auto normal = normalize_axis(axis, shape.rank());
  if (!normal) {
    return invalid(fmt::format("axis {} of shape [{}]", axis, to_string(shape)));
  }
  return *normal;
}

Expected<void> check_channels(NodeRef node, std::int64_t axis, std::size_t count) {
  const Shape shape = operand_shape(node, 0);
  if (count == 0) return invalid("no channels");
  if (!shape.is_ranked() || may_equal(shape[axis], static_cast<std::int64_t>(count))) return {};
  return invalid(
      fmt::format("{} channels along axis {} of shape [{}]", count, axis, to_string(shape)));
}

template <class T>
Expected<T> required(NodeRef node, std::string_view name, std::string_view what) {
  const Attribute* found = node.graph->attribute(node.id, name);
  const T* typed = found == nullptr ? nullptr : std::get_if<T>(found);
  if (typed == nullptr) return invalid(fmt::format("attribute '{}' must be {}", name, what));
  return *typed;
}

Expected<bool> flag(NodeRef node, std::string_view name) {
  QUADRANT_TRY(const std::int64_t value, attribute_or<std::int64_t>(node, name, 0));
  if (value != 0 && value != 1) return invalid(fmt::format("attribute '{}' is {}", name, value));
  return value == 1;
}

Expected<std::optional<std::int64_t>> fake_quant_axis(NodeRef node) {
  if (node.graph->attribute(node.id, "axis") == nullptr) return std::nullopt;
  QUADRANT_TRY(const std::int64_t axis, axis_attribute(node));
  return axis;
}

Expected<std::vector<FakeQuantRange>> fake_quant_ranges(NodeRef node, std::span<const double> min,
                                                        std::span<const double> max) {
  FakeQuantRange range;
  QUADRANT_TRY(range.num_bits, attribute_or<std::int64_t>(node, "num_bits", range.num_bits));
  QUADRANT_TRY(range.narrow_range, flag(node, "narrow_range"));
  QUADRANT_TRY(range.is_signed, flag(node, "is_signed"));
  if (min.size() != max.size()) {
    return invalid(fmt::format("{} smallest values and {} largest", min.size(), max.size()));
  }
  QUADRANT_TRY(const auto axis, fake_quant_axis(node));
  if (axis) {
    QUADRANT_CHECK(check_channels(node, *axis, min.size()));
  } else if (min.size() != 1) {
    return invalid(fmt::format("{} ranges without an axis", min.size()));
  }
  std::vector<FakeQuantRange> ranges(min.size(), range);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    ranges[i].min = min[i];
    ranges[i].max = max[i];
    QUADRANT_CHECK(check(ranges[i]));
  }
  return ranges;
}

Expected<ops::Stats::Range> stats_range(double min, double max) {
  if (!std::isfinite(min) || !std::isfinite(max) || min > max) {
    return invalid(fmt::format("statistics of the range {} to {}", min, max));
  }
  return ops::Stats::Range{min, max};
}

Expected<TensorType> real_operand(NodeRef node) {
  const TensorType& data = *node.operand_type(0);
  const bool is_real = data.element == ElementType::undefined || is_float(data.element);
  if (data.is_quantized() || !is_real) {
    return invalid(fmt::format("an operand of {}, where float is wanted", to_string(data)));
  }
  return TensorType{data.element, operand_shape(node, 0), nullptr};
}

}  // namespace

Expected<TensorType> infer_const_fake_quant(NodeRef node) {
  QUADRANT_CHECK(ops::ConstFakeQuant{node}.ranges());
  return real_operand(node);
}

Expected<TensorType> infer_fake_quant(NodeRef node) {
  QUADRANT_TRY(TensorType result, real_operand(node));
  QUADRANT_TRY(result.element, common_element(node));
  QUADRANT_TRY(const auto axis, ops::FakeQuant{node}.axis());
  for (const std::size_t bound : {std::size_t{1}, std::size_t{2}}) {
    const Shape shape = operand_shape(node, bound);
    if (!shape.is_ranked()) continue;
    if (shape.rank() != (axis ? 1 : 0)) {
      return invalid(
          fmt::format("a bound of shape [{}]{}", to_string(shape), axis ? "" : " without an axis"));
    }
    if (axis && shape[0].is_known()) {
      QUADRANT_CHECK(check_channels(node, *axis, static_cast<std::size_t>(shape[0].value())));
    }
  }
  return result;
}

Expected<TensorType> infer_stats(NodeRef node) {
  const ops::Stats view{node};
  QUADRANT_CHECK(view.layer());
  QUADRANT_CHECK(view.by_axis());
  return real_operand(node);
}

Expected<TensorType> infer_stats_ref(NodeRef node) {
  QUADRANT_CHECK(required<std::string>(node, "stats_key", "a string"));
  return real_operand(node);
}

Expected<TensorType> infer_coupled_ref(NodeRef node) {
  QUADRANT_CHECK(required<std::string>(node, "coupled_key", "a string"));
  return real_operand(node);
}

}  // namespace detail

namespace ops {

Expected<std::optional<std::int64_t>> ConstFakeQuant::axis() const {
  return detail::fake_quant_axis(node);
}

Expected<std::vector<FakeQuantRange>> ConstFakeQuant::ranges() const {
  using detail::required;
  if (node.graph->attribute(node.id, "axis") != nullptr) {
    QUADRANT_TRY(const auto min, required<std::vector<double>>(node, "min", "a list of reals"));
    QUADRANT_TRY(const auto max, required<std::vector<double>>(node, "max", "a list of reals"));
    return detail::fake_quant_ranges(node, min, max);
  }
  QUADRANT_TRY(const double min, required<double>(node, "min", "a real"));
  QUADRANT_TRY(const double max, required<double>(node, "max", "a real"));
  return detail::fake_quant_ranges(node, std::span(&min, 1), std::span(&max, 1));
}

Expected<std::optional<std::int64_t>> FakeQuant::axis() const {
  return detail::fake_quant_axis(node);
}

Expected<std::vector<FakeQuantRange>> FakeQuant::ranges(std::span<const double> min,
                                                        std::span<const double> max) const {
  return detail::fake_quant_ranges(node, min, max);
}

Expected<Stats::Range> Stats::layer() const {
  constexpr std::string_view what = "two reals";
  QUADRANT_TRY(const auto ends, detail::required<std::vector<double>>(node, "layer_stats", what));
  if (ends.size() != 2) return detail::invalid("attribute 'layer_stats' must be two reals");
  return detail::stats_range(ends[0], ends[1]);
}

Expected<std::optional<Stats::Axis>> Stats::by_axis() const {
  if (node.graph->attribute(node.id, "axis_stats") == nullptr) return std::nullopt;
  constexpr std::string_view what = "a list of reals, two for each channel";
  QUADRANT_TRY(const auto ends, detail::required<std::vector<double>>(node, "axis_stats", what));
  QUADRANT_CHECK(detail::required<std::int64_t>(node, "axis", "there beside 'axis_stats'"));
  Axis found;
  QUADRANT_TRY(found.axis, detail::axis_attribute(node));
  if (ends.size() % 2 != 0) return detail::invalid("attribute 'axis_stats' has an odd length");
  QUADRANT_CHECK(detail::check_channels(node, found.axis, ends.size() / 2));
  found.ranges.reserve(ends.size() / 2);
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    QUADRANT_TRY(const Range range, detail::stats_range(ends[i], ends[i + 1]));
    found.ranges.push_back(range);
  }
  return found;
}

}  // namespace ops
}  // namespace quadrant::inline v0

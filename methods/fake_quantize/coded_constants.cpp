#include "fake_quantize/coded_constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/scales.hpp"
#include "quadrant/numerics/convert.hpp"
#include "quadrant/numerics/reals.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

using Bounds32 = FakeQuantizeBounds<float>;

// The elements of some bytes, as float32: how OpenVINO computes a fake_quantize, whatever the type.
std::vector<float> widened(ElementType element, std::span<const std::byte> bytes,
                           const Constant& integers) {
  if (is_float(element)) {
    std::vector<float> values(bytes.size() / static_cast<std::size_t>(byte_width(element)));
    widen_to_float(element, bytes, values);
    return values;
  }
  const auto read = read_integers(integers, integers.element_count());
  std::vector<float> values;
  if (!read) return values;
  for (const std::int64_t value : *read) values.push_back(static_cast<float>(value));
  return values;
}

class FakeQuantizedCodes final : public ConstantSource {
 public:
  FakeQuantizedCodes(Constant real, const Ranges& ranges, std::int64_t inner,
                     const UniformType& type)
      : real_(std::move(real)), levels_(ranges.levels), inner_(inner), first_(type.storage_min) {
    for (const auto& wide : ranges.groups) {
      groups_.push_back({static_cast<float>(wide.input_low), static_cast<float>(wide.input_high),
                         static_cast<float>(wide.output_low),
                         static_cast<float>(wide.output_high)});
    }
  }

  // Codes of 8 and of 4 bits take a byte each.
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    constexpr std::size_t piece = std::size_t{1} << 16U;
    for (std::size_t done = 0; done < out.size(); done += piece) {
      const std::size_t count = std::min(piece, out.size() - done);
      QUADRANT_CHECK(read_piece(offset + done, out.subspan(done, count)));
    }
    return {};
  }

 private:
  [[nodiscard]] Expected<void> read_piece(std::uint64_t first, std::span<std::byte> out) const {
    const auto width = static_cast<std::uint64_t>(byte_width(real_.element()));
    std::vector<std::byte> bytes(out.size() * width);
    QUADRANT_CHECK(real_.read(first * width, bytes));
    const Shape shape{static_cast<std::int64_t>(out.size())};
    const Constant integers = is_float(real_.element())
                                  ? Constant()
                                  : Constant::from_bytes(real_.element(), shape, bytes);
    const std::vector<float> values = widened(real_.element(), bytes, integers);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) {
        return fail(ErrorCode::invalid_model,
                    fmt::format("element {} of a quantized constant is NaN", first + i));
      }
      const std::size_t group =
          groups_.size() == 1 ? 0
                              : (first + i) / static_cast<std::uint64_t>(inner_) % groups_.size();
      out[i] = static_cast<std::byte>(code(values[i], groups_[group]));
    }
    return {};
  }

  [[nodiscard]] std::int64_t code(float value, const Bounds32& bounds) const {
    // One number, whatever the value is: see constant_types.
    if (bounds.output_low == bounds.output_high) return bounds.output_low == 0 ? 0 : 1;
    return static_cast<std::int64_t>(fake_quantize_level(value, bounds, levels_)) + first_;
  }

  Constant real_;
  std::int64_t levels_;
  std::int64_t inner_;  // elements with one index of the axis, in a row
  std::int64_t first_;
  std::vector<Bounds32> groups_;
};

// --- integers, as they are stored ---------------------------------------------------------------

NodeRef maker_of(NodeRef node, std::size_t operand) {
  return {node.graph, node.operand(operand).node};
}

// The constant that `value` is, or that is cast to it.
NodeId cast_constant(const GraphView& graph, Value value) {
  if (value.is_absent()) return {};
  NodeRef maker{&graph, value.node};
  if (maker.kind() == ops::Cast::kind && !maker.operand(0).is_absent()) maker = maker_of(maker, 0);
  return graph.constant(maker.id) == nullptr ? NodeId{} : maker.id;
}

bool is_code_type(ElementType element) {
  return element == ElementType::int8 || element == ElementType::uint8 ||
         element == ElementType::int4 || element == ElementType::uint4;
}

// Which elements of `shape` share one of `parameters`, which broadcast to it; empty where that is
// no granularity.
std::optional<Granularity> shared_by(const Shape& parameters, const Shape& shape) {
  if (parameters.element_count() == 1) return Granularity::per_tensor();
  if (parameters.rank() > shape.rank()) return std::nullopt;
  const std::int64_t lead = shape.rank() - parameters.rank();
  std::vector<std::int64_t> whole;  // axes along which parameters are as many as elements
  std::vector<std::int64_t> single;
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t extent = axis < lead ? 1 : parameters[axis - lead];
    if (extent != 1 && extent != shape[axis]) return std::nullopt;
    if (shape[axis] != 1) (extent == 1 ? single : whole).push_back(axis);
  }
  if (whole.size() == 1) return Granularity::per_axis(whole.front());
  // All but one axis: blocks of the whole of it.
  if (single.size() != 1) return std::nullopt;
  return Granularity::per_block(single.front(), shape[single.front()]);
}

}  // namespace

Expected<Constant> fake_quantized_codes(const Constant& real, const Ranges& ranges,
                                        const UniformType& type) {
  const bool is_known = is_float(real.element()) || is_integer(real.element());
  if (!is_known) return fail(ErrorCode::impossible, "its constant holds no numbers");
  std::int64_t inner = 1;
  if (ranges.granularity.kind == Granularity::Kind::axis) {
    const Shape& shape = real.shape();
    for (std::int64_t i = ranges.granularity.axis + 1; i < shape.rank(); ++i) inner *= shape[i];
    const auto groups = static_cast<std::int64_t>(ranges.groups.size());
    if (shape[ranges.granularity.axis] != groups) {
      return fail(ErrorCode::impossible, "its bounds are not one for each channel");
    }
  }
  return Constant::deferred(
      type.storage, real.shape(),
      std::make_shared<FakeQuantizedCodes>(real, ranges, std::max<std::int64_t>(inner, 1), type));
}

Expected<std::optional<StoredWeight>> read_stored_weight(NodeRef node) {
  if (node.kind() != ops::Multiply::kind) return std::nullopt;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    if (node.operand(side).is_absent() || node.operand(1 - side).is_absent()) return std::nullopt;
    NodeRef shifted = maker_of(node, side);
    const bool has_zero_points = shifted.kind() == "onnx.Sub";
    const Value stored = has_zero_points ? shifted.operand(0) : node.operand(side);
    if (stored.is_absent() || node.graph->kind(stored.node) != ops::Cast::kind) continue;
    const NodeId codes = cast_constant(*node.graph, stored);
    if (!codes.is_valid() || !is_code_type(node.graph->constant(codes)->element())) continue;
    const NodeId scales = cast_constant(*node.graph, node.operand(1 - side));
    if (!scales.is_valid() || !is_float(node.graph->constant(scales)->element())) continue;

    const Constant& values = *node.graph->constant(codes);
    const Constant& factors = *node.graph->constant(scales);
    const auto granularity = shared_by(factors.shape(), values.shape());
    if (!granularity) return fail(ErrorCode::impossible, "its scales are along several axes");
    QUADRANT_TRY(const auto numbers, read_reals(factors));
    std::vector<float> steps;
    for (const double number : numbers) {
      const auto step = static_cast<float>(number);
      if (step == 0 || !std::isfinite(step)) {
        return fail(ErrorCode::impossible, fmt::format("a scale of {}", step));
      }
      steps.push_back(step);
    }
    auto type = std::make_shared<UniformType>();
    const IntegerRange range = integer_range(values.element()).value_or(IntegerRange{});
    type->storage = values.element();
    type->expressed = node.type().element;
    type->granularity = *granularity;
    type->storage_min = range.min;
    type->storage_max = range.max;
    const Shape layout = parameter_shape(values.shape(), *granularity);
    type->scales = make_scales(ElementType::float32, layout, steps);
    if (has_zero_points) {
      const NodeId zeros = cast_constant(*node.graph, shifted.operand(1));
      if (!zeros.is_valid()) return fail(ErrorCode::impossible, "its zero points are computed");
      const Constant& points = *node.graph->constant(zeros);
      const bool is_one = points.element_count() == 1;
      if (!is_one && shared_by(points.shape(), values.shape()) != granularity) {
        return fail(ErrorCode::impossible, "its zero points are not as its scales");
      }
      std::vector<std::int64_t> shifts;
      if (is_float(points.element())) {
        QUADRANT_TRY(const auto reals, read_reals(points));
        for (const double real : reals) {
          if (real != std::nearbyint(real) || std::abs(real) > 255) {
            return fail(ErrorCode::impossible, fmt::format("a zero point of {} is no code", real));
          }
          shifts.push_back(static_cast<std::int64_t>(real));
        }
      } else {
        QUADRANT_TRY(shifts, read_integers(points, points.element_count()));
      }
      const bool are_codes = std::ranges::all_of(
          shifts, [&](std::int64_t shift) { return range.min <= shift && shift <= range.max; });
      if (!are_codes) return fail(ErrorCode::impossible, "a zero point is no code");
      if (is_one) shifts.resize(steps.size(), shifts.front());
      type->zero_points = make_zero_points(type->storage, layout, shifts);
    }
    return StoredWeight{codes, std::move(type)};
  }
  return std::nullopt;
}

}  // namespace quadrant::inline v0::low_precision

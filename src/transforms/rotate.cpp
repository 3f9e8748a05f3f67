#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "transforms/edits.hpp"
#include "transforms/hadamard.hpp"
#include "transforms/rotation_stream.hpp"

namespace quadrant::inline v0 {
namespace {

/// Of a constant operand, with the order that its reader sees.
struct Reals {
  Shape shape;
  std::vector<double> values;
  ElementType element = ElementType::undefined;
};

Expected<Reals> read_operand(const Graph& graph, const OperandPlace& place) {
  const Value value = graph.operands(place.node)[place.operand];
  const Constant* constant = graph.constant(value.node);
  const bool is_moved = constant == nullptr;
  if (is_moved) constant = graph.ref(value.node).operand_constant(0);
  QUADRANT_TRY(std::vector<double> values, read_reals(*constant));
  Reals made{constant->shape(), std::move(values), constant->element()};
  const bool is_transposed =
      is_moved && ops::Transpose{graph.ref(value.node)}.perm() == std::vector<std::int64_t>{1, 0};
  if (!is_transposed) return made;
  const auto extents = constant->shape().known_extents();
  const auto rows = static_cast<std::size_t>(extents[0]);
  const auto columns = static_cast<std::size_t>(extents[1]);
  const std::vector<double> before = std::move(made.values);
  made.values.resize(before.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) made.values[j * rows + i] = before[i * columns + j];
  }
  made.shape = Shape{extents[1], extents[0]};
  return made;
}

AxisView view_of_axis(const Shape& shape, std::int64_t axis_from_end) {
  AxisView view;
  const std::int64_t axis = shape.rank() + axis_from_end;
  for (std::int64_t i = 0; i < shape.rank(); ++i) {
    const auto extent = static_cast<std::size_t>(shape[i].value());
    if (i < axis) view.outer *= extent;
    if (i == axis) view.extent = extent;
    if (i > axis) view.inner *= extent;
  }
  return view;
}

class Rotation {
 public:
  Rotation(Graph& graph, const Stream& stream)
      : graph_(graph), stream_(stream), block_(rotation_block(stream.width)) {}

  Expected<void> run() {
    for (const StreamScale& scale : stream_.scales) {
      QUADRANT_TRY(Reals factor, read_operand(graph_, scale.factor));
      factors_.push_back(std::move(factor.values));
    }
    for (const StreamConstant& maker : stream_.makers) QUADRANT_CHECK(rotate(maker));
    for (const StreamConstant& reader : stream_.readers) QUADRANT_CHECK(rotate(reader));
    for (std::size_t i = 0; i < stream_.scales.size(); ++i) {
      QUADRANT_CHECK(take_off(stream_.scales[i], factors_[i]));
    }
    return {};
  }

 private:
  // H from the right, or H and the factors from the left: one axis of the constant either way.
  Expected<void> rotate(const StreamConstant& each) {
    QUADRANT_TRY(Reals reals, read_operand(graph_, each.place));
    const AxisView view = view_of_axis(reals.shape, each.axis);
    if (each.scale) {
      const std::vector<double>& factors = factors_[*each.scale];
      for (std::size_t i = 0; i < reals.values.size(); ++i) {
        reals.values[i] *= factors[i / view.inner % view.extent];
      }
    }
    rotate_along(reals.values, view, block_);
    return write(each.place, reals);
  }

  // The norm's factors are in what reads it; its shift is divided by them, and rotated.
  Expected<void> take_off(const StreamScale& scale, const std::vector<double>& factors) {
    if (scale.shift) {
      QUADRANT_TRY(Reals shift, read_operand(graph_, *scale.shift));
      const std::size_t width = factors.size();
      std::vector<double> shifts(width);
      for (std::size_t i = 0; i < width; ++i) {
        shifts[i] = shift.values[shift.values.size() == 1 ? 0 : i];
        if (shifts[i] == 0) continue;
        if (factors[i] == 0) {
          return fail(ErrorCode::impossible, "a norm multiplies a channel by 0, and shifts it");
        }
        shifts[i] /= factors[i];
      }
      shift.values = std::move(shifts);
      shift.shape = Shape{stream_.width};
      rotate_along(shift.values, view_of_axis(shift.shape, -1), block_);
      QUADRANT_CHECK(write(*scale.shift, shift));
    }
    if (scale.is_node) {
      const std::uint32_t data = 1 - scale.factor.operand;
      take_over(graph_, {scale.factor.node}, graph_.operands(scale.factor.node)[data]);
      return {};
    }
    QUADRANT_TRY(Reals ones, read_operand(graph_, scale.factor));
    std::ranges::fill(ones.values, 1.0);
    return write(scale.factor, ones);
  }

  // Others that read the constant keep it as it was.
  Expected<void> write(const OperandPlace& place, const Reals& reals) {
    Constant made = rounded_constant(reals.element, reals.shape, reals.values);
    QUADRANT_TRY(const std::vector<double> rounded, read_reals(made));
    if (!std::ranges::all_of(rounded, [](double each) { return std::isfinite(each); })) {
      return fail(ErrorCode::impossible, "a constant would not be finite");
    }
    const Value before = graph_.operands(place.node)[place.operand];
    if (graph_.constant(before.node) != nullptr) {
      set_own_constant(graph_, place.node, place.operand, std::move(made));
      return {};
    }
    const Value source = graph_.operands(before.node)[0];
    graph_.set_operand(
        place.node, place.operand,
        graph_.add_constant(std::string(graph_.value_name(before)), std::move(made)));
    if (!graph_.uses(before.node).empty()) return {};
    graph_.erase(before.node);
    if (graph_.uses(source.node).empty()) graph_.erase(source.node);
    return {};
  }

  Graph& graph_;
  const Stream& stream_;
  std::int64_t block_;
  std::vector<std::vector<double>> factors_;  // of the scales
};

}  // namespace

Expected<RotationReport> rotate_streams(Graph& graph) {
  RotationReport report;
  std::vector<Stream> streams;
  std::set<Value> known;
  for (const Value value : normalized_values(graph)) {
    if (!known.insert(value).second) continue;
    OrReason<Stream> found = find_stream(graph, value);
    if (!found) {
      report.left.push_back({std::string(graph.value_name(value)), std::move(found).error()});
      continue;
    }
    known.insert(found->values.begin(), found->values.end());
    streams.push_back(*std::move(found));
  }
  for (const Stream& stream : streams) {
    Graph made = graph;
    if (auto done = Rotation(made, stream).run(); !done) {
      report.left.push_back({stream.value, std::move(done).error().message});
      continue;
    }
    graph = std::move(made);
    report.rotated.push_back({.value = stream.value,
                              .channels = stream.width,
                              .block = rotation_block(stream.width),
                              .makers = stream.makers.size(),
                              .readers = stream.readers.size()});
  }
  return report;
}

}  // namespace quadrant::inline v0

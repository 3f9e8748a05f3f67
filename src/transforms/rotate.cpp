#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "numerics/reals.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "transforms/channels.hpp"
#include "transforms/edits.hpp"
#include "transforms/hadamard.hpp"
#include "transforms/reason.hpp"
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

// Of a norm: one number for each channel.
Expected<std::vector<double>> read_factors(const Graph& graph, const OperandPlace& place,
                                           std::int64_t width) {
  return read_channels(*graph.ref(place.node).operand_constant(place.operand), width);
}

Expected<void> check_finite(const std::vector<double>& values) {
  if (std::ranges::all_of(values, [](double each) { return std::isfinite(each); })) return {};
  return fail(ErrorCode::impossible, "a constant is not finite, or would not be");
}

// Who adds what a product's result is shifted by: its bias, or an addition behind it; empty: none.
std::optional<OperandPlace> place_of_bias(const Graph& graph, NodeRef node, std::int64_t outputs) {
  const auto fits = [&](NodeRef of, std::size_t operand, std::int64_t rank) {
    const Constant* const bias = of.operand_constant(operand);
    return bias != nullptr && !of.operand_type(operand)->is_quantized() &&
           is_channelwise(*bias, outputs, -1, rank);
  };
  const Product& product = *find_product(node);
  if (product.adds_bias(node) && fits(node, product.bias, 1)) {
    return OperandPlace{node.id, product.bias};
  }
  const OrReason<Use> use = only_use(graph, node.result());
  if (!use || graph.kind(use->user) != ops::Add::kind) return std::nullopt;
  const std::uint32_t other = 1 - use->operand;
  if (!fits(graph.ref(use->user), other, node.type().shape.rank())) return std::nullopt;
  return OperandPlace{use->user, other};
}

// What norms add goes behind the products that read it: (n g + s) W = n g W + s W. To divide by g
// would lose what is small beside s / g.
class ShiftMove {
 public:
  ShiftMove(Graph& graph, const Stream& stream) : graph_(graph), stream_(stream) {}

  // Nothing changes where something is not finite.
  Expected<void> run() {
    QUADRANT_CHECK(read_shifts());
    for (const StreamConstant& maker : stream_.makers) {
      QUADRANT_TRY(const Reals reals, read_operand(graph_, maker.place));
      QUADRANT_CHECK(check_finite(reals.values));
    }
    for (const StreamConstant& reader : stream_.readers) QUADRANT_CHECK(sum_up(reader));
    for (const Sum& sum : sums_) QUADRANT_CHECK(add(sum));
    for (const StreamScale& scale : stream_.scales) {
      if (scale.shift) take_off(*scale.shift, scale.is_node);
    }
    return {};
  }

 private:
  struct Sum {
    NodeId product;
    ElementType element = ElementType::undefined;
    std::vector<double> values;  // s W
  };

  Expected<void> read_shifts() {
    shifts_.resize(stream_.scales.size());
    for (std::size_t i = 0; i < shifts_.size(); ++i) {
      const StreamScale& scale = stream_.scales[i];
      QUADRANT_TRY(const std::vector<double> factors,
                   read_factors(graph_, scale.factor, stream_.width));
      QUADRANT_CHECK(check_finite(factors));
      if (!scale.shift) continue;
      QUADRANT_TRY(shifts_[i], read_factors(graph_, *scale.shift, stream_.width));
    }
    return {};
  }

  Expected<void> sum_up(const StreamConstant& reader) {
    QUADRANT_TRY(const Reals weight, read_operand(graph_, reader.place));
    QUADRANT_CHECK(check_finite(weight.values));
    if (!reader.scale || shifts_[*reader.scale].empty()) return {};
    const std::vector<double>& shifts = shifts_[*reader.scale];
    const AxisView view = view_of_axis(weight.shape, reader.axis);
    const NodeRef node = graph_.ref(reader.place.node);
    const auto alpha = node.attribute_or("alpha", 1.0);
    std::vector<double> sums(view.outer * view.inner);
    for (std::size_t i = 0; i < weight.values.size(); ++i) {
      const std::size_t row = i / view.inner;
      sums[row / view.extent * view.inner + i % view.inner] +=
          alpha * shifts[row % view.extent] * weight.values[i];
    }
    QUADRANT_TRY(const std::vector<double> rounded,
                 read_reals(rounded_constant(weight.element,
                                             {static_cast<std::int64_t>(sums.size())}, sums)));
    QUADRANT_CHECK(check_finite(rounded));
    const bool is_any = std::ranges::any_of(sums, [](double each) { return each != 0; });
    if (is_any) sums_.push_back({node.id, weight.element, std::move(sums)});
    return {};
  }

  Expected<void> add(const Sum& sum) {
    const auto outputs = static_cast<std::int64_t>(sum.values.size());
    const auto place = place_of_bias(graph_, graph_.ref(sum.product), outputs);
    if (!place) {
      add_behind(graph_, {sum.product}, rounded_constant(sum.element, {outputs}, sum.values));
      return {};
    }
    const Constant before = *graph_.ref(place->node).operand_constant(place->operand);
    QUADRANT_TRY(std::vector<double> bias, read_channels(before, outputs));
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += sum.values[i];
    const auto old = before.shape().extents();
    std::vector<Extent> extents(old.begin(), old.end());
    if (extents.empty()) extents.emplace_back(outputs);
    extents.back() = outputs;
    set_own_constant(graph_, place->node, place->operand,
                     rounded_constant(before.element(), Shape(std::move(extents)), bias));
    return {};
  }

  void take_off(const OperandPlace& shift, bool is_node) {
    const auto [node, operand] = shift;
    if (is_node) {
      take_over(graph_, {node}, graph_.operands(node)[1 - operand]);
      return;
    }
    const Constant& before = *graph_.ref(node).operand_constant(operand);
    const auto count = static_cast<std::size_t>(before.element_count());
    set_own_constant(
        graph_, node, operand,
        rounded_constant(before.element(), before.shape(), std::vector<double>(count)));
  }

  Graph& graph_;
  const Stream& stream_;
  std::vector<std::vector<double>> shifts_;  // of the scales
  std::vector<Sum> sums_;
};

// Of a stream whose norms have no shifts.
class Rotation {
 public:
  Rotation(Graph& graph, const Stream& stream)
      : graph_(graph), stream_(stream), block_(rotation_block(stream.width)) {}

  // All is computed before anything changes.
  Expected<void> run() {
    factors_.reserve(stream_.scales.size());
    for (const StreamScale& scale : stream_.scales) {
      QUADRANT_TRY(std::vector<double> factors, read_factors(graph_, scale.factor, stream_.width));
      factors_.push_back(std::move(factors));
    }
    std::map<OperandPlace, std::vector<StreamConstant>> turns;  // a weight may have two
    for (const StreamConstant& maker : stream_.makers) turns[maker.place].push_back(maker);
    for (const StreamConstant& reader : stream_.readers) turns[reader.place].push_back(reader);
    std::vector<std::pair<OperandPlace, Constant>> made;
    made.reserve(turns.size());
    for (const auto& [place, of_place] : turns) {
      QUADRANT_TRY(Constant constant, turned(place, of_place));
      made.emplace_back(place, std::move(constant));
    }
    for (auto& [place, constant] : made) write(place, std::move(constant));
    for (const StreamScale& scale : stream_.scales) take_off(scale);
    return {};
  }

 private:
  // H from the right, or H and the factors from the left: one axis of the constant either way.
  Expected<Constant> turned(const OperandPlace& place, const std::vector<StreamConstant>& turns) {
    QUADRANT_TRY(Reals reals, read_operand(graph_, place));
    for (const StreamConstant& turn : turns) {
      const AxisView view = view_of_axis(reals.shape, turn.axis);
      if (turn.scale) {
        const std::vector<double>& factors = factors_[*turn.scale];
        for (std::size_t i = 0; i < reals.values.size(); ++i) {
          reals.values[i] *= factors[i / view.inner % view.extent];
        }
      }
      rotate_along(reals.values, view, block_);
    }
    Constant made = rounded_constant(reals.element, reals.shape, reals.values);
    QUADRANT_TRY(const std::vector<double> rounded, read_reals(made));
    QUADRANT_CHECK(check_finite(rounded));
    return made;
  }

  // The norm's factors are in what reads it.
  void take_off(const StreamScale& scale) {
    const auto [node, operand] = scale.factor;
    if (scale.is_node) {
      take_over(graph_, {node}, graph_.operands(node)[1 - operand]);
      return;
    }
    const Constant& before = *graph_.ref(node).operand_constant(operand);
    const std::vector<double> ones(static_cast<std::size_t>(before.element_count()), 1.0);
    set_own_constant(graph_, node, operand,
                     rounded_constant(before.element(), before.shape(), ones));
  }

  // Others that read the constant keep it as it was.
  void write(const OperandPlace& place, Constant made) {
    const Value before = graph_.operands(place.node)[place.operand];
    if (graph_.constant(before.node) != nullptr) {
      set_own_constant(graph_, place.node, place.operand, std::move(made));
      return;
    }
    const Value source = graph_.operands(before.node)[0];
    graph_.set_operand(
        place.node, place.operand,
        graph_.add_constant(std::string(graph_.value_name(before)), std::move(made)));
    if (!graph_.uses(before.node).empty()) return;
    graph_.erase(before.node);
    if (graph_.uses(source.node).empty()) graph_.erase(source.node);
  }

  Graph& graph_;
  const Stream& stream_;
  std::int64_t block_;
  std::vector<std::vector<double>> factors_;  // of the scales
};

bool has_shift(const Stream& stream) {
  return std::ranges::any_of(stream.scales,
                             [](const StreamScale& scale) { return scale.shift.has_value(); });
}

}  // namespace

Expected<RotationReport> rotate_streams(Graph& graph) {
  RotationReport report;
  std::set<std::string> refused;
  const auto leave = [&](const Stream& stream, Error error) {
    refused.insert(stream.value);
    report.left.push_back({stream.value, std::move(error.message)});
  };
  FoundStreams found = find_streams(graph);
  bool is_moved = false;
  for (const Stream& stream : found.streams) {
    if (!has_shift(stream)) continue;
    is_moved = true;
    if (auto moved = ShiftMove(graph, stream).run(); !moved) {
      leave(stream, std::move(moved).error());
    }
  }
  if (is_moved) found = find_streams(graph);  // with the biases that were added
  for (const Stream& stream : found.streams) {
    if (refused.contains(stream.value)) continue;
    if (auto done = Rotation(graph, stream).run(); !done) {
      leave(stream, std::move(done).error());
      continue;
    }
    report.rotated.push_back({.value = stream.value,
                              .channels = stream.width,
                              .block = rotation_block(stream.width),
                              .makers = stream.makers.size(),
                              .readers = stream.readers.size()});
  }
  report.left.insert(report.left.end(), std::move_iterator(found.left.begin()),
                     std::move_iterator(found.left.end()));
  return report;
}

}  // namespace quadrant::inline v0

// What moves elements to other places: reshape, transpose, slice, pad, ...
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::webnn {
namespace {

/// An operation whose second operand is the list that the option holds.
template <const char* const& key>
Result with_list(Operation& operation, std::string_view kind) {
  if (!operation.options.has(key)) return refuse(fmt::format("'{}' is missing", key));
  const Integers list = operation.options.counts(key, {});
  QUADRANT_CHECK(operation.options.status());
  return only(operation.graph.add(kind, {operation.input(0), operation.graph.integers(list)}));
}

constexpr const char* new_shape = "newShape";
constexpr const char* repetitions = "repetitions";

Result transpose(Operation& operation, std::string_view kind) {
  const std::int64_t rank = operation.graph.rank(operation.input(0));
  Integers reversed = first_numbers(rank);
  std::ranges::reverse(reversed);
  const Integers permutation = axes_option(operation, "permutation", rank, std::move(reversed));
  QUADRANT_CHECK(operation.options.status());
  if (std::cmp_not_equal(permutation.size(), rank)) return refuse("a permutation of too few axes");
  return only(operation.graph.add(kind, operation.inputs, {{"perm", permutation}}));
}

Result concat(Operation& operation, std::string_view kind) {
  const std::int64_t axis = operation.options.required_integer("axis");
  QUADRANT_CHECK(operation.options.status());
  return only(operation.graph.add(kind, operation.inputs, {{"axis", axis}}));
}

Result split(Operation& operation, std::string_view kind) {
  GraphBuilder& graph = operation.graph;
  const Shape& shape = graph.shape(operation.input(0));
  const std::int64_t axis = operation.options.integer("axis", 0);
  if (axis < 0 || axis >= shape.rank())
    return refuse(fmt::format("axis {} of {}", axis, shape.rank()));
  Integers sizes;
  if (operation.options.is_number("splits")) {  // how many equal ones
    const std::int64_t count = operation.options.integer("splits", 1);
    if (count < 1 || shape[axis].value() % count != 0) {
      return refuse(fmt::format("{} equal parts of {}", count, shape[axis].value()));
    }
    if (std::cmp_not_equal(count, operation.results)) return refuse("parts without names");
    sizes.assign(operation.results, shape[axis].value() / count);
  } else {
    sizes = operation.options.counts("splits", {});
  }
  QUADRANT_CHECK(operation.options.status());
  if (sizes.size() != operation.results || sizes.empty()) return refuse("parts without names");
  return graph.add_all(kind, {operation.input(0), graph.integers(sizes)}, {{"axis", axis}},
                       sizes.size());
}

Result slice(Operation& operation, std::string_view kind) {
  GraphBuilder& graph = operation.graph;
  const std::int64_t rank = graph.rank(operation.input(0));
  const auto count = static_cast<std::size_t>(rank);
  const Integers starts = operation.options.counts("starts", count, 0);
  Integers ends = operation.options.counts("sizes", count, 0);
  const Integers steps = operation.options.counts("strides", count, 1);
  if (!operation.options.has("starts") || !operation.options.has("sizes")) {
    return refuse("'starts' or 'sizes' is missing");
  }
  for (std::size_t i = 0; i < count; ++i) {
    ends[i] += starts[i];
    if (ends[i] > graph.shape(operation.input(0))[static_cast<std::int64_t>(i)].value()) {
      return refuse(fmt::format("a slice that ends at {}", ends[i]));
    }
  }
  return only(graph.add(kind, {operation.input(0), graph.integers(starts), graph.integers(ends),
                               graph.integers(first_numbers(rank)), graph.integers(steps)}));
}

Result reverse(Operation& operation, std::string_view kind) {
  GraphBuilder& graph = operation.graph;
  const Shape& shape = graph.shape(operation.input(0));
  const Integers axes = axes_option(operation, "axes", shape.rank(), first_numbers(shape.rank()));
  QUADRANT_CHECK(operation.options.status());
  Integers starts;
  Integers ends;
  for (const std::int64_t axis : axes) {
    starts.push_back(shape[axis].value() - 1);
    ends.push_back(-shape[axis].value() - 1);  // in front of the first
  }
  return only(graph.add(kind, {operation.input(0), graph.integers(starts), graph.integers(ends),
                               graph.integers(axes), graph.integers(Integers(axes.size(), -1))}));
}

/// WebNN's name of a mode of padding, and ONNX's.
struct PadMode {
  std::string_view webnn;
  std::string_view onnx;
};
constexpr std::array pad_modes{PadMode{"constant", "constant"}, PadMode{"edge", "edge"},
                               PadMode{"reflection", "reflect"}};

Result pad(Operation& operation, std::string_view kind) {
  GraphBuilder& graph = operation.graph;
  const Value data = operation.input(0);
  const auto rank = static_cast<std::size_t>(graph.rank(data));
  Integers pads = operation.options.counts("beginningPadding", rank, 0);
  const Integers ends = operation.options.counts("endingPadding", rank, 0);
  pads.insert(pads.end(), ends.begin(), ends.end());
  const std::string mode = operation.options.text("mode", "constant");
  const double value = operation.options.real("value", 0);
  QUADRANT_CHECK(operation.options.status());
  const auto found = std::ranges::find(pad_modes, mode, &PadMode::webnn);
  if (found == pad_modes.end()) return refuse(fmt::format("no mode: '{}'", mode));
  std::vector<Value> operands{data, graph.integers(pads)};
  if (mode == "constant") {
    QUADRANT_TRY(operands.emplace_back(), graph.number(graph.element(data), value));
  }
  return only(graph.add(kind, std::move(operands), {{"mode", std::string(found->onnx)}}));
}

Result triangular(Operation& operation, std::string_view kind) {
  const std::int64_t diagonal = operation.options.integer("diagonal", 0);
  const bool upper = operation.options.boolean("upper", true);
  QUADRANT_CHECK(operation.options.status());
  return only(operation.graph.add(kind, {operation.input(0), operation.graph.integer(diagonal)},
                                  {{"upper", flag(upper)}}));
}

constexpr std::array move_table{
    OperationEntry{"concat", concat, ops::Concat::kind, 1, any_number},
    OperationEntry{"expand", with_list<new_shape>, ops::Expand::kind},
    OperationEntry{"pad", pad, "onnx.Pad"},
    OperationEntry{"reshape", with_list<new_shape>, ops::Reshape::kind},
    OperationEntry{"reverse", reverse, ops::Slice::kind},
    OperationEntry{"slice", slice, ops::Slice::kind},
    OperationEntry{"split", split, ops::Split::kind},
    OperationEntry{"tile", with_list<repetitions>, "onnx.Tile"},
    OperationEntry{"transpose", transpose, ops::Transpose::kind},
    OperationEntry{"triangular", triangular, "onnx.Trilu"},
};

}  // namespace

std::span<const OperationEntry> move_operations() noexcept { return move_table; }

}  // namespace quadrant::webnn

#include "ir/operand_lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "ir/known_integers.hpp"

namespace quadrant::inline v0::detail {
namespace {

using Range = ops::Slice::Range;
using State = IntegerList::State;

tl::unexpected<Error> bad_list(std::string message) {
  return fail(ErrorCode::invalid_model, std::move(message));
}

Range range_of(std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (extent == 0) return {};
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  std::int64_t distance = 0;
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, extent);
    distance = std::clamp<std::int64_t>(end, 0, extent) - start;
  } else {
    start = std::clamp<std::int64_t>(start, 0, extent - 1);
    distance = start - std::clamp<std::int64_t>(end, -1, extent - 1);
  }
  if (distance <= 0) return {};
  // The magnitude of the smallest integer has 64 bits.
  const auto magnitude =
      step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const auto count =
      static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / magnitude) + 1;
  return {start, count == 1 ? 1 : step, count};
}

// ONNX Runtime reads the largest integers as "to the end", wherever that is; ONNX's text and its
// shape inference read them as any other. True where these differ.
bool is_disputed(std::int64_t extent, std::int64_t end, std::int64_t step) {
  const bool largest = end == std::numeric_limits<std::int32_t>::max() ||
                       end == std::numeric_limits<std::int64_t>::max();
  return largest && (step < 0 || end < extent);
}

// What the lists of a slice say in place `i` about an axis of `extent`; empty where that is not
// known.
std::optional<Range> stated_range(Extent extent, const IntegerList& starts, const IntegerList& ends,
                                  const IntegerList& steps, std::size_t i) {
  if (starts.is_computed() || ends.is_computed() || steps.is_computed()) return std::nullopt;
  if (!extent.is_known()) return std::nullopt;
  return slice_range(extent.value(), starts.values[i], ends.values[i], steps.values[i]);
}

// How often each label occurs, by its character.
using Labels = std::array<std::int64_t, 128>;

// The labels of one term of an equation; empty where one of its characters is none.
std::optional<Labels> labels_of(std::string_view term) {
  Labels labels{};
  for (const char label : term) {
    const bool is_label = (label >= 'a' && label <= 'z') || (label >= 'A' && label <= 'Z');
    if (!is_label) return std::nullopt;
    ++labels[static_cast<unsigned char>(label)];
  }
  return labels;
}

// The terms in front of the arrow.
std::vector<std::string> operand_terms(std::string_view text) {
  std::vector<std::string> terms;
  for (std::size_t comma = text.find(','); comma != std::string_view::npos;
       comma = text.find(',')) {
    terms.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  terms.emplace_back(text);
  return terms;
}

// Whether the result has each of its labels once, and all of them from operands.
bool can_be_result(const Labels& labels, const Labels& occurrences) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] > 1 || (labels[i] == 1 && occurrences[i] == 0)) return false;
  }
  return true;
}

// The result of an equation without an arrow: the labels that occur once, in alphabetical order.
std::string implied_result(const Labels& occurrences) {
  std::string result;
  for (std::size_t i = 0; i < occurrences.size(); ++i) {
    if (occurrences[i] == 1) result.push_back(static_cast<char>(i));
  }
  return result;
}

}  // namespace

std::optional<Range> slice_range(std::int64_t extent, std::int64_t start, std::int64_t end,
                                 std::int64_t step) {
  if (is_disputed(extent, end, step)) return std::nullopt;
  return range_of(extent, start, end, step);
}

Expected<IntegerList> integer_list(NodeRef node, std::string_view attribute, std::size_t operand,
                                   std::int64_t limit) {
  if (const Attribute* stated = node.graph->attribute(node.id, attribute)) {
    const auto* values = std::get_if<std::vector<std::int64_t>>(stated);
    if (!values) return bad_list(fmt::format("attribute '{}' has the wrong type", attribute));
    if (std::cmp_greater(values->size(), limit)) return IntegerList{State::computed, {}};
    return IntegerList{State::known, *values};
  }
  if (node.operand(operand).is_absent()) return IntegerList{};
  // What no contents could mend is wrong before they are known.
  const TensorType& type = *node.operand_type(operand);
  if (type.shape.rank() > 1) {
    return bad_list(fmt::format("operand {} ('{}') has {} dimensions and not one", operand,
                                attribute, type.shape.rank()));
  }
  if (type.element != ElementType::undefined && !is_integer(type.element)) {
    return bad_list(fmt::format("operand {} ('{}') is {}, where integers were expected", operand,
                                attribute, to_string(type.element)));
  }
  const Constant* contents = node.operand_constant(operand);
  if (!contents) {
    auto known = all_known_integers(*node.graph, node.operand(operand));
    if (!known || std::cmp_greater(known->size(), limit)) return IntegerList{State::computed, {}};
    return IntegerList{State::known, *std::move(known)};
  }
  if (!*contents) return IntegerList{State::computed, {}};
  if (contents->element_count() > limit) return IntegerList{State::computed, {}};
  QUADRANT_TRY(auto values, read_integers(*contents, limit));
  return IntegerList{State::known, std::move(values)};
}

Expected<std::vector<std::optional<Range>>> slice_ranges(NodeRef node, const Shape& shape) {
  QUADRANT_TRY(IntegerList starts, integer_list(node, "starts", 1));
  QUADRANT_TRY(IntegerList ends, integer_list(node, "ends", 2));
  QUADRANT_TRY(IntegerList axes, integer_list(node, "axes", 3));
  QUADRANT_TRY(IntegerList steps, integer_list(node, "steps", 4));
  const std::int64_t rank = shape.rank();
  std::vector<std::optional<Range>> ranges(static_cast<std::size_t>(rank));
  if (starts.state == State::missing || ends.state == State::missing) {
    return bad_list("a slice without starts or ends");
  }
  if (axes.is_empty()) {
    if (starts.is_computed() && ends.is_computed()) return ranges;
    axes.values.resize(std::max(starts.values.size(), ends.values.size()));
    std::iota(axes.values.begin(), axes.values.end(), 0);
  }
  if (axes.is_computed()) return ranges;
  const std::size_t count = axes.values.size();
  if (steps.is_empty()) steps = {State::known, std::vector<std::int64_t>(count, 1)};
  for (const IntegerList* list : {&starts, &ends, &steps}) {
    if (!list->is_computed() && list->values.size() != count) {
      return bad_list(fmt::format("a slice of {} axes with {} starts, ends or steps", count,
                                  list->values.size()));
    }
  }
  for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
    const auto extent = shape.extents()[axis].known();
    if (extent) ranges[axis] = range_of(*extent, 0, *extent, 1);
  }
  std::vector<bool> seen(ranges.size(), false);
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = normalize_axis(axes.values[i], rank);
    if (!axis) return bad_list(fmt::format("a slice of axis {} of {}", axes.values[i], rank));
    const auto at = static_cast<std::size_t>(*axis);
    if (seen[at]) return bad_list("a slice that names an axis twice");
    seen[at] = true;
    if (!steps.is_computed() && steps.values[i] == 0) return bad_list("a slice with a step of 0");
    ranges[at] = stated_range(shape[*axis], starts, ends, steps, i);
  }
  return ranges;
}

Expected<std::vector<Extent>> split_sizes(NodeRef node, Extent extent) {
  const auto count = static_cast<std::int64_t>(node.graph->result_count(node.id));
  QUADRANT_TRY(IntegerList list, integer_list(node, "split", 1, count));
  std::vector<Extent> sizes(static_cast<std::size_t>(count), Extent::open());
  if (!list.is_empty()) {
    if (list.is_computed()) return sizes;
    if (list.values.size() != sizes.size()) {
      return bad_list(fmt::format("a split into {} with {} results", list.values.size(), count));
    }
    std::int64_t sum = 0;
    for (const std::int64_t size : list.values) {
      if (size < 0 || __builtin_add_overflow(sum, size, &sum)) {
        return bad_list(fmt::format("a split with a part of {}", size));
      }
    }
    if (!may_equal(extent, sum)) {
      return bad_list(
          fmt::format("a split of {} into parts that are {} together", to_string(extent), sum));
    }
    std::ranges::copy(list.values, sizes.begin());
    return sizes;
  }
  const Attribute* stated = node.graph->attribute(node.id, "num_outputs");
  const auto* outputs = stated ? std::get_if<std::int64_t>(stated) : nullptr;
  if (stated && (!outputs || *outputs != count)) {
    return bad_list(fmt::format("a split whose 'num_outputs' is not its {} results", count));
  }
  if (!extent.is_known() || count == 0) return sizes;
  const std::int64_t whole = extent.value();
  const std::int64_t size = whole / count + (whole % count != 0 ? 1 : 0);
  // All parts but the last are of that size; at most `count` more than the extent, so no overflow.
  const std::int64_t last = whole - size * (count - 1);
  if (last < 0 || (last != size && !stated)) {
    return bad_list(fmt::format("a split of {} into {} equal parts", whole, count));
  }
  std::ranges::fill(sizes, size);
  sizes.back() = last;
  return sizes;
}

Expected<std::optional<ops::Einsum::Equation>> einsum_equation(NodeRef node) {
  const Attribute* attribute = node.graph->attribute(node.id, "equation");
  const auto* stated = attribute ? std::get_if<std::string>(attribute) : nullptr;
  if (!stated) return bad_list("an einsum without an equation");
  std::string text = *stated;
  std::erase(text, ' ');
  if (text.find("...") != std::string::npos) return std::nullopt;

  const std::size_t arrow = text.find("->");
  ops::Einsum::Equation equation;
  equation.operands = operand_terms(std::string_view(text).substr(0, arrow));
  Labels occurrences{};  // among the operands
  bool repeats = false;  // a label, inside one operand
  const auto nonsense = [] { return bad_list("attribute 'equation' is no einsum equation"); };
  for (const std::string& term : equation.operands) {
    const auto labels = labels_of(term);
    if (!labels) return nonsense();
    for (std::size_t i = 0; i < labels->size(); ++i) {
      repeats = repeats || (*labels)[i] > 1;
      occurrences[i] += (*labels)[i];
    }
  }
  if (equation.operands.size() != node.operands().size()) {
    return bad_list(fmt::format("an equation of {} operands for {}", equation.operands.size(),
                                node.operands().size()));
  }
  if (arrow != std::string::npos) {
    equation.result = text.substr(arrow + 2);
    const auto labels = labels_of(equation.result);
    if (!labels || !can_be_result(*labels, occurrences)) return nonsense();
  } else {
    equation.result = implied_result(occurrences);
  }
  if (repeats) return std::nullopt;
  return equation;
}

}  // namespace quadrant::inline v0::detail

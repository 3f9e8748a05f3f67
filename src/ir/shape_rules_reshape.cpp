// Operations that keep all elements in their order and give them another shape.
// https://onnx.ai/onnx/operators/onnx__Reshape.html, ..._Squeeze.html, ..._Unsqueeze.html,
// ..._Flatten.html
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/shape_rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {
namespace {

// What a reshape's second operand asks for.
struct Request {
  std::vector<Extent> extents;  // open for the -1, and for those that are not known
  std::vector<bool> copied;     // whether each extent is the data's
  std::ptrdiff_t open = -1;     // where the -1 is
};

Expected<Request> read_request(const Shape& data, const KnownIntegers& asked, bool allow_zero) {
  std::ptrdiff_t open = -1;
  std::vector<Extent> extents;
  std::vector<bool> copied(asked.size(), false);
  for (std::size_t axis = 0; axis < asked.size(); ++axis) {
    extents.push_back(Extent::of(asked[axis]));
    if (asked[axis].value_or(0) < -1) {
      return invalid(fmt::format("a reshape to an extent of {}", *asked[axis]));
    }
    if (asked[axis] == -1) {
      extents[axis] = Extent::open();
      if (open >= 0) return invalid("a reshape with more than one -1");
      open = static_cast<std::ptrdiff_t>(axis);
    } else if (asked[axis] == 0 && !allow_zero) {
      if (data.is_ranked() && std::cmp_greater_equal(axis, data.rank())) {
        return invalid(fmt::format("a reshape copies dimension {} of {}", axis, data.rank()));
      }
      copied[axis] = true;
      extents[axis] = data.is_ranked() ? data.extents()[axis] : Extent::open();
    }
  }
  if (open >= 0 && allow_zero && std::ranges::find(asked, 0) != asked.end()) {
    return invalid("a reshape with both -1 and, as 'allowzero' is set, 0");
  }
  return Request{std::move(extents), std::move(copied), open};
}

// The extents of the result; the -1 becomes one where it follows.
Expected<Shape> reshaped(const Shape& data, Request request) {
  auto& [extents, copied, open] = request;
  // Copied dimensions divide out, known or not.
  std::vector<Extent> before;
  std::vector<Extent> after;
  bool empty = false;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (copied[axis]) {
      empty = empty || surely_equal(extents[axis], 0);
    } else if (std::cmp_not_equal(axis, open)) {
      after.push_back(extents[axis]);
    }
  }
  if (data.is_ranked()) {
    for (std::size_t axis = 0; axis < data.extents().size(); ++axis) {
      if (axis >= copied.size() || !copied[axis]) before.push_back(data.extents()[axis]);
    }
  }
  const auto available = Shape(std::move(before)).element_count();
  const auto asked = Shape(std::move(after)).element_count();
  if (!data.is_ranked() || empty || !available || !asked) return Shape(std::move(extents));
  // With a -1, `asked` is not zero: the zeros are copied, and so not among `after`.
  if (open < 0 ? *available != *asked : *available % *asked != 0) {
    return invalid(fmt::format("a reshape of [{}] to [{}]", to_string(data),
                               to_string(Shape(std::move(extents)))));
  }
  if (open >= 0) extents[static_cast<std::size_t>(open)] = *available / *asked;
  return Shape(std::move(extents));
}

// Which axes of `rank` a list names. The list may name one twice only if `repeats`.
Expected<std::vector<bool>> named_axes(const std::vector<std::int64_t>& axes, std::int64_t rank,
                                       bool repeats) {
  std::vector<bool> named(static_cast<std::size_t>(rank), false);
  for (const std::int64_t stated : axes) {
    const auto axis = normalize_axis(stated, rank);
    if (!axis) return invalid(fmt::format("axis {} of {} dimensions", stated, rank));
    const auto at = static_cast<std::size_t>(*axis);
    if (named[at] && !repeats) return invalid(fmt::format("axis {} twice", stated));
    named[at] = true;
  }
  return named;
}

}  // namespace

Expected<TensorType> infer_reshape(NodeRef node) {
  QUADRANT_TRY(const std::int64_t allow_zero, attribute_or<std::int64_t>(node, "allowzero", 0));
  TensorType result = moved(node);
  const Shape length = operand_shape(node, 1);
  if (length.is_ranked() && length.rank() != 1) {
    return invalid("the shape of a reshape must be one-dimensional");
  }
  QUADRANT_TRY(const auto asked, listed_extents(node, "shape", 1));
  if (!asked) return result;
  const Shape data = operand_shape(node, 0);
  QUADRANT_TRY(auto request, read_request(data, *asked, allow_zero != 0));
  QUADRANT_TRY(result.shape, reshaped(data, std::move(request)));
  return result;
}

Expected<TensorType> infer_squeeze(NodeRef node) {
  TensorType result = moved(node);
  const Shape data = operand_shape(node, 0);
  QUADRANT_TRY(const IntegerList axes, integer_list(node, "axes", 1));
  if (!data.is_ranked() || axes.is_computed()) return result;
  std::vector<Extent> extents;
  if (axes.state == IntegerList::State::missing) {
    if (!data.is_static()) return result;
    std::ranges::remove_copy(data.known_extents(), std::back_inserter(extents), 1);
  } else {
    // To ONNX's shape inference an empty list names no axis, to ONNX Runtime all of extent 1.
    if (axes.is_empty()) return result;
    QUADRANT_TRY(const auto dropped, named_axes(axes.values, data.rank(), true));
    for (std::size_t axis = 0; axis < dropped.size(); ++axis) {
      const Extent extent = data.extents()[axis];
      if (!dropped[axis]) {
        extents.push_back(extent);
      } else if (!may_equal(extent, 1)) {
        return invalid(
            fmt::format("a squeeze of axis {}, whose extent is {}", axis, to_string(extent)));
      }
    }
  }
  result.shape = Shape(std::move(extents));
  return result;
}

Expected<TensorType> infer_unsqueeze(NodeRef node) {
  TensorType result = moved(node);
  const Shape data = operand_shape(node, 0);
  QUADRANT_TRY(const IntegerList axes, integer_list(node, "axes", 1));
  if (axes.state == IntegerList::State::missing) return invalid("an unsqueeze without axes");
  const std::int64_t rank = data.rank() + static_cast<std::int64_t>(axes.values.size());
  if (!data.is_ranked() || axes.is_computed() || rank > largest_rank) return result;
  QUADRANT_TRY(const auto added, named_axes(axes.values, rank, false));
  std::vector<Extent> extents;
  extents.reserve(added.size());
  auto next = data.extents().begin();
  for (const bool is_new : added) extents.push_back(is_new ? Extent(1) : *next++);
  result.shape = Shape(std::move(extents));
  return result;
}

Expected<TensorType> infer_flatten(NodeRef node) {
  TensorType result = moved(node, Shape{Extent::open(), Extent::open()});
  const Shape data = operand_shape(node, 0);
  QUADRANT_TRY(const std::int64_t stated, attribute_or<std::int64_t>(node, "axis", 1));
  if (!data.is_ranked()) return result;
  const auto axis = ops::Flatten{node}.axis();
  if (!axis) return invalid(fmt::format("axis {} of {} dimensions", stated, data.rank()));
  const auto product = [](std::span<const Extent> extents) {
    const auto count = Shape(std::vector(extents.begin(), extents.end())).element_count();
    return count ? Extent(*count) : Extent::open();
  };
  const auto split = static_cast<std::size_t>(*axis);
  result.shape = {product(data.extents().first(split)), product(data.extents().subspan(split))};
  return result;
}

}  // namespace quadrant::inline v0::detail

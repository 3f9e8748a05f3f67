#include "quadrant/ir/ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "ir/operand_lists.hpp"

namespace quadrant::inline v0 {
namespace {

// By TensorProto.DataType (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto); all beyond are
// types that the library does not know.
constexpr std::array onnx_types{
    ElementType::undefined,       // 0
    ElementType::float32,         // 1
    ElementType::uint8,           // 2
    ElementType::int8,            // 3
    ElementType::uint16,          // 4
    ElementType::int16,           // 5
    ElementType::int32,           // 6
    ElementType::int64,           // 7
    ElementType::opaque,          // 8, strings
    ElementType::boolean,         // 9
    ElementType::float16,         // 10
    ElementType::float64,         // 11
    ElementType::uint32,          // 12
    ElementType::uint64,          // 13
    ElementType::opaque,          // 14, complex numbers of 64 bits
    ElementType::opaque,          // 15, ... and 128
    ElementType::bfloat16,        // 16
    ElementType::float8e4m3,      // 17
    ElementType::float8e4m3fnuz,  // 18
    ElementType::float8e5m2,      // 19
    ElementType::float8e5m2fnuz,  // 20
    ElementType::uint4,           // 21
    ElementType::int4,            // 22
    ElementType::float4e2m1,      // 23
    ElementType::float8e8m0,      // 24
    ElementType::uint2,           // 25
    ElementType::int2,            // 26
    ElementType::float6e2m3,      // 27
    ElementType::float6e3m2,      // 28
};
static_assert(onnx_types[22] == ElementType::int4 && onnx_types.size() == 29);

}  // namespace

std::optional<ElementType> numbered_element_type(std::int64_t number) noexcept {
  if (number <= 0) return std::nullopt;
  return std::cmp_less(number, onnx_types.size()) ? onnx_types[static_cast<std::size_t>(number)]
                                                  : ElementType::opaque;
}

std::int64_t element_type_number(ElementType element) noexcept {
  const auto* const found = std::ranges::find(onnx_types, element);
  const bool is_known = element != ElementType::opaque && found != onnx_types.end();
  return is_known ? found - onnx_types.begin() : 0;
}

namespace ops {
namespace {

// The attribute `axis`, counted in the rank of `type`.
std::optional<std::int64_t> axis_of(NodeRef node, const TensorType* type) {
  if (!type || !type->shape.is_ranked()) return std::nullopt;
  return normalize_axis(node.attribute_or<std::int64_t>("axis", 0), type->shape.rank());
}

}  // namespace

std::vector<std::int64_t> Transpose::perm() const {
  const TensorType* data = node.operand_type(0);
  const Shape* shape = data && data->shape.is_ranked() ? &data->shape : nullptr;
  if (!shape && node.graph->result_count(node.id) > 0 && node.type().shape.is_ranked()) {
    shape = &node.type().shape;
  }
  const Attribute* attribute = node.graph->attribute(node.id, "perm");
  const auto* stated = attribute ? std::get_if<std::vector<std::int64_t>>(attribute) : nullptr;
  if (!shape && !stated) return {};
  const std::size_t rank = shape ? static_cast<std::size_t>(shape->rank()) : stated->size();
  std::vector<std::int64_t> perm(rank);
  if (!stated) {
    for (std::size_t i = 0; i < rank; ++i) perm[i] = static_cast<std::int64_t>(rank - 1 - i);
    return perm;
  }
  if (stated->size() != rank) return {};
  std::vector<bool> seen(rank, false);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis = normalize_axis((*stated)[i], static_cast<std::int64_t>(rank));
    if (!axis || seen[static_cast<std::size_t>(*axis)]) return {};
    seen[static_cast<std::size_t>(*axis)] = true;
    perm[i] = *axis;
  }
  return perm;
}

bool Reshape::allow_zero() const { return node.attribute_or<std::int64_t>("allowzero", 0) != 0; }

std::optional<std::vector<std::int64_t>> Reshape::request(const Shape& wanted) {
  constexpr std::int64_t whatever_is_left = -1;
  const auto extents = wanted.extents();
  const auto unknown = std::ranges::count(extents, false, &Extent::is_known);
  const bool has_zero = std::ranges::any_of(extents, [](Extent e) { return surely_equal(e, 0); });
  // Of no elements, any number may be left.
  const bool can_ask = wanted.is_ranked() && (unknown == 0 || (unknown == 1 && !has_zero));
  if (!can_ask) return std::nullopt;
  std::vector<std::int64_t> asked;
  for (const Extent extent : extents) asked.push_back(extent.value_or(whatever_is_left));
  return asked;
}

std::optional<std::int64_t> Flatten::axis() const {
  const auto axis = node.attribute_or<std::int64_t>("axis", 1);
  const TensorType* data = node.operand_type(0);
  if (!data || !data->shape.is_ranked()) return std::nullopt;
  const std::int64_t rank = data->shape.rank();
  return axis == rank ? rank : normalize_axis(axis, rank);
}

std::optional<ElementType> Cast::to() const {
  return numbered_element_type(node.attribute_or<std::int64_t>("to", 0));
}

std::optional<std::vector<Slice::Range>> Slice::ranges() const {
  const TensorType* data = node.operand_type(0);
  if (!data || !data->shape.is_ranked()) return std::nullopt;
  if (data->shape.rank() > detail::largest_rank) return std::nullopt;
  const auto found = detail::slice_ranges(node, data->shape);
  if (!found) return std::nullopt;
  std::vector<Range> ranges;
  for (const auto& range : *found) {
    if (!range) return std::nullopt;
    ranges.push_back(*range);
  }
  return ranges;
}

std::optional<std::int64_t> Split::axis() const { return axis_of(node, node.operand_type(0)); }

std::optional<std::vector<std::int64_t>> Split::sizes() const {
  const auto along = axis();
  if (!along) return std::nullopt;
  const auto extents = detail::split_sizes(node, node.operand_type(0)->shape[*along]);
  if (!extents) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const Extent size : *extents) {
    if (!size.is_known()) return std::nullopt;
    sizes.push_back(size.value());
  }
  return sizes;
}

std::optional<std::vector<std::int64_t>> Split::offsets() const {
  auto offsets = sizes();
  if (!offsets) return std::nullopt;
  std::exclusive_scan(offsets->begin(), offsets->end(), offsets->begin(), std::int64_t{0});
  return offsets;
}

std::optional<std::int64_t> Split::offset(std::uint32_t result) const {
  const auto all = offsets();
  if (!all || result >= all->size()) return std::nullopt;
  return (*all)[result];
}

std::optional<std::int64_t> Concat::axis() const {
  if (!node.graph->attribute(node.id, "axis")) return std::nullopt;
  for (std::size_t operand = 0; operand < node.operands().size(); ++operand) {
    const TensorType* type = node.operand_type(operand);
    if (type && type->shape.is_ranked()) return axis_of(node, type);
  }
  return node.graph->result_count(node.id) > 0 ? axis_of(node, &node.type()) : std::nullopt;
}

std::optional<std::int64_t> Gather::axis() const { return axis_of(node, node.operand_type(0)); }

std::optional<Einsum::Equation> Einsum::equation() const {
  auto equation = detail::einsum_equation(node);
  return equation ? *std::move(equation) : std::nullopt;
}

bool Gemm::trans_a() const { return node.attribute_or<std::int64_t>("transA", 0) != 0; }
bool Gemm::trans_b() const { return node.attribute_or<std::int64_t>("transB", 0) != 0; }

std::optional<std::int64_t> FakeQuantize::levels() const {
  const auto levels = node.attribute_or<std::int64_t>("levels", 0);
  return levels < 2 ? std::nullopt : std::optional(levels);
}

std::optional<FakeQuantize::Broadcast> FakeQuantize::broadcast() const {
  const auto given = node.attribute_or<std::string>("auto_broadcast", "numpy");
  if (given == "numpy") return Broadcast::numpy;
  if (given == "none") return Broadcast::none;
  if (given == "pdpd") return Broadcast::pdpd;
  return std::nullopt;
}

Expected<Shape> FakeQuantize::aligned(const Shape& bound, const Shape& x) const {
  const auto rule = broadcast();
  if (!rule) {
    return fail(ErrorCode::invalid_model,
                fmt::format("auto_broadcast '{}', where numpy, none or pdpd is wanted",
                            node.attribute_or<std::string>("auto_broadcast", "")));
  }
  if (!bound.is_ranked() || !x.is_ranked()) return Shape();

  std::vector<Extent> extents(bound.extents().begin(), bound.extents().end());
  std::int64_t first = x.rank() - bound.rank();  // the axis of X at which the extents begin
  if (*rule == Broadcast::pdpd) {
    const auto axis = node.attribute_or<std::int64_t>("axis", 0);
    if (axis != -1) first = axis;
    while (!extents.empty() && surely_equal(extents.back(), 1)) extents.pop_back();
  } else if (*rule == Broadcast::numpy) {
    // OpenVINO's bounds may have more axes than X.
    for (; first < 0 && may_equal(extents.front(), 1); ++first) extents.erase(extents.begin());
  }

  const auto count = static_cast<std::int64_t>(extents.size());
  bool fits = first >= 0 && count <= x.rank() && first <= x.rank() - count;
  if (*rule == Broadcast::none) fits = first == 0;
  std::vector<Extent> stretched(static_cast<std::size_t>(x.rank()), 1);
  for (std::int64_t i = 0; fits && i < count; ++i) {
    const Extent extent = extents[static_cast<std::size_t>(i)];
    const bool repeated = surely_equal(extent, 1) && *rule != Broadcast::none;
    fits = repeated || may_equal(extent, x[first + i]);
    stretched[static_cast<std::size_t>(first + i)] = extent;
  }
  if (fits) return Shape(std::move(stretched));
  return fail(ErrorCode::invalid_model,
              fmt::format("a bound of shape [{}] does not broadcast to [{}]", to_string(bound),
                          to_string(x)));
}

std::string StatsRef::key() const { return node.attribute_or<std::string>("stats_key", {}); }

std::string CoupledRef::key() const { return node.attribute_or<std::string>("coupled_key", {}); }

}  // namespace ops
}  // namespace quadrant::inline v0

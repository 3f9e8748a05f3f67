// One rule an operation: the type of the result from the types of the operands. The rules follow
// ONNX (https://onnx.ai/onnx/operators); what is unknown stays unknown.
#include "ir/shape_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ir/result_type.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {
namespace {

Expected<TensorType> unknown(NodeRef /*node*/) { return TensorType{}; }

Expected<TensorType> constant(NodeRef node) {
  const Constant* contents = node.graph->constant(node.id);
  if (!contents || !*contents) return invalid("a constant without contents");
  return TensorType{contents->element(), contents->shape(), node.type().quantization};
}

Expected<TensorType> identity(NodeRef node) {
  const TensorType& data = *node.operand_type(0);
  return TensorType{data.element, operand_shape(node, 0), data.quantization};
}

Expected<TensorType> transpose(NodeRef node) {
  const TensorType& data = *node.operand_type(0);
  QUADRANT_TRY(auto perm, attribute_or(node, "perm", std::vector<std::int64_t>{}));
  const bool stated = node.graph->attribute(node.id, "perm") != nullptr;
  const Shape shape = operand_shape(node, 0);
  TensorType result;
  if (!data.is_quantized()) result.element = data.element;
  if (!shape.is_ranked() && !stated) return result;

  const std::int64_t rank =
      shape.is_ranked() ? shape.rank() : static_cast<std::int64_t>(perm.size());
  if (!stated) {
    for (std::int64_t axis = rank; axis-- > 0;) perm.push_back(axis);
  }
  if (rank > largest_rank) return result;
  if (std::cmp_not_equal(perm.size(), rank)) {
    return invalid(
        fmt::format("attribute 'perm' has {} axes for {} dimensions", perm.size(), rank));
  }
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> moved_to(perm.size(), -1);
  for (const std::int64_t stated_axis : perm) {
    const auto axis = normalize_axis(stated_axis, rank);
    if (!axis || moved_to[static_cast<std::size_t>(*axis)] >= 0) {
      return invalid("attribute 'perm' is no permutation");
    }
    moved_to[static_cast<std::size_t>(*axis)] = static_cast<std::int64_t>(extents.size());
    extents.push_back(shape.is_ranked() ? shape[*axis] : Shape::dynamic);
  }
  result.shape = Shape(std::move(extents));

  // Scales along one axis move with it. Those of blocks would have to be transposed themselves.
  if (data.is_quantized() && data.quantization->granularity.kind != Granularity::Kind::block) {
    result.element = data.element;
    result.quantization = data.quantization;
    const Granularity& granularity = data.quantization->granularity;
    if (granularity.kind == Granularity::Kind::axis) {
      if (granularity.axis < 0 || granularity.axis >= rank) {
        return invalid(
            fmt::format("quantized along axis {} of {} dimensions", granularity.axis, rank));
      }
      auto moved = std::make_shared<UniformType>(*data.quantization);
      moved->granularity.axis = moved_to[static_cast<std::size_t>(granularity.axis)];
      result.quantization = std::move(moved);
    }
  }
  return result;
}

// The extents that a reshape's second operand asks for; -1 becomes an extent where it follows.
Expected<Shape> reshaped(const Shape& data, std::vector<std::int64_t> extents, bool allow_zero) {
  std::ptrdiff_t open = -1;  // where the -1 is
  std::vector<bool> copied(extents.size(), false);
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] < -1) {
      return invalid(fmt::format("a reshape to an extent of {}", extents[axis]));
    }
    if (extents[axis] == -1) {
      if (open >= 0) return invalid("a reshape with more than one -1");
      open = static_cast<std::ptrdiff_t>(axis);
    } else if (extents[axis] == 0 && !allow_zero) {
      if (data.is_ranked() && std::cmp_greater_equal(axis, data.rank())) {
        return invalid(fmt::format("a reshape copies dimension {} of {}", axis, data.rank()));
      }
      copied[axis] = true;
      extents[axis] = data.is_ranked() ? data.extents()[axis] : Shape::dynamic;
    }
  }
  if (open >= 0 && allow_zero && std::ranges::find(extents, 0) != extents.end()) {
    return invalid("a reshape with both -1 and, as 'allowzero' is set, 0");
  }

  // Copied dimensions divide out, known or not.
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> after;
  bool empty = false;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (copied[axis]) {
      empty = empty || extents[axis] == 0;
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

Expected<TensorType> reshape(NodeRef node) {
  const TensorType& data = *node.operand_type(0);
  QUADRANT_TRY(const std::int64_t allow_zero, attribute_or<std::int64_t>(node, "allowzero", 0));
  TensorType result;
  if (!data.is_quantized() || data.quantization->granularity.kind == Granularity::Kind::tensor) {
    result.element = data.element;
    result.quantization = data.quantization;
  }
  const Constant* asked = node.operand_constant(1);
  if (!asked || !*asked) return result;
  if (asked->shape().rank() != 1) return invalid("the shape of a reshape must be one-dimensional");
  if (asked->element_count() > largest_rank) return result;
  QUADRANT_TRY(auto extents, read_integers(*asked, largest_rank));
  QUADRANT_TRY(result.shape, reshaped(operand_shape(node, 0), std::move(extents), allow_zero != 0));
  return result;
}

Expected<std::int64_t> broadcast(std::int64_t a, std::int64_t b) {
  if (a == 1) return b;
  if (b == 1) return a;
  if (a == Shape::dynamic) return b;
  if (b == Shape::dynamic || a == b) return a;
  return invalid(fmt::format("extents {} and {} do not broadcast", a, b));
}

Expected<TensorType> matmul(NodeRef node) {
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  const Shape a = operand_shape(node, 0);
  const Shape b = operand_shape(node, 1);
  for (const Shape& shape : {a, b}) {
    if (shape.is_ranked() && shape.rank() == 0) return invalid("a scalar in a matmul");
  }
  if (!a.is_ranked() || !b.is_ranked()) return result;
  const std::int64_t inner_a = a[a.rank() - 1];
  const std::int64_t inner_b = b[std::max<std::int64_t>(b.rank() - 2, 0)];
  if (!compatible(inner_a, inner_b)) {
    return invalid(fmt::format("inner dimensions {} and {} differ ([{}] times [{}])", inner_a,
                               inner_b, to_string(a), to_string(b)));
  }
  const std::int64_t leading_a = std::max<std::int64_t>(a.rank() - 2, 0);
  const std::int64_t leading_b = std::max<std::int64_t>(b.rank() - 2, 0);
  const std::int64_t leading = std::max(leading_a, leading_b);
  std::vector<std::int64_t> extents;
  for (std::int64_t axis = 0; axis < leading; ++axis) {
    const std::int64_t axis_a = axis - (leading - leading_a);
    const std::int64_t axis_b = axis - (leading - leading_b);
    QUADRANT_TRY(const std::int64_t extent,
                 broadcast(axis_a < 0 ? 1 : a[axis_a], axis_b < 0 ? 1 : b[axis_b]));
    extents.push_back(extent);
  }
  if (a.rank() > 1) extents.push_back(a[a.rank() - 2]);
  if (b.rank() > 1) extents.push_back(b[b.rank() - 1]);
  result.shape = Shape(std::move(extents));
  return result;
}

Expected<TensorType> gemm(NodeRef node) {
  TensorType result;
  QUADRANT_TRY(result.element, common_element(node));
  QUADRANT_TRY(const std::int64_t trans_a, attribute_or<std::int64_t>(node, "transA", 0));
  QUADRANT_TRY(const std::int64_t trans_b, attribute_or<std::int64_t>(node, "transB", 0));
  const Shape a = operand_shape(node, 0);
  const Shape b = operand_shape(node, 1);
  const Shape c = operand_shape(node, 2);
  for (const Shape& shape : {a, b}) {
    if (shape.is_ranked() && shape.rank() != 2) {
      return invalid(fmt::format("a gemm of {} dimensions", shape.rank()));
    }
  }
  const auto extent = [](const Shape& shape, bool second) {
    return shape.is_ranked() ? shape[second ? 1 : 0] : Shape::dynamic;
  };
  const std::int64_t inner_a = extent(a, trans_a == 0);
  const std::int64_t inner_b = extent(b, trans_b != 0);
  if (!compatible(inner_a, inner_b)) {
    return invalid(fmt::format("inner dimensions {} and {} differ", inner_a, inner_b));
  }
  const std::array<std::int64_t, 2> extents{extent(a, trans_a != 0), extent(b, trans_b == 0)};
  if (c.is_ranked()) {  // broadcasts to the result, not the other way round
    bool fits = c.rank() <= 2;
    for (std::int64_t i = 1; fits && i <= c.rank(); ++i) {
      const std::int64_t have = c[c.rank() - i];
      fits = have == 1 || compatible(have, extents[static_cast<std::size_t>(2 - i)]);
    }
    if (!fits) {
      return invalid(fmt::format("C of shape [{}] does not broadcast to [{}]", to_string(c),
                                 to_string(Shape{extents[0], extents[1]})));
    }
  }
  result.shape = Shape{extents[0], extents[1]};
  return result;
}

Expected<TensorType> quantize(NodeRef node) {
  const TensorType& real = *node.operand_type(0);
  const UniformType* type = node.type().quantization.get();
  if (!type) return invalid("the result of a quantize must have a quantized type");
  if (real.is_quantized() ||
      (real.element != ElementType::undefined && real.element != type->expressed)) {
    return invalid(fmt::format("a quantize of {} to a type that expresses {}", to_string(real),
                               to_string(type->expressed)));
  }
  return TensorType{type->storage, operand_shape(node, 0), node.type().quantization};
}

Expected<TensorType> dequantize(NodeRef node) {
  const TensorType& codes = *node.operand_type(0);
  if (!codes.is_quantized()) return invalid("the operand of a dequantize must be quantized");
  return TensorType{codes.quantization->expressed, operand_shape(node, 0), nullptr};
}

Expected<TensorType> storage_cast(NodeRef node) {
  const TensorType& from = *node.operand_type(0);
  const TensorType& to = node.type();
  const Shape shape = operand_shape(node, 0);
  if (from.is_quantized()) {
    if (to.is_quantized()) return invalid("a storage_cast from one quantized type to another");
    return TensorType{from.quantization->storage, shape, nullptr};
  }
  if (!to.is_quantized()) {
    if (from.element == ElementType::undefined) return TensorType{{}, shape, nullptr};
    return invalid("a storage_cast between plain types");
  }
  if (from.element != ElementType::undefined && from.element != to.quantization->storage) {
    return invalid(fmt::format("a storage_cast of {} to codes of {}", to_string(from.element),
                               to_string(to.quantization->storage)));
  }
  return TensorType{to.quantization->storage, shape, to.quantization};
}

struct Rule {
  std::string_view kind;
  std::size_t required;  // operands that must be there
  std::size_t most;      // operands that may be there
  std::uint32_t results;
  Expected<TensorType> (*infer)(NodeRef);
};

constexpr std::array<Rule, 12> rules{{
    {ops::Input::kind, 0, 0, 1, unknown},
    {ops::Constant::kind, 0, 0, 1, constant},
    {ops::Output::kind, 1, 1, 0, unknown},
    {ops::Identity::kind, 1, 1, 1, identity},
    {ops::Transpose::kind, 1, 1, 1, transpose},
    {ops::Reshape::kind, 2, 2, 1, reshape},
    {ops::MatMul::kind, 2, 2, 1, matmul},
    {ops::Gemm::kind, 2, 3, 1, gemm},
    {ops::Conv::kind, 2, 3, 1, infer_conv},
    {ops::Quantize::kind, 1, 1, 1, quantize},
    {ops::Dequantize::kind, 1, 1, 1, dequantize},
    {ops::StorageCast::kind, 1, 1, 1, storage_cast},
}};

}  // namespace

Expected<TensorType> infer_result(NodeRef node) {
  const auto found = std::ranges::find(rules, node.kind(), &Rule::kind);
  if (found == rules.end()) return TensorType{};
  const Rule& rule = *found;
  const std::size_t count = node.operands().size();
  if (count < rule.required || count > rule.most) {
    return invalid(rule.required == rule.most
                       ? fmt::format("{} operands where {} needs {}", count, rule.kind, rule.most)
                       : fmt::format("{} operands where {} needs {} to {}", count, rule.kind,
                                     rule.required, rule.most));
  }
  for (std::size_t operand = 0; operand < rule.required; ++operand) {
    if (node.operand(operand).is_absent()) {
      return invalid(fmt::format("operand {} of {} is missing", operand, rule.kind));
    }
  }
  const std::uint32_t results = node.graph->result_count(node.id);
  if (results != rule.results) {
    return invalid(fmt::format("{} results where {} has {}", results, rule.kind, rule.results));
  }
  return rule.infer(node);
}

}  // namespace quadrant::inline v0::detail

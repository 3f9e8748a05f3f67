// ONNX's operators on codes, and those of ONNX Runtime's domain: the shapes are those of the
// operations on real numbers, whose operands stand elsewhere.
// https://onnx.ai/onnx/operators/onnx__QLinearConv.html,
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
#include <algorithm>
#include <array>
#include <utility>

#include "ir/shape_rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {
namespace {

constexpr std::size_t no_operand = SIZE_MAX;

Expected<Shape> as_codes(NodeRef node) { return operand_shape(node, 0); }

template <std::size_t... operands>
Expected<Shape> stretched_codes(NodeRef node) {
  std::vector<Extent> extents;
  for (const std::size_t operand : {operands...}) {
    const Shape shape = operand_shape(node, operand);
    if (!shape.is_ranked()) return Shape();
    QUADRANT_TRY(extents, broadcast(extents, shape.extents()));
  }
  return Shape(std::move(extents));
}

template <std::size_t weights, std::size_t bias = no_operand>
Expected<Shape> convolved_codes(NodeRef node) {
  return convolution_shape(node, {.weights = weights, .bias = bias}, false);
}

template <std::size_t second>
Expected<Shape> multiplied_codes(NodeRef node) {
  return matmul_shape(operand_shape(node, 0), operand_shape(node, second));
}

Expected<Shape> gemm_of_codes(NodeRef node) {
  return gemm_shape(node, operand_shape(node, 0), operand_shape(node, 3));
}

bool has_channels_last(NodeRef node) {
  return node.attribute_or<std::int64_t>("channels_last", 0) != 0;
}

Expected<Shape> pooled_codes(NodeRef node) {
  return has_channels_last(node) ? Shape() : pooled_shape(node, operand_shape(node, 0));
}

Expected<Shape> pooled_images_of_codes(NodeRef node) {
  const Shape data = operand_shape(node, 0);
  if (data.rank() < 2) return Shape();
  std::vector<Extent> extents(data.extents().begin(), data.extents().end());
  const std::size_t last = has_channels_last(node) ? 1 : 0;
  std::fill(extents.begin() + (last == 0 ? 2 : 1), extents.end() - static_cast<int>(last),
            Extent(1));
  return Shape(std::move(extents));
}

// Codes, scale and zero point of each, behind the scale and the zero point of the result.
Expected<Shape> joined_codes(NodeRef node) {
  const Shape first = operand_shape(node, 2);
  if (!first.is_ranked()) return Shape();
  QUADRANT_TRY(const auto stated, attribute_or<std::int64_t>(node, "axis", 1));
  const auto axis = normalize_axis(stated, first.rank());
  if (!axis) return invalid(fmt::format("axis {} of {} dimensions", stated, first.rank()));
  std::vector<Extent> extents(first.extents().begin(), first.extents().end());
  Extent& sum = extents[static_cast<std::size_t>(*axis)];
  for (std::size_t operand = 5; operand < node.operands().size(); operand += 3) {
    const Shape shape = operand_shape(node, operand);
    const Extent next = shape.rank() == first.rank() ? shape[*axis] : Extent::open();
    QUADRANT_TRY(sum, concatenated(sum, next));
  }
  return Shape(std::move(extents));
}

struct OnCodes {
  std::string_view name;  // behind `onnx.`
  Expected<Shape> (*shape)(NodeRef node);
  std::size_t typed_by = no_operand;               // which operand the result has the type of ...
  ElementType otherwise = ElementType::undefined;  // ... where it is there
};

constexpr std::array rules_on_codes{
    OnCodes{"QuantizeLinear", as_codes, 2, ElementType::uint8},
    OnCodes{"DequantizeLinear", as_codes, 1},
    OnCodes{"ConvInteger", convolved_codes<1>, no_operand, ElementType::int32},
    OnCodes{"MatMulInteger", multiplied_codes<1>, no_operand, ElementType::int32},
    OnCodes{"QLinearConv", convolved_codes<3, 8>, 7},
    OnCodes{"QLinearMatMul", multiplied_codes<3>, 7},
    OnCodes{"com.microsoft::QuantizeLinear", as_codes, 2, ElementType::uint8},
    OnCodes{"com.microsoft::DequantizeLinear", as_codes, 1},
    OnCodes{"com.microsoft::DynamicQuantizeMatMul", multiplied_codes<1>, 0},
    OnCodes{"com.microsoft::MatMulInteger16", multiplied_codes<1>, no_operand, ElementType::int32},
    OnCodes{"com.microsoft::MatMulIntegerToFloat", multiplied_codes<1>, 2},
    OnCodes{"com.microsoft::QGemm", gemm_of_codes, 8, ElementType::float32},
    OnCodes{"com.microsoft::QLinearAdd", stretched_codes<0, 3>, 0},
    OnCodes{"com.microsoft::QLinearAveragePool", pooled_codes, 0},
    OnCodes{"com.microsoft::QLinearConcat", joined_codes, 2},
    OnCodes{"com.microsoft::QLinearGlobalAveragePool", pooled_images_of_codes, 0},
    OnCodes{"com.microsoft::QLinearLeakyRelu", as_codes, 0},
    OnCodes{"com.microsoft::QLinearMul", stretched_codes<0, 3>, 0},
    OnCodes{"com.microsoft::QLinearSigmoid", as_codes, 0},
    OnCodes{"com.microsoft::QLinearSoftmax", as_codes, 0},
    OnCodes{"com.microsoft::QLinearWhere", stretched_codes<0, 1, 4>, 1},
};

ElementType type_of_result(NodeRef node, const OnCodes& rule) {
  const auto stated = numbered_element_type(node.attribute_or<std::int64_t>("output_dtype", 0));
  if (stated && *stated != ElementType::undefined) return *stated;
  const TensorType* const type = node.operand_type(rule.typed_by);
  if (type == nullptr) return rule.otherwise;
  return type->is_quantized() ? ElementType::undefined : type->element;
}

}  // namespace

Expected<std::vector<TensorType>> infer_on_codes(NodeRef node) {
  constexpr std::string_view prefix = "onnx.";
  const std::string_view name = node.kind().substr(prefix.size());
  if (name == "DynamicQuantizeLinear") {
    const TensorType scale{ElementType::float32, Shape::scalar(), nullptr};
    const TensorType zero_point{ElementType::uint8, Shape::scalar(), nullptr};
    std::vector<TensorType> results{
        {ElementType::uint8, operand_shape(node, 0), nullptr}, scale, zero_point};
    results.resize(std::min<std::size_t>(results.size(), node.graph->result_count(node.id)));
    return results;
  }
  const auto* const found = std::ranges::find(rules_on_codes, name, &OnCodes::name);
  std::vector<TensorType> results;
  if (found == rules_on_codes.end()) return results;
  TensorType& type = results.emplace_back();
  type.element = node.type().is_quantized() ? ElementType::undefined : type_of_result(node, *found);
  QUADRANT_TRY(type.shape, found->shape(node));
  return results;
}

}  // namespace quadrant::inline v0::detail

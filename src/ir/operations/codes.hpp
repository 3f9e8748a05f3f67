// Between floats and codes, and operators on codes, those of ONNX Runtime's domain among
// them: their shapes are those of the operations on floats, with operands at other places.
// https://onnx.ai/onnx/operators/onnx__QLinearConv.html,
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "ir/operations/row.hpp"
#include "ir/ops/codes.hpp"
#include "ir/packed_codes.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {

inline constexpr std::size_t no_operand = SIZE_MAX;

inline Expected<Shape> as_codes(NodeRef node) { return operand_shape(node, 0); }

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

inline Expected<Shape> gemm_of_codes(NodeRef node) {
  return gemm_shape(node, operand_shape(node, 0), operand_shape(node, 3));
}

inline bool has_channels_last(NodeRef node) {
  return node.attribute_or<std::int64_t>("channels_last", 0) != 0;
}

inline Expected<Shape> pooled_codes(NodeRef node) {
  return has_channels_last(node) ? Shape() : pooled_shape(node, operand_shape(node, 0));
}

inline Expected<Shape> pooled_images_of_codes(NodeRef node) {
  const Shape data = operand_shape(node, 0);
  if (data.rank() < 2) return Shape();
  std::vector<Extent> extents(data.extents().begin(), data.extents().end());
  const std::size_t last = has_channels_last(node) ? 1 : 0;
  std::fill(extents.begin() + (last == 0 ? 2 : 1), extents.end() - static_cast<int>(last),
            Extent(1));
  return Shape(std::move(extents));
}

// Codes, scale and zero point of each, behind the scale and the zero point of the result.
inline Expected<Shape> joined_codes(NodeRef node) {
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

/// The result has the type of operand `typed_by`, or `otherwise` where that is not there.
template <Expected<Shape> (*shape)(NodeRef), std::size_t typed_by = no_operand,
          ElementType otherwise = ElementType::undefined>
Results on_codes(NodeRef node) {
  TensorType type{otherwise, {}, nullptr};
  if (const TensorType* const given = node.operand_type(typed_by)) {
    type.element = given->is_quantized() ? ElementType::undefined : given->element;
  }
  const auto stated = numbered_element_type(node.attribute_or<std::int64_t>("output_dtype", 0));
  if (stated && *stated != ElementType::undefined) type.element = *stated;
  QUADRANT_TRY(type.shape, shape(node));
  return std::vector<TensorType>{std::move(type)};
}

inline Results infer_dynamic_quantize_linear(NodeRef node) {
  std::vector<TensorType> results{{ElementType::uint8, operand_shape(node, 0), nullptr},
                                  {ElementType::float32, Shape::scalar(), nullptr},
                                  {ElementType::uint8, Shape::scalar(), nullptr}};
  results.resize(std::min<std::size_t>(results.size(), node.graph->result_count(node.id)));
  return results;
}

/// Operands and results are not counted.
constexpr Operation of_runtime(std::string_view kind, Results (*infer)(NodeRef)) {
  return code(kind, {}, infer, {}, {});
}

inline constexpr std::array code_rows{
    code(ops::Quantize::kind, {1, 1}, one<infer_quantize>, same_shape),
    code(ops::Dequantize::kind, {1, 1}, one<infer_dequantize>, same_shape),
    code(ops::StorageCast::kind, {1, 1}, one<infer_storage_cast>, same_shape),
    roled("dcs", code(ops::ConvInteger::kind, {2, 4},
                      on_codes<convolved_codes<1>, no_operand, ElementType::int32>)),
    roled("cs", code(ops::DequantizeLinear::kind, {2, 3}, on_codes<as_codes, 1>)),
    code(ops::DynamicQuantizeLinear::kind, {1, 1}, infer_dynamic_quantize_linear, {}, {3, 3}),
    roled("ccs", code(ops::MatMulInteger::kind, {2, 4},
                      on_codes<multiplied_codes<1>, no_operand, ElementType::int32>)),
    roled("dsscssssc", code(ops::QLinearConv::kind, {8, 9}, on_codes<convolved_codes<3, 8>, 7>)),
    roled("csscs", code(ops::QLinearMatMul::kind, {8, 8}, on_codes<multiplied_codes<3>, 7>)),
    roled("ds", code(ops::QuantizeLinear::kind, {2, 3}, on_codes<as_codes, 2, ElementType::uint8>)),
    roled("ds", of_runtime("onnx.com.microsoft::QuantizeLinear",
                           on_codes<as_codes, 2, ElementType::uint8>)),
    roled("cs", of_runtime("onnx.com.microsoft::DequantizeLinear", on_codes<as_codes, 1>)),
    roled("dcssd", of_runtime("onnx.com.microsoft::DynamicQuantizeMatMul",
                              on_codes<multiplied_codes<1>, 0>)),
    roled("cc", of_runtime("onnx.com.microsoft::MatMulInteger16",
                           on_codes<multiplied_codes<1>, no_operand, ElementType::int32>)),
    roled("ccssssd",
          of_runtime("onnx.com.microsoft::MatMulIntegerToFloat", on_codes<multiplied_codes<1>, 2>)),
    roled("cds", of_runtime(gather_block_quantized_kind, nullptr)),
    roled("dcs", of_runtime(matmul_bnb4_kind, nullptr)),
    roled("dcsssd", of_runtime(matmul_nbits_kind, nullptr)),
    roled("csscsscss", of_runtime("onnx.com.microsoft::QGemm",
                                  on_codes<gemm_of_codes, 8, ElementType::float32>)),
    roled("csscss",
          of_runtime("onnx.com.microsoft::QLinearAdd", on_codes<stretched_codes<0, 3>, 0>)),
    roled("css", of_runtime("onnx.com.microsoft::QLinearAveragePool", on_codes<pooled_codes, 0>)),
    of_runtime("onnx.com.microsoft::QLinearConcat", on_codes<joined_codes, 2>),
    roled("css", of_runtime("onnx.com.microsoft::QLinearGlobalAveragePool",
                            on_codes<pooled_images_of_codes, 0>)),
    roled("css", of_runtime("onnx.com.microsoft::QLinearLeakyRelu", on_codes<as_codes, 0>)),
    roled("csscss",
          of_runtime("onnx.com.microsoft::QLinearMul", on_codes<stretched_codes<0, 3>, 0>)),
    roled("css", of_runtime("onnx.com.microsoft::QLinearSigmoid", on_codes<as_codes, 0>)),
    roled("css", of_runtime("onnx.com.microsoft::QLinearSoftmax", on_codes<as_codes, 0>)),
    of_runtime("onnx.com.microsoft::QLinearWhere", on_codes<stretched_codes<0, 1, 4>, 1>)};

}  // namespace quadrant::inline v0::detail

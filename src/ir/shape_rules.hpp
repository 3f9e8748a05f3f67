// What the rules of shape inference share.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/known_integers.hpp"
#include "ir/operand_lists.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::detail {

inline tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::invalid_model, std::move(message));
}

inline Shape operand_shape(NodeRef node, std::size_t operand) {
  const TensorType* type = node.operand_type(operand);
  return type && type->shape.rank() <= largest_rank ? type->shape : Shape();
}

/// The element type that the first `count` operands share; unknown where one is, or is quantized:
/// what an operation makes of codes is stated on its result.
inline Expected<ElementType> common_element(NodeRef node, std::size_t count = SIZE_MAX) {
  ElementType common = ElementType::undefined;
  bool quantized = false;
  for (std::size_t operand = 0; operand < std::min(count, node.operands().size()); ++operand) {
    const TensorType* type = node.operand_type(operand);
    if (!type || type->element == ElementType::undefined) continue;
    if (type->is_quantized()) {
      quantized = true;
    } else if (common == ElementType::undefined) {
      common = type->element;
    } else if (common != type->element) {
      return invalid(
          fmt::format("operands of types {} and {}", to_string(common), to_string(type->element)));
    }
  }
  return quantized ? ElementType::undefined : common;
}

template <class T>
Expected<T> attribute_or(NodeRef node, std::string_view name, T fallback) {
  const Attribute* found = node.graph->attribute(node.id, name);
  if (!found) return fallback;
  const T* typed = std::get_if<T>(found);
  if (!typed) return invalid(fmt::format("attribute '{}' has the wrong type", name));
  return *typed;
}

/// `count` integers of at least `smallest`. An empty list is as good as none.
inline Expected<std::vector<std::int64_t>> integers(NodeRef node, std::string_view name,
                                                    std::size_t count, std::int64_t fallback,
                                                    std::int64_t smallest) {
  QUADRANT_TRY(auto values, attribute_or(node, name, std::vector<std::int64_t>{}));
  if (values.empty()) return std::vector<std::int64_t>(count, fallback);
  if (values.size() != count) {
    return invalid(fmt::format("attribute '{}' has {} values where {} are needed", name,
                               values.size(), count));
  }
  for (const std::int64_t value : values) {
    if (value < smallest) return invalid(fmt::format("attribute '{}' holds {}", name, value));
  }
  return values;
}

/// Extents of a kernel along `count` axes; open without the attribute.
inline Expected<std::vector<Extent>> kernel_shape(NodeRef node, std::size_t count) {
  constexpr std::int64_t missing = 0;
  QUADRANT_TRY(const auto stated, integers(node, "kernel_shape", count, missing, 1));
  std::vector<Extent> extents(count, Extent::open());
  if (count > 0 && stated[0] != missing) std::ranges::copy(stated, extents.begin());
  return extents;
}

/// That a node has so many, and none of the first `operands.least` operands is absent; absent ones
/// at the end do not count.
[[nodiscard]] Expected<void> check_counts(NodeRef node, const Count& operands,
                                          const Count& results);

/// Codes of which all have the same meaning, wherever they stand.
inline bool has_one_scale(const TensorType& type) {
  return type.is_quantized() && type.uniform()->granularity.kind == Granularity::Kind::tensor;
}

/// The result of an operation that moves the elements of operand 0 and changes none. With several
/// scales, which of them go where is stated by whoever moves the codes.
inline TensorType moved(NodeRef node, Shape shape = {}) {
  const TensorType& data = *node.operand_type(0);
  if (data.is_quantized() && !has_one_scale(data)) return {{}, std::move(shape), nullptr};
  return {data.element, std::move(shape), data.quantization};
}

/// The extents that an attribute or an operand lists, as many as there are, as far as they are
/// known. Empty where not even their number is. Errors as for `integer_list`.
[[nodiscard]] Expected<std::optional<KnownIntegers>> listed_extents(NodeRef node,
                                                                    std::string_view attribute,
                                                                    std::size_t operand);

/// The extents of two parts along the axis of a concat together; open where one is.
[[nodiscard]] Expected<Extent> concatenated(Extent a, Extent b);
/// The extent to which two are stretched: one of them, where the other is 1 or unknown.
[[nodiscard]] Expected<Extent> broadcast(Extent a, Extent b);
/// The same for the last axes, the second last, ...; an axis that is missing is one of extent 1.
[[nodiscard]] Expected<std::vector<Extent>> broadcast(std::span<const Extent> a,
                                                      std::span<const Extent> b);

// --- the rules: what `infer_results` calls when operands and results are as many as they must be
// --

// shape_rules_reshape.cpp
[[nodiscard]] Expected<TensorType> infer_reshape(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_squeeze(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_unsqueeze(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_flatten(NodeRef node);
// shape_rules_moves.cpp
[[nodiscard]] Expected<TensorType> infer_transpose(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_slice(NodeRef node);
[[nodiscard]] Expected<std::vector<TensorType>> infer_split(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_concat(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_gather(NodeRef node);
// shape_rules_broadcast.cpp
[[nodiscard]] Expected<TensorType> infer_elementwise(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_expand(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_fake_quantize(NodeRef node);
// shape_rules_products.cpp
[[nodiscard]] Expected<TensorType> infer_matmul(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_gemm(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_linear(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_addmm(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_batch_matmul(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_baddbmm(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_einsum(NodeRef node);
// shape_rules_conv.cpp
[[nodiscard]] Expected<TensorType> infer_conv(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_conv_transpose(NodeRef node);
// shape_rules_recurrent.cpp
[[nodiscard]] Expected<std::vector<TensorType>> infer_recurrent(NodeRef node);
// shape_rules_simulation.cpp
[[nodiscard]] Expected<TensorType> infer_const_fake_quant(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_fake_quant(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_stats(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_stats_ref(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_coupled_ref(NodeRef node);

// shape_rules.cpp
[[nodiscard]] Expected<TensorType> infer_constant(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_identity(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_cast(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_quantize(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_dequantize(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_storage_cast(NodeRef node);

// shape_rules_onnx.cpp: of result 0 of what only ONNX has; of floats and plain integers.
[[nodiscard]] Expected<TensorType> infer_as_operand(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_along_an_axis(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_bits_as(NodeRef node);
/// Of operands that broadcast, with the type of operand `typed`: 0 or 1.
template <std::size_t typed>
[[nodiscard]] Expected<TensorType> infer_stretched(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_truth(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_pooled(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_pooled_whole(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_reduced(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_place_of_largest(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_shape_of(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_depth_to_space(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_space_to_depth(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_padded(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_tiled(NodeRef node);
[[nodiscard]] Expected<TensorType> infer_resized(NodeRef node);

// shape_rules_places.cpp: what is about places, or has several results.
using Results = Expected<std::vector<TensorType>>;
[[nodiscard]] Results infer_filled_tensor(NodeRef node);
[[nodiscard]] Results infer_range_of_numbers(NodeRef node);
[[nodiscard]] Results infer_count_of_elements(NodeRef node);
[[nodiscard]] Results infer_places_of_values(NodeRef node);
[[nodiscard]] Results infer_boxes_that_stay(NodeRef node);
[[nodiscard]] Results infer_one_hot(NodeRef node);
[[nodiscard]] Results infer_largest_ones(NodeRef node);
/// Of MaxPool: the largest elements, and their places.
[[nodiscard]] Results infer_largest_of_windows(NodeRef node);
[[nodiscard]] Results infer_by_elements(NodeRef node);
[[nodiscard]] Results infer_by_several_indices(NodeRef node);
[[nodiscard]] Results infer_unit_matrix(NodeRef node);
[[nodiscard]] Results infer_like_another(NodeRef node);
[[nodiscard]] Results infer_sampled(NodeRef node);
[[nodiscard]] Results infer_transformed(NodeRef node);
[[nodiscard]] Results infer_pooled_boxes(NodeRef node);

// --- what several rules share --------------------------------------------------------------------

/// Which operands of a convolution are which.
struct ConvolutionOperands {
  std::size_t data = 0;
  std::size_t weights = 1;
  std::size_t bias = 2;
};
[[nodiscard]] Expected<Shape> convolution_shape(NodeRef node, const ConvolutionOperands& operands,
                                                bool transposed);
[[nodiscard]] Expected<Shape> matmul_shape(const Shape& a, const Shape& b);
[[nodiscard]] Expected<Shape> gemm_shape(NodeRef node, const Shape& a, const Shape& b);
/// Of the windows that the attributes say.
[[nodiscard]] Expected<Shape> pooled_shape(NodeRef node, const Shape& data);

}  // namespace quadrant::inline v0::detail

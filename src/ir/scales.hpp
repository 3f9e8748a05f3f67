// The scales and zero points of a quantized type as numbers, and what they take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Whether scales are found and stored so: float32, or float16 where they should take less.
[[nodiscard]] constexpr bool is_scale_type(ElementType element) noexcept {
  return element == ElementType::float32 || element == ElementType::float16;
}

/// `read_scales` without a copy of float32 ones that are in memory.
[[nodiscard]] Expected<ConstantBytes> read_scale_bytes(const Constant& scales);
/// The same as they are.
[[nodiscard]] Expected<std::vector<double>> read_exact_scales(const Constant& scales);

/// What the node's operand `operand` holds, where that is a constant of float32 or float16, which a
/// Cast to float32 may have widened; null for others.
[[nodiscard]] const Constant* scales_read_by(NodeRef node, std::size_t operand);

/// The opposite: float16 ones are rounded to nearest even. `values`: as many as `shape` has.
[[nodiscard]] Constant make_scales(ElementType element, Shape shape, std::vector<float> values);

/// The same of numbers that are rounded to `element`, which may be float64.
[[nodiscard]] Constant make_exact_scales(ElementType element, Shape shape,
                                         const std::vector<double>& values);

/// A zero point for each scale: zeros where the type has none. Reads the constant whole.
[[nodiscard]] Expected<std::vector<std::int64_t>> read_zero_points(const UniformType& type);
/// The same for each of the innermost scales; one where there are none.
[[nodiscard]] Expected<std::vector<std::int64_t>> read_zero_points(const Quantization& type);

/// `read_scales` of a type with one level of them: `impossible` for another.
[[nodiscard]] Expected<std::vector<float>> read_scales(const Quantization& type);

/// Which elements share the innermost scale: all of them where there is none.
[[nodiscard]] Granularity granularity_of(const Quantization& type);

/// What `target`, which has no other codes, is to hold; null for none. `impossible` for a format
/// that is not uniform.
[[nodiscard]] Expected<std::shared_ptr<const UniformType>> uniform_for(std::string_view target,
                                                                       const Quantization& type);

/// Zero points of the integer type `storage`, which holds `values`: as many as `shape` has.
[[nodiscard]] Constant make_zero_points(ElementType storage, Shape shape,
                                        std::span<const std::int64_t> values);

/// Whether two types say the same of codes, by what their scales and zero points hold: `==`
/// compares whether they are the same constants. No zero points are as good as zeros. Reads them
/// whole; false where they cannot be read.
[[nodiscard]] bool mean_the_same(const UniformType& a, const UniformType& b);
[[nodiscard]] bool mean_the_same(const Quantization& a, const Quantization& b);
/// The same with its scales, zero points and tables in memory: for what is read often.
[[nodiscard]] Expected<Quantization> in_memory(const Quantization& quantization);

/// The scales of sums of products: those of the weight, times the one scale of the data. Reads them
/// whole. `impossible` where one is no normal number of float32: codes in it would mean nothing.
[[nodiscard]] Expected<std::vector<float>> product_scales(const Quantization& data,
                                                          const Quantization& weight);

/// Tells `sink`, which may be null, how many values have scales of float64 that a format with
/// scales of float32 does not hold exactly, if there are any. Reads those scales.
void note_rounded_scales(const GraphView& graph, Sink* sink);

/// Whether the scales of `bias` are those, as many, to what float32 makes of the same products
/// computed otherwise. False where they cannot be read.
[[nodiscard]] bool has_product_scales(const Quantization& bias, const Quantization& data,
                                      const Quantization& weight);

/// Bytes that codes of type `storage` take in a file, with scales of type `scale`, float64 ones as
/// float32, and zero points.
/// 4-bit integers are packed; zero points that are all zero (`has_zero_points` is false) take room
/// all the same, but not for blocks: that is how formats store them. `shape`: static.
[[nodiscard]] std::uint64_t stored_bytes(const Shape& shape, const Granularity& granularity,
                                         ElementType storage, ElementType scale,
                                         bool has_zero_points);
/// The same of a type, which is not none: those of other formats, and all that belongs to them.
[[nodiscard]] std::uint64_t stored_bytes(const Quantization& quantization, const Shape& shape);

/// What `verify` says of the uniform type or the format that it is.
[[nodiscard]] Expected<void> verify(const Quantization& quantization, const Shape& shape);

}  // namespace quadrant::inline v0

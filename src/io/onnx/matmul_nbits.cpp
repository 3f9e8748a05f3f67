#include "io/onnx/matmul_nbits.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "io/onnx/edit.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/nbits_codes.hpp"
#include "io/onnx/packed_products.hpp"
#include "io/onnx/transposed.hpp"
#include "ir/float16.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::int64_t smallest_block = 16;
/// ONNX Runtime (1.23, CPU) accepts larger blocks and computes garbage with them.
constexpr std::int64_t largest_block = 256;

struct Blocks {
  std::int64_t size = 0;
  ParameterIndex index;
};

class NBitsForm final : public PackedForm {
 public:
  [[nodiscard]] std::string_view op_type() const override { return "MatMulNBits"; }
  [[nodiscard]] bool has_bias() const override { return true; }
  [[nodiscard]] bool is_for(const Quantization& quantization) const override {
    return quantization && !quantization.other();
  }

  [[nodiscard]] PackedOperands pack(Graph& graph, const PackableWeight& weight) const override {
    const TensorType& codes = graph.type(graph.ref(weight.dequantize).operand(0));
    const auto held = value_of(uniform_for(op_type(), codes.quantization));
    const UniformType& type = *held;
    const ElementType expressed = type.expressed;
    if (bit_width(type.storage) != 4 && bit_width(type.storage) != 8) {
      stay(fmt::format("MatMulNBits has no codes of {}", to_string(type.storage)));
    }
    if (expressed != ElementType::float32 && expressed != ElementType::float16) {
      stay(fmt::format("MatMulNBits does not compute in {}", to_string(expressed)));
    }
    const MatrixAxes axes = axes_of(codes.shape, weight);
    const Constant& constant = *graph.constant(weight.constant);
    if (constant.element() != type.storage) stay("its codes are not of its storage type");

    NBitsLayout layout{.rows = axes.rows,
                       .columns = axes.columns,
                       .bits = written_bits(type),
                       .rows_first = weight.floats_transposed != weight.codes_transposed};
    if (type.scales.shape() != parameter_shape(codes.shape, type.granularity) ||
        !is_scale_type(type.scales.element())) {
      stay("its scales do not fit its shape");
    }
    const Blocks blocks = blocks_of(type, axes.summed, layout);
    layout.block_size = blocks.size;
    // The last block is filled up, so there may be sixteen times as many.
    if (!Shape{layout.rows, layout.blocks(), layout.block_size}.element_count()) {
      stay("it has too many elements");
    }

    const Constant scales = scales_of(type, blocks.index, layout, expressed);
    const Constant zero_points = zero_points_of(type, blocks.index, layout);
    const std::string name(graph.value_name({weight.dequantize}));
    PackedOperands operands{.rows = layout.rows,
                            .attributes = {{"K", layout.columns},
                                           {"N", layout.rows},
                                           {"bits", std::int64_t{layout.bits}},
                                           {"block_size", layout.block_size}}};
    operands.codes = graph.add_constant(name + "_packed", nbits_codes(constant, layout));
    operands.scales = expressed == ElementType::float16
                          ? graph.add_constant(name + "_scale", scales)
                          : add_scales(graph, name + "_scale", scales);
    if (zero_points) {
      operands.zero_points = graph.add_constant(name + "_zero_point", zero_points);
    }
    return operands;
  }

 private:
  /// Of the codes in use, where there are no more than 2 bits' worth of them: those that are stored
  /// otherwise.
  static int written_bits(const UniformType& type) {
    const IntegerRange two = code_range(2, has_signed_codes(type));
    const auto fits = [&](std::int64_t code) { return two.min <= code && code <= two.max; };
    if (!fits(type.storage_min) || !fits(type.storage_max)) return bit_width(type.storage);
    if (!type.zero_points) return 2;
    const auto zeros = value_of(read_integers(type.zero_points, type.zero_points.element_count()));
    return std::ranges::all_of(zeros, fits) ? 2 : bit_width(type.storage);
  }

  /// The blocks to write: those of the type, cut where they are too large for MatMulNBits; where a
  /// row has one scale, whatever takes the fewest bytes.
  static Blocks blocks_of(const UniformType& type, std::int64_t summed, const NBitsLayout& layout) {
    const Granularity& granularity = type.granularity;
    if (granularity.kind == Granularity::Kind::tensor) return {cheapest_block(type, layout), {}};
    const auto axis = normalize_axis(granularity.axis, 2);
    if (!axis) stay("its axis is outside its dimensions");
    if (granularity.kind == Granularity::Kind::axis) {
      if (*axis == summed) stay("it has a scale for each index that products sum over");
      return {cheapest_block(type, layout), {.row_step = 1}};
    }
    const std::int64_t size = granularity.block_size;
    if (*axis != summed) stay("its blocks lie along the axis that products keep");
    if (size >= layout.columns) return {cheapest_block(type, layout), {.row_step = 1}};
    if (size < smallest_block || !std::has_single_bit(static_cast<std::uint64_t>(size))) {
      stay(
          fmt::format("its blocks have {} elements, which is not a power of two from 16 on", size));
    }
    const std::int64_t written = std::min(size, largest_block);
    const std::int64_t count = (layout.columns - 1) / size + 1;
    ParameterIndex index{.row_step = summed == 0 ? 1 : count,
                         .block_step = summed == 0 ? layout.rows : 1,
                         .repeat = size / written};
    return {written, index};
  }

  /// Large blocks have fewer scales, small ones fewer codes that only fill up the last.
  static std::int64_t cheapest_block(const UniformType& type, NBitsLayout layout) {
    std::int64_t best = 0;
    double least = 0;
    for (std::int64_t size = largest_block; size >= smallest_block; size /= 2) {
      layout.block_size = size;
      const double scale_bits = bit_width(type.expressed) + (type.zero_points ? layout.bits : 0);
      const double bits = static_cast<double>(layout.blocks()) *
                          (static_cast<double>(size) * layout.bits + scale_bits);
      if (best != 0 && bits >= least) continue;
      best = size;
      least = bits;
    }
    return best;
  }

  /// Calls `body(parameter)` for each block of each row.
  template <class Body>
  static void for_each_block(const ParameterIndex& index, const NBitsLayout& layout, Body body) {
    for (std::int64_t row = 0; row < layout.rows; ++row) {
      for (std::int64_t block = 0; block < layout.blocks(); ++block) {
        body(index.at(row, block));
      }
    }
  }

  static Constant scales_of(const UniformType& type, const ParameterIndex& index,
                            const NBitsLayout& layout, ElementType expressed) {
    const Shape shape{layout.rows * layout.blocks()};
    const bool in_order = layout.blocks() == 1
                              ? index.row_step == 1
                              : index.row_step == layout.blocks() && index.repeat == 1;
    if (expressed == ElementType::float32 && in_order) return type.scales.reshaped(shape);
    const bool in_order_of_transpose =
        index.row_step == 1 && index.block_step == layout.rows && index.repeat == 1;
    if (expressed == ElementType::float32 && in_order_of_transpose) {
      return transposed(type.scales, layout.blocks(), layout.rows, shape);
    }
    const std::vector<float> scales = value_of(read_scales(type.scales));
    if (expressed == ElementType::float32) {
      std::vector<float> written;
      for_each_block(index, layout, [&](std::size_t i) { written.push_back(scales[i]); });
      return make_scales(type.scales.element(), shape, written);
    }
    // Scales of a product of float16 are float16: rounding one is fine, losing its digits is not.
    constexpr float smallest_normal = 0x1p-14F;
    std::vector<std::uint16_t> written;
    for_each_block(index, layout, [&](std::size_t i) {
      const std::uint16_t rounded = round_to_float16(scales[i]);
      const float back = std::fabs(widen_float16(rounded));
      if (!std::isfinite(back) || back < smallest_normal) {
        stay(fmt::format("its scale {} is outside the normal numbers of float16", scales[i]));
      }
      written.push_back(rounded);
    });
    return Constant::from_values(expressed, shape, std::span<const std::uint16_t>(written));
  }

  /// Unsigned like the codes; those of a row packed like them, each row from a byte of its own.
  static Constant zero_points_of(const UniformType& type, const ParameterIndex& index,
                                 const NBitsLayout& layout) {
    const int offset = nbits_offset(type.storage, layout.bits);
    if (!type.zero_points && offset != 0) return {};
    if (type.zero_points && (type.zero_points.shape() != type.scales.shape() ||
                             type.zero_points.element() != type.storage)) {
      stay("its zero points do not fit its scales");
    }
    const auto count = static_cast<std::size_t>(type.scales.element_count());
    std::vector<std::byte> zeros(count);
    if (type.zero_points) value_of(type.zero_points.read(0, zeros));
    const auto blocks = static_cast<std::size_t>(layout.blocks());
    const auto per_byte = static_cast<std::size_t>(8 / layout.bits);
    const std::size_t row_bytes = (blocks - 1) / per_byte + 1;
    std::vector<std::byte> written(static_cast<std::size_t>(layout.rows) * row_bytes);
    bool all_default = true;
    std::size_t at = 0;  // block, counted over all rows
    for_each_block(index, layout, [&](std::size_t i) {
      const unsigned mask = (1U << static_cast<unsigned>(layout.bits)) - 1;
      const unsigned zero =
          (std::to_integer<unsigned>(zeros[i]) + static_cast<unsigned>(offset)) & mask;
      all_default = all_default && zero == (mask + 1) / 2;
      const std::size_t place = at % blocks;
      const int shift = static_cast<int>(place % per_byte) * layout.bits;
      written[at / blocks * row_bytes + place / per_byte] |= std::byte(zero) << shift;
      ++at;
    });
    if (all_default) return {};
    const Shape shape{static_cast<std::int64_t>(written.size())};
    return Constant::from_bytes(ElementType::uint8, shape, std::move(written));
  }
};

}  // namespace

std::int64_t use_matmul_nbits(Graph& graph, Sink* sink) {
  return pack_products(graph, NBitsForm(), sink);
}

}  // namespace quadrant::inline v0::onnx

#include "io/onnx/matmul_bnb4.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "io/onnx/edit.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/nbits_codes.hpp"
#include "io/onnx/packed_products.hpp"
#include "ir/packed_codes.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// What ONNX Runtime (1.32, CPU) takes: powers of two between these.
constexpr std::int64_t smallest_bnb4_block = 16;
constexpr std::int64_t largest_bnb4_block = 256;

/// The operator's number for a table; empty for others.
std::optional<std::int64_t> quant_type(const NumberCode& code) {
  const auto* const table = std::get_if<FixedTable>(&code);
  if (table == nullptr) return std::nullopt;
  const auto found = std::ranges::find(bnb4_tables, *table);
  if (found == bnb4_tables.end()) return std::nullopt;
  return found - bnb4_tables.begin();
}

/// Its blocks count on from one row to the next, so that rows have to be whole blocks.
class Bnb4Form final : public PackedForm {
 public:
  [[nodiscard]] std::string_view op_type() const override { return "MatMulBnb4"; }
  [[nodiscard]] bool has_bias() const override { return false; }
  [[nodiscard]] bool is_for(const Quantization& quantization) const override {
    return quantization.other() != nullptr && quant_type(quantization.other()->format.code);
  }

  [[nodiscard]] PackedOperands pack(Graph& graph, const PackableWeight& weight) const override {
    const TensorType codes = graph.type(graph.ref(weight.dequantize).operand(0));
    const ScaledFormat& type = *codes.quantization.other();
    const MatrixAxes axes = axes_of(codes.shape, weight);
    const FloatScale& scale = scale_of(type.format);
    if (type.format.expressed != ElementType::float32) {
      stay(fmt::format("MatMulBnb4 does not compute in {} on CPUs",
                       to_string(type.format.expressed)));
    }
    ParameterIndex index;
    NBitsLayout layout{.rows = axes.rows,
                       .columns = axes.columns,
                       .block_size = block_of(type.format.scales.front().groups, axes, index),
                       .bits = 4,
                       .rows_first = axes.summed == 1,
                       .first_is_high = true};
    const std::vector<float> scales = value_of(read_scales(type.scales.front()));
    std::vector<float> written;
    for (std::int64_t row = 0; row < layout.rows; ++row) {
      for (std::int64_t block = 0; block < layout.blocks(); ++block) {
        written.push_back(scales[index.at(row, block)]);
      }
    }
    const auto count = static_cast<std::int64_t>(written.size());
    const std::string name(graph.value_name({weight.dequantize}));
    PackedOperands operands{
        .rows = layout.rows,
        .attributes = {{"K", layout.columns},
                       {"N", layout.rows},
                       {"block_size", layout.block_size},
                       {"quant_type", quant_type(type.format.code).value_or(0)}}};
    const Constant packed = nbits_codes(*graph.constant(weight.constant), layout);
    operands.codes =
        graph.add_constant(name + "_packed", packed.reshaped(Shape{packed.element_count()}));
    operands.scales = add_scales(graph, name + "_absmax",
                                 make_scales(scale.type, Shape{count}, std::move(written)));
    return operands;
  }

 private:
  static const FloatScale& scale_of(const NumberFormat& format) {
    if (format.scales.size() != 1 || format.offset != Offset::none) {
      stay("MatMulBnb4 has one level of scales and no minima");
    }
    const auto* const scale = std::get_if<FloatScale>(&format.scales.front().type);
    if (scale == nullptr || !is_scale_type(scale->type)) {
      stay("MatMulBnb4 has scales of float32");
    }
    return *scale;
  }

  /// The blocks to write, and which of the type's scales each has.
  static std::int64_t block_of(const Granularity& groups, const MatrixAxes& axes,
                               ParameterIndex& index) {
    const bool is_block = groups.kind == Granularity::Kind::block;
    if (groups.kind != Granularity::Kind::tensor && (groups.axis == axes.summed) != is_block) {
      stay("its scales lie along the axis that products keep, or are none of blocks");
    }
    const bool has_many = is_block && groups.block_size < axes.columns;
    std::int64_t size = largest_bnb4_block;
    while (size >= smallest_bnb4_block &&
           (axes.columns % size != 0 || (has_many && groups.block_size % size != 0))) {
      size /= 2;
    }
    if (size < smallest_bnb4_block) {
      stay(fmt::format("its rows of {} are no whole blocks of 16 or more", axes.columns));
    }
    if (groups.kind == Granularity::Kind::tensor) return size;
    const std::int64_t count =
        has_many ? (axes.columns + groups.block_size - 1) / groups.block_size : 1;
    const std::int64_t next_block = axes.summed == 0 ? axes.rows : 1;
    index = {.row_step = axes.summed == 0 ? 1 : count,
             .block_step = has_many ? next_block : 0,
             .repeat = has_many ? groups.block_size / size : 1};
    return size;
  }
};

}  // namespace

std::int64_t use_matmul_bnb4(Graph& graph, Sink* sink) {
  return pack_products(graph, Bnb4Form(), sink);
}

}  // namespace quadrant::inline v0::onnx

// ONNX Runtime's MatMulNBits: a product with a weight whose codes lie packed, in blocks.
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulNBits
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/packed_codes.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/packed_product.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// The weight is `[rows, columns]`; the product sums over columns.
struct PackedWeight {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t bits = 0;
  std::int64_t block_size = 0;
  std::int64_t blocks = 0;  // of a row; the last one may be short
  std::span<const std::uint8_t> codes;
  std::span<const float> scales;
  std::span<const std::uint8_t> packed_zero_points;  // this, or the other, or neither
  std::span<const float> zero_points;
  std::span<const std::int32_t> block_of_column;  // empty: in order

  // Bytes of that many codes, from the lowest bits of the first byte on.
  [[nodiscard]] std::int64_t bytes(std::int64_t count) const { return (count * bits + 7) / 8; }
  [[nodiscard]] std::int64_t row_bytes() const { return blocks * bytes(block_size); }

  // The code of that index within codes that lie together.
  [[nodiscard]] float code(const std::uint8_t* packed, std::int64_t index) const {
    const auto bit = static_cast<std::uint64_t>(index * bits);
    const unsigned mask = (1U << static_cast<unsigned>(bits)) - 1;
    return static_cast<float>((unsigned{packed[bit / 8]} >> (bit % 8)) & mask);
  }
  [[nodiscard]] float zero_point(std::int64_t row, std::int64_t block) const {
    if (!zero_points.empty()) return zero_points[static_cast<std::size_t>(row * blocks + block)];
    if (packed_zero_points.empty()) return static_cast<float>(1 << (bits - 1));
    return code(packed_zero_points.data() + row * bytes(blocks), block);
  }
};

// One row of real numbers. `zero_points` has room for one a block.
void unpack_row(const PackedWeight& weight, std::int64_t row, std::span<float> zero_points,
                std::span<float> out) {
  const std::uint8_t* const codes = weight.codes.data() + row * weight.row_bytes();
  const float* const scales = weight.scales.data() + row * weight.blocks;
  for (std::size_t i = 0; i < zero_points.size(); ++i) {
    zero_points[i] = weight.zero_point(row, static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = weight.code(codes, static_cast<std::int64_t>(i));
  }
  if (!weight.block_of_column.empty()) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto block = static_cast<std::size_t>(weight.block_of_column[i]);
      out[i] = (out[i] - zero_points[block]) * scales[block];
    }
    return;
  }
  const auto size = static_cast<std::size_t>(weight.block_size);
  for (std::size_t block = 0; block < zero_points.size(); ++block) {
    const std::size_t first = block * size;
    for (float& value : out.subspan(first, std::min(size, out.size() - first))) {
      value = (value - zero_points[block]) * scales[block];
    }
  }
}

Expected<PackedWeight> dimensions(const KernelCall& call) {
  PackedWeight weight{.rows = call.attribute_or<std::int64_t>("N", 0),
                      .columns = call.attribute_or<std::int64_t>("K", 0),
                      .bits = call.attribute_or<std::int64_t>("bits", 4),
                      .block_size = call.attribute_or<std::int64_t>("block_size", 0)};
  const bool known_bits = weight.bits == 2 || weight.bits == 4 || weight.bits == 8;
  const std::int64_t smallest = std::min({weight.rows, weight.columns, weight.block_size});
  const std::int64_t biggest = std::max({weight.rows, weight.columns, weight.block_size});
  // Whole bytes for each block.
  if (!known_bits || smallest < 1 || biggest > largest_packed_extent ||
      weight.block_size * weight.bits % 8 != 0) {
    return KernelCall::refuse(fmt::format("attributes N = {}, K = {}, bits = {}, block_size = {}",
                                          weight.rows, weight.columns, weight.bits,
                                          weight.block_size));
  }
  weight.blocks = (weight.columns - 1) / weight.block_size + 1;
  return weight;
}

Expected<PackedWeight> packed_weight(const KernelCall& call) {
  QUADRANT_TRY(PackedWeight weight, dimensions(call));
  const Tensor& codes = call.operand(1);
  const Tensor& scales = call.operand(2);
  const Tensor& zero_points = call.operand(3);
  const Tensor& block_of_column = call.operand(4);
  if (!has(codes, ElementType::uint8, weight.rows * weight.row_bytes())) {
    return does_not_fit("codes", codes);
  }
  weight.codes = codes.as<std::uint8_t>();
  const std::int64_t parameters = weight.rows * weight.blocks;
  if (!has(scales, ElementType::float32, parameters)) return does_not_fit("scales", scales);
  weight.scales = scales.as<float>();
  if (has(zero_points, ElementType::float32, parameters)) {
    weight.zero_points = zero_points.as<float>();
  } else if (has(zero_points, ElementType::uint8, weight.rows * weight.bytes(weight.blocks))) {
    weight.packed_zero_points = zero_points.as<std::uint8_t>();
  } else if (zero_points) {
    return does_not_fit("zero points", zero_points);
  }
  if (block_of_column) {
    if (block_of_column.element() != ElementType::int32 ||
        block_of_column.element_count() < weight.columns) {
      return does_not_fit("indices of blocks", block_of_column);
    }
    weight.block_of_column = block_of_column.as<std::int32_t>();
    if (std::ranges::min(weight.block_of_column) < 0 ||
        std::ranges::max(weight.block_of_column) >= weight.blocks) {
      return KernelCall::refuse("an index of a block that there is not");
    }
  }
  return weight;
}

Expected<Tensors> matmul_nbits(const KernelCall& call) {
  QUADRANT_TRY(const PackedWeight weight, packed_weight(call));
  std::vector<float> zero_points(static_cast<std::size_t>(weight.blocks));
  const auto unpack = [&](std::int64_t row, std::span<float> out) {
    unpack_row(weight, row, zero_points, out);
  };
  QUADRANT_TRY(Tensor y, packed_product(call.operand(0), call.operand(5), weight.rows,
                                        weight.columns, unpack));
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_matmul_nbits() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{matmul_nbits_kind, matmul_nbits, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted

// ONNX Runtime's MatMulBnb4: a product with a weight in one of bitsandbytes' tables.
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulBnb4
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/packed_codes.hpp"
#include "quadrant/ir/number_format.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/packed_product.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

Expected<Tensors> matmul_bnb4(const KernelCall& call) {
  const auto rows = call.attribute_or<std::int64_t>("N", 0);
  const auto columns = call.attribute_or<std::int64_t>("K", 0);
  const auto block_size = call.attribute_or<std::int64_t>("block_size", 0);
  const auto table = call.attribute_or<std::int64_t>("quant_type", -1);
  const bool is_transposed = call.attribute_or<std::int64_t>("transB", 1) != 0;
  if (std::min({rows, columns, block_size}) < 1 ||
      std::max({rows, columns, block_size}) > largest_packed_extent || table < 0 ||
      table >= std::ssize(bnb4_tables) || !is_transposed) {
    return KernelCall::refuse(
        fmt::format("attributes N = {}, K = {}, block_size = {}, quant_type = {}, transB = {}",
                    rows, columns, block_size, table, is_transposed ? 1 : 0));
  }
  const std::int64_t count = rows * columns;
  const Tensor& packed = call.operand(1);
  const Tensor& scales = call.operand(2);
  if (!has(packed, ElementType::uint8, (count + 1) / 2)) return does_not_fit("codes", packed);
  if (!has(scales, ElementType::float32, (count + block_size - 1) / block_size)) {
    return does_not_fit("scales", scales);
  }
  const std::span<const float> values = table_values(bnb4_tables[static_cast<std::size_t>(table)]);
  const auto codes = packed.as<std::uint8_t>();
  const auto factors = scales.as<float>();
  // Blocks count on from one row to the next; the first code of a byte lies in its high half.
  const auto unpack = [&](std::int64_t row, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<std::size_t>(row * columns) + i;
      const unsigned byte = codes[at / 2];
      out[i] = values[at % 2 == 0 ? byte >> 4U : byte & 15U] *
               factors[at / static_cast<std::size_t>(block_size)];
    }
  };
  QUADRANT_TRY(Tensor y, packed_product(call.operand(0), {}, rows, columns, unpack));
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_matmul_bnb4() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{matmul_bnb4_kind, matmul_bnb4, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted

// A Gather in a table of codes, whose scales and zero points lie in blocks along an axis.
#include <fmt/format.h>

#include <algorithm>

#include "ir/packed_codes.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/indices.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Integers = std::vector<std::int64_t>;

struct Table {
  Tensor codes;
  Tensor scales;       // as the codes, with one for each block along `axis`
  Tensor zero_points;  // as the scales, or empty: all are `zero_point`
  int zero_point = 0;
  std::int64_t axis = 0;
  std::int64_t block_size = 0;
};

// --- what the table is ---------------------------------------------------------------------------

// Two codes of 4 bits in each byte; the low bits come first. Rows do not begin with a byte of their
// own: ONNX Runtime reads zero points, of which there may be an odd number in a row, one after
// another.
Expected<Tensor> unpacked(const Tensor& bytes, Shape shape) {
  QUADRANT_TRY(Tensor codes, Tensor::make(ElementType::uint8, std::move(shape)));
  if (codes.element_count() / 2 + codes.element_count() % 2 > bytes.element_count()) {
    return KernelCall::refuse(fmt::format("{} codes of 4 bits in {} bytes", codes.element_count(),
                                          bytes.element_count()));
  }
  const std::uint8_t* in = bytes.as<std::uint8_t>().data();
  std::uint8_t* out = codes.fill<std::uint8_t>().data();
  for (std::int64_t i = 0; i < codes.element_count(); ++i) out[i] = in[i / 2] >> (i % 2 * 4) & 15;
  return codes;
}

// Bytes hold 8 bits or two times 4, and are unsigned numbers around the middle.
Expected<void> read_bytes(const KernelCall& call, Table& table) {
  const auto bits = call.attribute_or<std::int64_t>("bits", 4);
  if (bits != 4 && bits != 8) return KernelCall::refuse(fmt::format("codes of {} bits", bits));
  table.zero_point = bits == 4 ? 8 : 128;
  if (bits == 8) return {};
  const Shape& shape = table.codes.shape();
  std::vector<std::int64_t> extents = extents_between(shape, 0, shape.rank());
  if (extents.empty() || __builtin_mul_overflow(extents.back(), 2, &extents.back())) {
    return KernelCall::refuse(fmt::format("bytes of codes of shape [{}]", to_string(shape)));
  }
  QUADRANT_TRY(table.codes, unpacked(table.codes, Shape(extents)));
  if (!table.zero_points) return {};
  QUADRANT_TRY(table.zero_points, unpacked(table.zero_points, table.scales.shape()));
  return {};
}

Expected<void> check_shapes(const Table& table) {
  const Shape& shape = table.codes.shape();
  Integers extents = extents_between(shape, 0, shape.rank());
  std::int64_t& extent = extents[static_cast<std::size_t>(table.axis)];
  extent = extent / table.block_size + (extent % table.block_size == 0 ? 0 : 1);
  const Shape blocks(extents);
  for (const Tensor* parameters : {&table.scales, &table.zero_points}) {
    if (*parameters && parameters->shape() != blocks) {
      return KernelCall::refuse(
          fmt::format("scales or zero points of shape [{}] for codes of [{}], where [{}] is wanted",
                      to_string(parameters->shape()), to_string(shape), to_string(blocks)));
    }
  }
  return {};
}

Expected<Table> table_of(const KernelCall& call) {
  Table table{.codes = call.operand(0),
              .scales = call.operand(2),
              .zero_points = call.operand(3),
              .block_size = call.attribute_or<std::int64_t>("block_size", 128)};
  if (table.zero_points && table.zero_points.element() != table.codes.element()) {
    return KernelCall::refuse("zero points of another type than the codes");
  }
  if (table.scales.element() != ElementType::float32 || table.block_size < 1) {
    return KernelCall::refuse(fmt::format("scales of type {} for blocks of {}",
                                          to_string(table.scales.element()), table.block_size));
  }
  if (table.codes.element() == ElementType::uint8) QUADRANT_CHECK(read_bytes(call, table));
  QUADRANT_TRY(table.axis,
               axis_below(call.attribute_or<std::int64_t>("quantize_axis", 1), table.codes.rank()));
  QUADRANT_CHECK(check_shapes(table));
  return table;
}

// --- its elements --------------------------------------------------------------------------------

// The real values of `count` codes from code `first` on.
template <class T>
void dequantize(const Table& table, std::int64_t first, std::int64_t count, float* out) {
  const std::int64_t extent = table.codes.extent(table.axis);
  const std::int64_t blocks = table.scales.extent(table.axis);
  const std::int64_t inner = count_between(table.codes.shape(), table.axis + 1, table.codes.rank());
  const T* code = table.codes.as<T>().data() + first;
  const float* scales = table.scales.as<float>().data();
  const T* zero_points = table.zero_points ? table.zero_points.as<T>().data() : nullptr;
  while (count > 0) {
    // Codes have one scale up to the end of the block, or, where there are axes behind the blocks,
    // a scale each up to the end of these.
    const std::int64_t row = first / inner;
    const std::int64_t along = row % extent;
    const std::int64_t block = along / table.block_size;
    const std::int64_t end = std::min((block + 1) * table.block_size, extent);
    const std::int64_t length = std::min(count, inner == 1 ? end - along : inner - first % inner);
    const std::int64_t step = inner == 1 ? 0 : 1;
    std::int64_t at = (row / extent * blocks + block) * inner + first % inner;
    for (std::int64_t i = 0; i < length; ++i, at += step) {
      const int zero_point = zero_points != nullptr ? zero_points[at] : table.zero_point;
      *out++ = static_cast<float>(*code++ - zero_point) * scales[at];
    }
    first += length;
    count -= length;
  }
}

Expected<Tensors> gather_block_quantized(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 3));
  QUADRANT_TRY(const Table table, table_of(call));
  const Shape& shape = table.codes.shape();
  QUADRANT_TRY(const std::int64_t axis,
               axis_below(call.attribute_or<std::int64_t>("gather_axis", 0), shape.rank()));
  QUADRANT_TRY(const Integers indices, indices_below(call.operand(1), shape[axis].value()));
  QUADRANT_TRY(Tensor y, Tensor::make(ElementType::float32,
                                      gathered_shape(shape, axis, call.operand(1).shape())));
  if (y.element_count() == 0) return Tensors{std::move(y)};
  const std::int64_t count = count_between(shape, axis + 1, shape.rank());
  const auto fill = [&]<class T>() -> Expected<Tensors> {
    float* out = y.fill<float>().data();
    const std::int64_t slab = count * shape[axis].value();
    for (std::int64_t base = 0; base < table.codes.element_count(); base += slab) {
      for (const std::int64_t index : indices) {
        dequantize<T>(table, base + index * count, count, out);
        out += count;
      }
    }
    return Tensors{std::move(y)};
  };
  switch (table.codes.element()) {
    case ElementType::int4:
      return fill.template operator()<std::int8_t>();
    case ElementType::uint4:
    case ElementType::uint8:
      return fill.template operator()<std::uint8_t>();
    default:
      return KernelCall::refuse(fmt::format("codes of type {}", to_string(table.codes.element())));
  }
}

}  // namespace

std::span<const KernelEntry> kernels::in_gather_block_quantized() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{gather_block_quantized_kind, gather_block_quantized, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted

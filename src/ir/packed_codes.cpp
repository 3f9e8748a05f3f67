#include "ir/packed_codes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr int bits_of_byte = 8;

/// How codes lie in bytes: rows from a byte of their own, or, of Bnb4, one behind the other.
struct Packing {
  std::int64_t columns = 0;
  std::int64_t row_codes = 0;  ///< with those that only fill up the last block
  int bits = 0;
  bool first_is_high = false;
  int offset = 0;  ///< is taken from each
};

class UnpackedCodes final : public ConstantSource {
 public:
  UnpackedCodes(Constant packed, const Packing& packing)
      : packed_(std::move(packed)), packing_(packing) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    const auto columns = static_cast<std::uint64_t>(packing_.columns);
    const auto per_byte = static_cast<std::uint64_t>(bits_of_byte / packing_.bits);
    constexpr std::size_t most = std::size_t{1} << 16U;
    std::vector<std::byte> bytes;
    while (!out.empty()) {
      const std::uint64_t column = offset % columns;
      const auto count = std::min<std::uint64_t>({columns - column, out.size(), most});
      const std::uint64_t first =
          offset / columns * static_cast<std::uint64_t>(packing_.row_codes) + column;
      bytes.resize((first + count - 1) / per_byte - first / per_byte + 1);
      QUADRANT_CHECK(packed_.read(first / per_byte, std::span(bytes)));
      unpack(bytes, static_cast<std::size_t>(first % per_byte), out.first(count));
      out = out.subspan(count);
      offset += count;
    }
    return {};
  }

 private:
  void unpack(std::span<const std::byte> bytes, std::size_t skip, std::span<std::byte> out) const {
    const auto per_byte = static_cast<std::size_t>(bits_of_byte / packing_.bits);
    const unsigned mask = (1U << static_cast<unsigned>(packing_.bits)) - 1;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t place = (i + skip) % per_byte;
      const std::size_t from_low = packing_.first_is_high ? per_byte - 1 - place : place;
      const auto byte = std::to_integer<unsigned>(bytes[(i + skip) / per_byte]);
      const unsigned code = byte >> (from_low * static_cast<std::size_t>(packing_.bits)) & mask;
      out[i] = static_cast<std::byte>(static_cast<int>(code) - packing_.offset);
    }
  }

  Constant packed_;
  Packing packing_;
};

Constant unpacked(const Constant& packed, const Packing& packing, std::int64_t rows,
                  ElementType element) {
  return Constant::deferred(element, Shape{rows, packing.columns},
                            std::make_shared<UnpackedCodes>(packed, packing));
}

/// The packed matrix that the product says it has.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t block_size = 0;
  [[nodiscard]] std::int64_t blocks() const { return (columns - 1) / block_size + 1; }
};

std::optional<Matrix> matrix_of(NodeRef product) {
  const Matrix matrix{product.attribute_or<std::int64_t>("N", 0),
                      product.attribute_or<std::int64_t>("K", 0),
                      product.attribute_or<std::int64_t>("block_size", 0)};
  const std::int64_t smallest = std::min({matrix.rows, matrix.columns, matrix.block_size});
  const std::int64_t biggest = std::max({matrix.rows, matrix.columns, matrix.block_size});
  if (smallest < 1 || biggest > largest_packed_extent) return std::nullopt;
  return matrix;
}

/// Contents of an operand, of `count` elements; null where it is no such constant.
const Constant* contents(NodeRef node, std::size_t operand, ElementType element,
                         std::int64_t count) {
  const Constant* const constant = node.operand_constant(operand);
  return constant != nullptr && *constant && constant->element() == element &&
                 constant->element_count() == count
             ? constant
             : nullptr;
}

/// As many numbers as the shape has, which the node reads as float32; empty where one is zero or no
/// number.
Constant scales_of(NodeRef node, Shape shape) {
  const TensorType* const read = node.operand_type(2);
  const Constant* const scales = scales_read_by(node, 2);
  if (scales == nullptr || scales->element_count() != shape.element_count() ||
      read->element != ElementType::float32) {
    return {};
  }
  const auto numbers = read_scales(*scales);
  const auto is_scale = [](float scale) { return std::isfinite(scale) && scale != 0; };
  if (!numbers || !std::ranges::all_of(*numbers, is_scale)) return {};
  return scales->reshaped(std::move(shape));
}

/// The first number of each row of [rows, blocks]; empty where those of some row differ, or cannot
/// be read.
Constant one_a_row(const Constant& numbers) {
  const auto read = numbers.read();
  if (!read) return {};
  const std::int64_t rows = numbers.shape()[0].value();
  const auto width = static_cast<std::size_t>(byte_width(numbers.element()));
  const std::size_t row_bytes = read->bytes().size() / static_cast<std::size_t>(rows);
  std::vector<std::byte> firsts;
  for (std::size_t at = 0; at < read->bytes().size(); at += row_bytes) {
    const auto row = read->bytes().subspan(at, row_bytes);
    if (!std::ranges::equal(row.first(row_bytes - width), row.subspan(width))) return {};
    firsts.insert(firsts.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(width));
  }
  return Constant::from_bytes(numbers.element(), Shape{rows}, std::move(firsts));
}

/// Gives scales, and zero points if there are any, one for each row where blocks were cut from it,
/// and says which elements share one.
Granularity merge_blocks(const Matrix& matrix, Constant& scales, Constant& zero_points) {
  const Constant merged = one_a_row(scales);
  const Constant merged_zeros = zero_points ? one_a_row(zero_points) : Constant{};
  if (!merged || (zero_points && !merged_zeros)) {
    return Granularity::per_block(1, matrix.block_size);
  }
  scales = merged;
  zero_points = merged_zeros;
  return Granularity::per_axis(0);
}

std::optional<UnpackedWeight> of_nbits(NodeRef product, const Matrix& matrix) {
  const auto bits = static_cast<int>(product.attribute_or<std::int64_t>("bits", 4));
  if ((bits != 2 && bits != 4 && bits != 8) || matrix.block_size * bits % bits_of_byte != 0 ||
      !product.operand(4).is_absent()) {
    return std::nullopt;
  }
  const std::int64_t blocks = matrix.blocks();
  const std::int64_t row_codes = blocks * matrix.block_size;
  const Constant* const packed =
      contents(product, 1, ElementType::uint8, matrix.rows * (row_codes * bits / bits_of_byte));
  const bool has_zeros = !product.operand(3).is_absent();
  const IntegerRange range = code_range(bits, !has_zeros);
  UniformType type{.storage = storage_element(bits, !has_zeros),
                   .storage_bits = bits == 2 ? bits : 0,
                   .storage_min = range.min,
                   .storage_max = range.max,
                   .scales = scales_of(product, Shape{matrix.rows, matrix.blocks()})};
  if (packed == nullptr || !type.scales) return std::nullopt;
  if (has_zeros) {
    const std::int64_t row_bytes = (blocks * bits + bits_of_byte - 1) / bits_of_byte;
    const Constant* const zeros = contents(product, 3, ElementType::uint8, matrix.rows * row_bytes);
    if (zeros == nullptr) return std::nullopt;
    const Packing packing{blocks, row_bytes * bits_of_byte / bits, bits};
    const auto read = unpacked(*zeros, packing, matrix.rows, type.storage).read();
    if (!read) return std::nullopt;
    type.zero_points = Constant::from_bytes(type.storage, Shape{matrix.rows, blocks},
                                            {read->bytes().begin(), read->bytes().end()});
  }
  type.granularity = merge_blocks(matrix, type.scales, type.zero_points);
  const Packing packing{matrix.columns, row_codes, bits, false, has_zeros ? 0 : 1 << (bits - 1)};
  return UnpackedWeight{unpacked(*packed, packing, matrix.rows, type.storage),
                        std::make_shared<const UniformType>(std::move(type))};
}

std::optional<UnpackedWeight> of_bnb4(NodeRef product, const Matrix& matrix) {
  const auto table = product.attribute_or<std::int64_t>("quant_type", -1);
  const bool goes_on = matrix.rows > 1 && matrix.columns % matrix.block_size != 0;
  if (table < 0 || table >= std::ssize(bnb4_tables) || goes_on ||
      product.attribute_or<std::int64_t>("transB", 1) == 0) {
    return std::nullopt;
  }
  const Constant* const packed =
      contents(product, 1, ElementType::uint8, (matrix.rows * matrix.columns + 1) / 2);
  Constant scales = scales_of(product, Shape{matrix.rows, matrix.blocks()});
  if (packed == nullptr || !scales) return std::nullopt;
  Constant none;
  const Granularity groups = merge_blocks(matrix, scales, none);
  auto numbers = read_scales(scales);
  if (!numbers) return std::nullopt;
  const bool has_sign = std::ranges::any_of(*numbers, [](float scale) { return scale < 0; });
  NumberFormat format{.code = bnb4_tables[static_cast<std::size_t>(table)],
                      .scales = {{groups, FloatScale{scales.element(), has_sign}}}};
  ScaledFormat scaled{.format = std::move(format)};
  scaled.scales = {make_scales(ElementType::float32, scales.shape(), *std::move(numbers))};
  return UnpackedWeight{
      unpacked(*packed, {matrix.columns, matrix.columns, 4, true}, matrix.rows, ElementType::uint4),
      Quantization(scaled)};
}

/// The integers of an operand as they are, or two from each byte; empty where there are not as many
/// as the shape has. Rows of an odd number end within a byte, behind which releases of ONNX Runtime
/// go on differently: empty, too.
Constant integers_of(NodeRef lookup, std::size_t operand, int per_byte, ElementType element,
                     const Shape& shape) {
  const ElementType stored_element = per_byte == 1 ? element : ElementType::uint8;
  const std::int64_t count = shape.element_count().value_or(0);
  const Constant* const stored = contents(lookup, operand, stored_element, count / per_byte);
  if (stored == nullptr || shape.extents().back().value() % per_byte != 0) return {};
  if (per_byte == 1) return stored->reshaped(shape);
  return unpacked(*stored, {count, count, bits_of_byte / per_byte}, 1, element).reshaped(shape);
}

}  // namespace

std::optional<UnpackedWeight> unpacked_table(NodeRef lookup) {
  const Constant* const data = lookup.operand_constant(0);
  if (data == nullptr || !*data || data->shape().rank() < 1 || data->element_count() == 0) {
    return std::nullopt;
  }
  const auto axis =
      normalize_axis(lookup.attribute_or<std::int64_t>("quantize_axis", 1), data->shape().rank());
  const auto block_size = lookup.attribute_or<std::int64_t>("block_size", 128);
  const bool is_signed = data->element() == ElementType::int4;
  const bool are_bytes = data->element() == ElementType::uint8;
  const auto bits = are_bytes ? static_cast<int>(lookup.attribute_or<std::int64_t>("bits", 4)) : 4;
  const ElementType element = storage_element(bits == 8 ? 8 : 4, is_signed);
  const bool is_known = are_bytes ? bits == 4 || bits == 8 : data->element() == element;
  if (!axis || !is_known || block_size < 1 || block_size > largest_packed_extent) {
    return std::nullopt;
  }
  const int per_byte = are_bytes ? bits_of_byte / bits : 1;
  std::vector<std::int64_t> extents(data->shape().known_extents().begin(),
                                    data->shape().known_extents().end());
  extents.back() *= per_byte;
  const Shape shape(extents);
  const Granularity blocks = Granularity::per_block(*axis, block_size);
  const Shape groups = parameter_shape(shape, blocks);
  const Constant codes = integers_of(lookup, 0, per_byte, element, shape);
  const IntegerRange range = code_range(bits, is_signed);
  UniformType type{.storage = element,
                   .granularity = blocks,
                   .storage_min = range.min,
                   .storage_max = range.max,
                   .scales = scales_of(lookup, groups)};
  if (!codes || !type.scales) return std::nullopt;
  if (!lookup.operand(3).is_absent()) {
    type.zero_points = integers_of(lookup, 3, per_byte, element, groups);
    if (!type.zero_points) return std::nullopt;
  } else if (are_bytes) {  // around the middle
    const auto count = static_cast<std::size_t>(groups.element_count().value_or(0));
    type.zero_points = make_zero_points(
        element, groups, std::vector<std::int64_t>(count, std::int64_t{1} << (bits - 1)));
  }
  if (shape.rank() == 2 && groups[*axis].value() == 1) {  // blocks that are rows, or columns
    type.granularity = Granularity::per_axis(1 - *axis);
    const Shape list{groups.element_count().value_or(0)};
    type.scales = type.scales.reshaped(list);
    if (type.zero_points) type.zero_points = type.zero_points.reshaped(list);
  }
  return UnpackedWeight{codes, std::make_shared<const UniformType>(std::move(type))};
}

std::optional<UnpackedWeight> unpacked_weight(NodeRef product) {
  const auto matrix = matrix_of(product);
  if (!matrix) return std::nullopt;
  const std::string_view kind = product.kind();
  if (kind == matmul_nbits_kind) return of_nbits(product, *matrix);
  if (kind == matmul_bnb4_kind) return of_bnb4(product, *matrix);
  return std::nullopt;
}

}  // namespace quadrant::inline v0

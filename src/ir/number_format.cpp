#include "quadrant/ir/number_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "ir/small_float.hpp"

namespace quadrant::inline v0 {
namespace {

// bitsandbytes, functional.py, create_normal_map and get_4bit_type; MatMulBnb4 and OpenVINO's nf4
// have the same numbers.
constexpr std::array<float, 16> nf4{-1.0F,
                                    -0.6961928009986877F,
                                    -0.5250730514526367F,
                                    -0.39491748809814453F,
                                    -0.28444138169288635F,
                                    -0.18477343022823334F,
                                    -0.09105003625154495F,
                                    0.0F,
                                    0.07958029955625534F,
                                    0.16093020141124725F,
                                    0.24611230194568634F,
                                    0.33791524171829224F,
                                    0.44070982933044434F,
                                    0.5626170039176941F,
                                    0.7229568362236023F,
                                    1.0F};

// csrc/kernels.cu, dDequantizeFP4Tree: the first bit is the sign.
constexpr std::array<float, 16> fp4_bnb{
    0.0F,  0.00520833333F,  0.66666667F,  1.0F,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
    -0.0F, -0.00520833333F, -0.66666667F, -1.0F, -0.33333333F, -0.5F, -0.16666667F, -0.25F};

// ggml-common.h.
constexpr std::array<float, 16> iq4nl{-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

tl::unexpected<Error> no_format(std::string message) {
  return fail(ErrorCode::invalid_model, std::move(message));
}

// Whether every group of `inner` lies in one of `outer`.
bool nests(const Granularity& outer, const Granularity& inner) noexcept {
  using Kind = Granularity::Kind;
  if (outer.kind == Kind::tensor || outer == inner) return true;
  if (inner.kind != Kind::block) return false;
  if (outer.kind == Kind::axis) return outer.axis != inner.axis;
  return outer.axis == inner.axis && outer.block_size % inner.block_size == 0;
}

Expected<void> check_groups(const Granularity& groups) {
  if (groups.axis < 0) return no_format("axes are counted from 0");
  if (groups.kind == Granularity::Kind::block && groups.block_size < 1) {
    return no_format("blocks are of 1 element at least");
  }
  return {};
}

Expected<void> check_integers(const IntegerCode& code) {
  const IntegerRange range = code_range(std::clamp(code.bits, 1, 32), code.is_signed);
  if (code.bits < 1 || code.bits > 32 || code.min >= code.max || code.min < range.min ||
      code.max > range.max) {
    return no_format(
        fmt::format("integers from {} to {} do not fit {} bits", code.min, code.max, code.bits));
  }
  return {};
}

Expected<void> check_code(const NumberCode& code) {
  if (const auto* integer = std::get_if<IntegerCode>(&code)) return check_integers(*integer);
  if (const auto* real = std::get_if<FloatCode>(&code)) {
    const auto type = small_float(real->type);
    if (type) return {};
    return no_format(fmt::format("codes of type {}", to_string(real->type)));
  }
  const auto* table = std::get_if<StoredTable>(&code);
  if (table == nullptr) return {};
  if (table->levels < 4 || table->levels > 256) {
    return no_format(fmt::format("a table of {} values: they have 4 to 256", table->levels));
  }
  if (!is_float(table->values) || table->values == ElementType::float64) {
    return no_format(
        fmt::format("a table of {}: its values are f32, f16 or bf16", to_string(table->values)));
  }
  return check_groups(table->groups);
}

// A scale of 1 to 16 is as good as one of 0 to 15: what is stored is the difference to the first.
Expected<void> check_multiples(const IntegerCode& code) {
  constexpr std::int64_t far = 1 << 16;
  if (code.bits < 1 || code.bits > 16 || code.min >= code.max || code.min < -far ||
      code.max > far || code.max - code.min >= std::int64_t{1} << code.bits ||
      (code.min < 0) != code.is_signed) {
    return no_format(
        fmt::format("scales from {} to {} do not fit {} bits", code.min, code.max, code.bits));
  }
  return {};
}

Expected<void> check_levels(std::span<const ScaleLevel> levels) {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    QUADRANT_CHECK(check_groups(levels[i].groups));
    if (i > 0 && !nests(levels[i - 1].groups, levels[i].groups)) {
      return no_format(fmt::format("groups of {} are no parts of those of {}",
                                   levels[i].groups.print(), levels[i - 1].groups.print()));
    }
    if (const auto* integer = std::get_if<IntegerCode>(&levels[i].type)) {
      if (i == 0) return no_format("the outermost scales are floats");
      QUADRANT_CHECK(check_multiples(*integer));
      continue;
    }
    const auto& real = *std::get_if<FloatScale>(&levels[i].type);
    const bool is_small =
        real.type == ElementType::float8e4m3 || real.type == ElementType::float8e8m0;
    if (!is_small && !is_float(real.type)) {
      return no_format(fmt::format("scales of type {}", to_string(real.type)));
    }
    if (real.has_sign && real.type == ElementType::float8e8m0) {
      return no_format("f8e8m0 has no sign");
    }
  }
  return {};
}

Expected<void> check_axis(const Granularity& groups, const Shape& shape) {
  if (groups.kind == Granularity::Kind::tensor || !shape.is_ranked()) return {};
  if (groups.axis < shape.rank()) return {};
  return no_format(
      fmt::format("groups of {} in a tensor of {} axes", groups.print(), shape.rank()));
}

void mix(std::size_t& hash, std::size_t value) noexcept {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
}

void mix(std::size_t& hash, const IntegerCode& code) noexcept {
  for (const std::int64_t value :
       {std::int64_t{code.bits}, std::int64_t{code.is_signed}, code.min, code.max}) {
    mix(hash, static_cast<std::size_t>(value));
  }
}

void mix(std::size_t& hash, std::span<const ScaleLevel> levels) noexcept {
  mix(hash, levels.size());
  for (const ScaleLevel& level : levels) {
    mix(hash, level.groups.hash());
    if (const auto* integer = std::get_if<IntegerCode>(&level.type)) {
      mix(hash, *integer);
    } else {
      const auto& real = *std::get_if<FloatScale>(&level.type);
      mix(hash, static_cast<std::size_t>(real.type) * 2 + static_cast<std::size_t>(real.has_sign));
    }
  }
}

double groups_in(const Shape& shape, const Granularity& groups) {
  return static_cast<double>(parameter_shape(shape, groups).element_count().value_or(0));
}

}  // namespace

IntegerCode IntegerCode::of(int bits, bool is_signed) noexcept {
  const IntegerRange range = code_range(bits, is_signed);
  return {bits, is_signed, range.min, range.max};
}

std::span<const float> table_values(FixedTable table) noexcept {
  switch (table) {
    case FixedTable::nf4:
      return nf4;
    case FixedTable::fp4_bnb:
      return fp4_bnb;
    case FixedTable::iq4nl:
      return iq4nl;
  }
  return {};
}

NumberFormat NumberFormat::of(const UniformType& type) {
  NumberFormat format;
  format.code =
      IntegerCode{declared_bits(type), has_signed_codes(type), type.storage_min, type.storage_max};
  const ElementType scale = type.scales ? type.scales.element() : ElementType::undefined;
  format.scales = {{type.granularity, FloatScale{scale}}};
  format.offset = type.zero_points ? Offset::zero_point : Offset::none;
  format.expressed = type.expressed;
  return format;
}

std::size_t NumberFormat::hash() const noexcept {
  std::size_t hash = code.index();
  if (const auto* integer = std::get_if<IntegerCode>(&code)) mix(hash, *integer);
  if (const auto* real = std::get_if<FloatCode>(&code)) {
    mix(hash, static_cast<std::size_t>(real->type));
  }
  if (const auto* table = std::get_if<FixedTable>(&code)) {
    mix(hash, static_cast<std::size_t>(*table));
  }
  if (const auto* table = std::get_if<StoredTable>(&code)) {
    mix(hash, static_cast<std::size_t>(table->levels));
    mix(hash, static_cast<std::size_t>(table->values));
    mix(hash, table->groups.hash());
  }
  mix(hash, scales);
  mix(hash, static_cast<std::size_t>(offset));
  mix(hash, offsets);
  mix(hash, static_cast<std::size_t>(expressed));
  return hash;
}

ElementType storage_element(const NumberFormat& format) noexcept {
  const auto* integer = std::get_if<IntegerCode>(&format.code);
  return storage_element(bit_width(format.code), integer != nullptr && integer->is_signed);
}

int bit_width(const NumberCode& code) noexcept {
  if (const auto* integer = std::get_if<IntegerCode>(&code)) return integer->bits;
  if (const auto* real = std::get_if<FloatCode>(&code)) return bit_width(real->type);
  const auto* table = std::get_if<StoredTable>(&code);
  if (table == nullptr) return 4;
  return static_cast<int>(std::bit_width(static_cast<unsigned>(table->levels - 1)));
}

std::vector<float> code_values(const NumberCode& code) {
  const int bits = bit_width(code);
  std::vector<float> values(std::size_t{1} << static_cast<unsigned>(bits));
  if (const auto* integer = std::get_if<IntegerCode>(&code)) {
    const IntegerRange range = code_range(bits, integer->is_signed);
    for (std::int64_t value = range.min; value <= range.max; ++value) {
      values[static_cast<std::size_t>(value) & (values.size() - 1)] = static_cast<float>(value);
    }
  } else if (const auto* real = std::get_if<FloatCode>(&code)) {
    const SmallFloat type = small_float(real->type).value_or(SmallFloat{});
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = widen_small_float(type, static_cast<int>(i));
    }
  } else if (const auto* table = std::get_if<FixedTable>(&code)) {
    std::ranges::copy(table_values(*table), values.begin());
  }
  return values;
}

int bit_width(const ScaleLevel& level) noexcept {
  if (const auto* integer = std::get_if<IntegerCode>(&level.type)) return integer->bits;
  return bit_width(std::get<FloatScale>(level.type).type);
}

bool has_sign(const ScaleLevel& level) noexcept {
  if (const auto* integer = std::get_if<IntegerCode>(&level.type)) return integer->min < 0;
  return std::get_if<FloatScale>(&level.type)->has_sign;
}

Granularity innermost_groups(const NumberFormat& format) noexcept {
  return format.scales.empty() ? Granularity::per_tensor() : format.scales.back().groups;
}

Granularity code_groups(const NumberFormat& format) noexcept {
  const auto* const table = std::get_if<StoredTable>(&format.code);
  return format.scales.empty() && table != nullptr ? table->groups : innermost_groups(format);
}

bool is_uniform(const NumberFormat& format) noexcept {
  if (!std::holds_alternative<IntegerCode>(format.code) || format.scales.size() != 1 ||
      format.offset == Offset::minimum) {
    return false;
  }
  const auto* real = std::get_if<FloatScale>(&format.scales.front().type);
  return real != nullptr && is_float(real->type) && real->type != ElementType::bfloat16;
}

Expected<NumberFormat> with_block_size(NumberFormat format, std::int64_t size) {
  if (innermost_groups(format).kind != Granularity::Kind::block) {
    return fail(ErrorCode::usage, fmt::format("{} has no blocks", to_string(format)));
  }
  for (auto* const levels : {&format.scales, &format.offsets}) {
    if (!levels->empty()) levels->back().groups.block_size = size;
  }
  if (auto valid = verify(format); !valid) return fail(ErrorCode::usage, valid.error().message);
  return format;
}

Expected<NumberFormat> with_scale_type(NumberFormat format, ElementType type) {
  if (format.scales.empty()) {
    return fail(ErrorCode::usage, fmt::format("{} has no scales", to_string(format)));
  }
  for (auto* const levels : {&format.scales, &format.offsets}) {
    if (levels->empty()) continue;
    FloatScale scale{type, has_sign(levels->front())};
    if (type == ElementType::float8e8m0) scale.has_sign = false;
    levels->front().type = scale;
  }
  if (auto valid = verify(format); !valid) return fail(ErrorCode::usage, valid.error().message);
  return format;
}

double stored_bits(const NumberFormat& format, const Shape& shape) {
  const auto count = static_cast<double>(shape.element_count().value_or(0));
  double bits = count * bit_width(format.code);
  if (count == 0) return 0;
  for (const auto* levels : {&format.scales, &format.offsets}) {
    for (const ScaleLevel& level : *levels) {
      bits += groups_in(shape, level.groups) * bit_width(level);
    }
  }
  if (format.offset == Offset::zero_point) {
    bits += groups_in(shape, innermost_groups(format)) * bit_width(format.code);
  }
  if (const auto* table = std::get_if<StoredTable>(&format.code)) {
    bits += groups_in(shape, table->groups) * table->levels * bit_width(table->values);
  }
  return bits;
}

std::uint64_t stored_bytes(const NumberFormat& format, const Shape& shape) {
  return static_cast<std::uint64_t>(std::ceil(stored_bits(format, shape) / 8));
}

double bits_per_weight(const NumberFormat& format, const Shape& shape) {
  const auto count = static_cast<double>(shape.element_count().value_or(0));
  return count == 0 ? 0 : stored_bits(format, shape) / count;
}

Expected<void> verify(const NumberFormat& format) {
  QUADRANT_CHECK(check_code(format.code));
  QUADRANT_CHECK(check_levels(format.scales));
  QUADRANT_CHECK(check_levels(format.offsets));
  if (!is_float(format.expressed)) return no_format("a format whose expressed type is not float");
  if (format.code == NumberCode(FloatCode{ElementType::float8e8m0}) && !format.scales.empty()) {
    return no_format("codes of f8e8m0 with scales: they have no sign");
  }
  const auto* table = std::get_if<StoredTable>(&format.code);
  if (table != nullptr && !format.scales.empty() &&
      !nests(table->groups, format.scales.back().groups)) {
    return no_format("a group of scales has codes of one table");
  }
  if (format.offset == Offset::zero_point &&
      (!std::holds_alternative<IntegerCode>(format.code) || format.scales.empty())) {
    return no_format("a zero point belongs to integers with a scale");
  }
  if ((format.offset == Offset::minimum) == format.offsets.empty()) {
    return no_format("a minimum has levels, and no other offset has");
  }
  if (format.offset == Offset::minimum &&
      (format.scales.empty() || format.offsets.back().groups != format.scales.back().groups)) {
    return no_format("a minimum belongs to the groups of the innermost scale");
  }
  return {};
}

Expected<void> verify(const NumberFormat& format, const Shape& shape) {
  QUADRANT_CHECK(verify(format));
  for (const auto* levels : {&format.scales, &format.offsets}) {
    for (const ScaleLevel& level : *levels) QUADRANT_CHECK(check_axis(level.groups, shape));
  }
  const auto* table = std::get_if<StoredTable>(&format.code);
  return table == nullptr ? Expected<void>{} : check_axis(table->groups, shape);
}

}  // namespace quadrant::inline v0

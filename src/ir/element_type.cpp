#include <array>
#include <bit>
#include <cstddef>

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0 {
namespace {

static_assert(
    std::endian::native == std::endian::little,
    "constants are little-endian, and everything reads them as the machine's own numbers");

enum class Class : std::uint8_t {
  none,
  boolean,
  signed_integer,
  unsigned_integer,
  floating,
  carried
};

struct Row {
  std::string_view name;
  Class kind;
  int bits;
};

// In the order of the enumerators.
constexpr std::array<Row, 27> rows{{
    {"undefined", Class::none, 0},      {"i1", Class::boolean, 1},
    {"i4", Class::signed_integer, 4},   {"u4", Class::unsigned_integer, 4},
    {"i8", Class::signed_integer, 8},   {"u8", Class::unsigned_integer, 8},
    {"i16", Class::signed_integer, 16}, {"u16", Class::unsigned_integer, 16},
    {"i32", Class::signed_integer, 32}, {"u32", Class::unsigned_integer, 32},
    {"i64", Class::signed_integer, 64}, {"u64", Class::unsigned_integer, 64},
    {"f16", Class::floating, 16},       {"bf16", Class::floating, 16},
    {"f32", Class::floating, 32},       {"f64", Class::floating, 64},
    {"i2", Class::carried, 2},          {"u2", Class::carried, 2},
    {"f4e2m1", Class::carried, 4},      {"f6e2m3", Class::carried, 6},
    {"f6e3m2", Class::carried, 6},      {"f8e4m3", Class::carried, 8},
    {"f8e4m3fnuz", Class::carried, 8},  {"f8e5m2", Class::carried, 8},
    {"f8e5m2fnuz", Class::carried, 8},  {"f8e8m0", Class::carried, 8},
    {"opaque", Class::carried, 0},
}};
static_assert(rows.size() == static_cast<std::size_t>(ElementType::opaque) + 1);

constexpr const Row& row(ElementType type) noexcept { return rows[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view to_string(ElementType type) noexcept { return row(type).name; }

std::optional<ElementType> parse_element_type(std::string_view text) noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].name == text) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

int bit_width(ElementType type) noexcept { return row(type).bits; }

bool is_carried(ElementType type) noexcept { return row(type).kind == Class::carried; }

int byte_width(ElementType type) noexcept {
  return is_carried(type) ? 0 : (row(type).bits + 7) / 8;
}

std::uint64_t packed_size(ElementType type, std::uint64_t count) noexcept {
  const std::uint64_t bits =
      type == ElementType::boolean ? 8 : static_cast<std::uint64_t>(row(type).bits);
  return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

bool is_float(ElementType type) noexcept { return row(type).kind == Class::floating; }

bool is_integer(ElementType type) noexcept {
  return row(type).kind == Class::signed_integer || row(type).kind == Class::unsigned_integer;
}

std::optional<IntegerRange> integer_range(ElementType type) noexcept {
  const Row& entry = row(type);
  if (!is_integer(type) || entry.bits > 32) return std::nullopt;
  const std::int64_t count = std::int64_t{1} << entry.bits;
  if (entry.kind == Class::unsigned_integer) return IntegerRange{0, count - 1};
  return IntegerRange{-count / 2, count / 2 - 1};
}

}  // namespace quadrant::inline v0

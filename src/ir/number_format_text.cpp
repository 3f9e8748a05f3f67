#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "ir/codes_text.hpp"
#include "ir/small_float.hpp"
#include "ir/text_scanner.hpp"
#include "quadrant/ir/number_format.hpp"
#include "support/near_names.hpp"

namespace quadrant::inline v0 {
namespace {

using detail::Scanner;

struct TableName {
  std::string_view name;
  FixedTable table;
};
constexpr std::array<TableName, 3> tables{{
    {"nf4", FixedTable::nf4},
    {"fp4-bnb", FixedTable::fp4_bnb},
    {"iq4nl", FixedTable::iq4nl},
}};

// Defaults: few bits have blocks of 32, with a scale that may mirror the range where codes are
// signed, as llama.cpp's Q4_0 has; more have channels.
constexpr std::string_view llama = "llama.cpp, ggml-common.h";
constexpr std::string_view mx = "OCP Microscaling Formats 1.0";
constexpr std::array<NamedFormat, 26> named_rows{{
    {"int2", "i2 * +-f16[block=32] : f32", "uniform"},
    {"int3", "i3 * +-f16[block=32] : f32", "uniform"},
    {"int4", "i4 * +-f16[block=32] : f32", "uniform"},
    {"int5", "i5 * f32[channel] : f32", "uniform"},
    {"int6", "i6 * f32[channel] : f32", "uniform"},
    {"int7", "i7 * f32[channel] : f32", "uniform"},
    {"int8", "i8 * f32[channel] : f32", "uniform"},
    {"uint2", "(u2 - z) * f16[block=32] : f32", "uniform"},
    {"uint3", "(u3 - z) * f16[block=32] : f32", "uniform"},
    {"uint4", "(u4 - z) * f16[block=32] : f32", "uniform"},
    {"uint5", "(u5 - z) * f32[channel] : f32", "uniform"},
    {"uint6", "(u6 - z) * f32[channel] : f32", "uniform"},
    {"uint7", "(u7 - z) * f32[channel] : f32", "uniform"},
    {"uint8", "(u8 - z) * f32[channel] : f32", "uniform"},
    {"nf4", "nf4 * f32[block=64] : f32", "bitsandbytes, arXiv 2305.14314"},
    {"fp4-bnb", "fp4-bnb * f32[block=64] : f32", "bitsandbytes"},
    {"iq4nl", "iq4nl * +-f16[block=32] : f32", llama},
    {"fp8-e4m3", "f8e4m3 * f32[channel] : f32", "OCP 8-bit Floating Point 1.0"},
    {"fp8-e5m2", "f8e5m2 * f32[channel] : f32", "OCP 8-bit Floating Point 1.0"},
    {"mxfp4", "f4e2m1 * f8e8m0[block=32] : f32", mx},
    {"mxfp8", "f8e4m3 * f8e8m0[block=32] : f32", mx},
    {"nvfp4", "f4e2m1 * f32[tensor] * f8e4m3[block=16] : f32", "NVIDIA, arXiv 2509.25149"},
    {"lpbq4", "i4<-7:7> * f32[channel] * u4<1:16>[block=64] : f32", "AIMET, blockwise LPBQ"},
    {"q4_k", "u4 * f16[block=256] * u6[block=32] - f16[block=256] * u6[block=32] : f32", llama},
    {"q5_k", "u5 * f16[block=256] * u6[block=32] - f16[block=256] * u6[block=32] : f32", llama},
    {"q6_k", "i6 * f16[block=256] * i8[block=16] : f32", llama},
}};

std::string codes_text(const IntegerCode& code) {
  const ElementType storage = storage_element(code.bits, code.is_signed);
  const int bits = code.bits == bit_width(storage) ? 0 : code.bits;
  return detail::print_codes({storage, bits, code.min, code.max});
}

std::string level_text(const ScaleLevel& level) {
  const std::string groups = level.groups.print();
  if (const auto* integer = std::get_if<IntegerCode>(&level.type)) {
    return fmt::format("{}[{}]", codes_text(*integer), groups);
  }
  const auto& real = std::get<FloatScale>(level.type);
  return fmt::format("{}{}[{}]", real.has_sign ? "+-" : "", to_string(real.type), groups);
}

std::string code_text(const NumberFormat& format) {
  if (const auto* integer = std::get_if<IntegerCode>(&format.code)) {
    const std::string codes = codes_text(*integer);
    return format.offset == Offset::zero_point ? fmt::format("({} - z)", codes) : codes;
  }
  if (const auto* real = std::get_if<FloatCode>(&format.code)) {
    return std::string(to_string(real->type));
  }
  if (const auto* table = std::get_if<FixedTable>(&format.code)) {
    return std::string(std::ranges::find(tables, *table, &TableName::table)->name);
  }
  const auto& table = std::get<StoredTable>(format.code);
  return fmt::format("table<{} x {}>[{}]", table.levels, to_string(table.values),
                     table.groups.print());
}

class FormatReader {
 public:
  FormatReader(std::string_view text, const FormatAxes& axes) : scan_(text), axes_(axes) {}

  Expected<NumberFormat> run() {
    NumberFormat format;
    QUADRANT_CHECK(code(format));
    while (scan_.accept("*")) {
      QUADRANT_TRY(format.scales.emplace_back(), level());
    }
    const std::size_t at = scan_.position();
    if (scan_.accept("-")) {
      if (format.offset == Offset::zero_point) {
        return scan_.error(at, "a format has zero points or a minimum, not both");
      }
      format.offset = Offset::minimum;
      do {
        QUADRANT_TRY(format.offsets.emplace_back(), level());
      } while (scan_.accept("*"));
    }
    QUADRANT_CHECK(scan_.expect(":"));
    QUADRANT_TRY(format.expressed, element());
    if (!scan_.at_end()) return scan_.error(scan_.position(), "expected the end of the format");
    if (auto valid = verify(format); !valid) return scan_.error(0, valid.error().message);
    return format;
  }

 private:
  Expected<ElementType> element() {
    const std::size_t at = scan_.position();
    if (const auto type = parse_element_type(scan_.word())) return *type;
    return scan_.error(at, "expected a type of numbers, for example f32");
  }

  Expected<IntegerCode> integers() {
    QUADRANT_TRY(const detail::CodesText codes, detail::parse_codes(scan_));
    const bool is_signed = integer_range(codes.storage).value_or(IntegerRange{}).min < 0;
    const int bits = codes.storage_bits != 0 ? codes.storage_bits : bit_width(codes.storage);
    return IntegerCode{bits, is_signed, codes.storage_min, codes.storage_max};
  }

  // `i4` and `u6<1:16>`; everything else that starts so is a word of its own.
  [[nodiscard]] bool next_is_integer() const {
    Scanner ahead = scan_;
    const std::string_view word = ahead.word();
    return word.size() > 1 && (word[0] == 'i' || word[0] == 'u') &&
           std::ranges::all_of(word.substr(1), [](char c) { return c >= '0' && c <= '9'; });
  }

  Expected<void> code(NumberFormat& format) {
    if (scan_.accept("(")) {
      format.offset = Offset::zero_point;
      QUADRANT_TRY(format.code, integers());
      QUADRANT_CHECK(scan_.expect("-"));
      QUADRANT_CHECK(scan_.expect("z"));
      return scan_.expect(")");
    }
    if (next_is_integer()) {
      QUADRANT_TRY(format.code, integers());
      return {};
    }
    for (const TableName& row : tables) {
      if (!scan_.accept(row.name)) continue;
      format.code = row.table;
      return {};
    }
    if (scan_.accept("table<")) return stored_table(format);
    QUADRANT_TRY(format.code, element().map([](ElementType type) { return FloatCode{type}; }));
    return {};
  }

  Expected<void> stored_table(NumberFormat& format) {
    StoredTable table;
    const std::size_t at = scan_.position();
    QUADRANT_TRY(const std::int64_t levels, scan_.digits());
    if (levels > 256) return scan_.error(at, "a table has 4 to 256 values");
    table.levels = static_cast<int>(levels);
    QUADRANT_CHECK(scan_.expect("x"));
    QUADRANT_TRY(table.values, element());
    QUADRANT_CHECK(scan_.expect(">"));
    QUADRANT_TRY(table.groups, groups());
    format.code = table;
    return {};
  }

  Expected<ScaleLevel> level() {
    ScaleLevel level;
    if (next_is_integer()) {
      QUADRANT_TRY(level.type, integers());
    } else {
      FloatScale real;
      real.has_sign = scan_.accept("+-");
      QUADRANT_TRY(real.type, element());
      level.type = real;
    }
    QUADRANT_TRY(level.groups, groups());
    return level;
  }

  Expected<Granularity> groups() {
    QUADRANT_CHECK(scan_.expect("["));
    QUADRANT_TRY(const Granularity found, granularity());
    QUADRANT_CHECK(scan_.expect("]"));
    return found;
  }

  Expected<Granularity> granularity() {
    if (scan_.accept("tensor")) return Granularity::per_tensor();
    if (scan_.accept("channel")) return Granularity::per_axis(axes_.channel);
    std::int64_t axis = axes_.block;
    if (scan_.accept("axis=")) {
      QUADRANT_TRY(axis, scan_.digits());
      if (scan_.next_is(']')) return Granularity::per_axis(axis);
    }
    QUADRANT_CHECK(scan_.expect("block="));
    QUADRANT_TRY(const std::int64_t size, scan_.digits());
    return Granularity::per_block(axis, size);
  }

  Scanner scan_;
  FormatAxes axes_;
};

constexpr std::string_view codebook_prefix = "codebook:";

// `codebook:16`, `codebook:16:channel`, `codebook:16:group`: tables of float16 without scales, in
// groups of 1024, with which a table of 16 takes a quarter of a bit.
std::optional<std::string> codebook_text(std::string_view name) {
  name.remove_prefix(codebook_prefix.size());
  const std::size_t end = std::min(name.find(':'), name.size());
  const std::string_view number = name.substr(0, end);
  const std::string_view groups = name.substr(end);
  std::string_view of = "tensor";
  if (groups == ":channel") of = "channel";
  if (groups == ":group") of = "block=1024";
  int levels = 0;
  const auto [stop, status] = std::from_chars(number.data(), number.data() + number.size(), levels);
  const bool is_number = status == std::errc() && stop == number.data() + number.size();
  if (!is_number || levels < 4 || levels > 256) return std::nullopt;
  if (of == "tensor" && !groups.empty()) return std::nullopt;
  return fmt::format("table<{} x f16>[{}] : f32", levels, of);
}

}  // namespace

std::span<const NamedFormat> named_formats() noexcept { return named_rows; }

std::string to_string(const NumberFormat& format) {
  std::string text = code_text(format);
  for (const ScaleLevel& level : format.scales) text += " * " + level_text(level);
  for (std::size_t i = 0; i < format.offsets.size(); ++i) {
    text += (i == 0 ? " - " : " * ") + level_text(format.offsets[i]);
  }
  return text + fmt::format(" : {}", to_string(format.expressed));
}

Expected<NumberFormat> parse_number_format(std::string_view text, const FormatAxes& axes) {
  const auto row = std::ranges::find(named_rows, text, &NamedFormat::name);
  std::string codebook;
  if (row != named_rows.end()) {
    text = row->text;
  } else if (text.starts_with(codebook_prefix)) {
    const auto found = codebook_text(text);
    if (!found) {
      return fail(ErrorCode::usage,
                  fmt::format("there is no number format '{}': codebook:N, codebook:N:channel and "
                              "codebook:N:group have tables of N values, 4 to 256",
                              text));
    }
    codebook = *found;
    text = codebook;
  } else if (text.find_first_of(" :*[(<") == std::string_view::npos) {
    std::vector<std::string_view> names;
    names.reserve(named_rows.size());
    for (const NamedFormat& named : named_rows) names.push_back(named.name);
    return fail(ErrorCode::usage, fmt::format("there is no number format '{}'{}", text,
                                              did_you_mean_or_all(text, names)));
  }
  return FormatReader(text, axes).run().map_error([&](Error error) {
    return Error{ErrorCode::usage, fmt::format("the number format '{}': {}", text, error.message)};
  });
}

}  // namespace quadrant::inline v0

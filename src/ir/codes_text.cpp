#include "ir/codes_text.hpp"

#include <fmt/format.h>

#include <charconv>

#include "ir/text_numbers.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::detail {

Expected<CodesText> parse_codes(Scanner& scan) {
  const std::size_t at = scan.position();
  std::string_view word = scan.word();
  const bool is_signed = !word.starts_with('u');
  // MLIR reads `si8` and `ui8`, too, and prints `i8` and `u8`.
  for (const std::string_view prefix : {"si", "ui", "i", "u"}) {
    if (!word.starts_with(prefix)) continue;
    word.remove_prefix(prefix.size());
    break;
  }
  int bits = 0;
  const char* const end = word.data() + word.size();
  const bool is_width = std::from_chars(word.data(), end, bits).ptr == end;
  if (!is_width || word.starts_with('0') || bits < 1 || bits > 32) {
    return scan.error(at, "codes are integers of 1 to 32 bits, for example i8 or u4");
  }
  CodesText codes;
  codes.storage = storage_element(bits, is_signed);
  if (bits != bit_width(codes.storage)) codes.storage_bits = bits;
  const IntegerRange range = code_range(bits, is_signed);
  codes.storage_min = range.min;
  codes.storage_max = range.max;
  if (!scan.accept("<")) return codes;
  QUADRANT_TRY(const Number min, scan.number());
  QUADRANT_TRY(codes.storage_min, to_integer(scan, min));
  QUADRANT_CHECK(scan.expect(":"));
  QUADRANT_TRY(const Number max, scan.number());
  QUADRANT_TRY(codes.storage_max, to_integer(scan, max));
  QUADRANT_CHECK(scan.expect(">"));
  return codes;
}

std::string print_codes(const CodesText& codes) {
  const auto stored = integer_range(codes.storage);
  const bool is_signed = stored && stored->min < 0;
  const int bits = codes.storage_bits != 0 ? codes.storage_bits : bit_width(codes.storage);
  std::string text = codes.storage_bits == 0 ? std::string(to_string(codes.storage))
                                             : fmt::format("{}{}", is_signed ? 'i' : 'u', bits);
  const IntegerRange range = stored ? code_range(bits, is_signed) : IntegerRange{};
  if (!stored || range.min != codes.storage_min || range.max != codes.storage_max) {
    text += fmt::format("<{}:{}>", codes.storage_min, codes.storage_max);
  }
  return text;
}

}  // namespace quadrant::inline v0::detail

// What the printer and the parser of the text form agree on.
//
//   graph    := ["graph" dict] ["reserved" strings] node*      `#` starts a comment
//   node     := [result {"," result} "="] kind "(" [operand {"," operand}] ")" [contents] [dict]
//   result   := "%" name ":" type
//   operand  := "%" name | "_"                          `_` is an absent one
//   type     := "tensor<" extents element ">"           extents: `4x?x`, or `*x` of unknown rank
//   element  := `f32` ... | "!quant.uniform<" storage ["<" min ":" max ">"] ":" expressed
//               [":" axis | ":{" axis ":" size "}"] "," (scale | "{" scale {"," scale} "}") ">"
//   scale    := number [":" zero point]
//   contents := [type] ("[" numbers "]" | bytes | "<...>")      of a constant; [type]: unless the
//               result's
//   bytes    := "base64(" string ")"                    of the elements, one behind the other
//   dict     := "{" key "=" value {"," key "=" value} "}"
//   value    := integer | real | string | list | type contents | "tensor<>"
//             | "opaque(" string "," (hex | type contents | "tensor<>") ")"
//   list     := "[" values of one kind "]" | "real[]" | "string[]"
//   strings  := "[" strings "]"                         names that no value may get: of subgraphs
//
// Reals have a point, an exponent, or are `inf`, `nan` or `nan(0x7fc00001)`, whose digits are all
// bits of the number. The key `name` is the node's name; an attribute of that name is `"name"`.
// Names and kinds that are more than letters, digits and a few signs are strings.
#pragma once

#include <cstdint>
#include <string_view>

namespace quadrant::inline v0::detail {

inline bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Characters of names without quotes; kinds may hold colons besides (`com.microsoft::Gelu`).
inline bool is_name_char(char c) noexcept {
  return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '/' || c == '$' || c == '-';
}
inline bool is_kind_char(char c) noexcept { return is_name_char(c) || c == ':'; }
inline bool is_key_char(char c) noexcept { return is_letter(c) || is_digit(c) || c == '_'; }

template <class Predicate>
bool is_made_of(std::string_view text, Predicate predicate) noexcept {
  for (const char c : text) {
    if (!predicate(c)) return false;
  }
  return !text.empty();
}

/// Without quotes, kinds and keys start with a letter or `_`.
inline bool is_word_start(char c) noexcept { return is_letter(c) || c == '_'; }

/// NaNs of these bits are `nan`.
inline constexpr std::uint64_t plain_nan_f16 = 0x7e00;
inline constexpr std::uint64_t plain_nan_bf16 = 0x7fc0;
inline constexpr std::uint64_t plain_nan_f32 = 0x7fc00000;
inline constexpr std::uint64_t plain_nan_f64 = 0x7ff8000000000000;

}  // namespace quadrant::inline v0::detail

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>

#include "numerics/finite.hpp"
#include "quadrant/numerics/statistics.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr int word_bits = 64;
constexpr int least_float_exponent = -149;

// Floats are added up as integers, piece by piece: such sums are exact, and the compiler may
// reorder them, so that their loops vectorise. There is room for a piece in 32 bits of 22-bit
// summands.
constexpr std::size_t values_at_a_time = 256;

// --- in 32 bits ----------------------------------------------------------------------------------

constexpr int narrow_bits = 22;
// The exponents for which neither scaling leaves the normal floats.
constexpr int narrow_top_min = -100;
constexpr int narrow_top_max = narrow_bits;

// Values below 2^top as multiples of 2^(top - 22) and, for what remains of them, of 2^(top - 44).
struct NarrowSum {
  std::int32_t coarse = 0;
  std::int32_t fine = 0;
  bool is_exact = false;  ///< nothing remained after both

  NarrowSum(std::span<const float> values, int top) noexcept {
    const float scale = std::ldexp(1.0F, narrow_bits - top);
    constexpr auto fine_scale = static_cast<float>(1 << narrow_bits);
    std::uint32_t rest_bits = 0;
    for (const float value : values) {
      const float scaled = value * scale;
      const auto whole = static_cast<std::int32_t>(scaled);
      const float fine_scaled = (scaled - static_cast<float>(whole)) * fine_scale;
      const auto fine_whole = static_cast<std::int32_t>(fine_scaled);
      const float rest = fine_scaled - static_cast<float>(fine_whole);
      coarse += whole;
      fine += fine_whole;
      rest_bits |= std::bit_cast<std::uint32_t>(rest) << 1U;  // without the sign, of -0 too
    }
    is_exact = rest_bits == 0;
  }
};

// --- in 64 bits ----------------------------------------------------------------------------------

constexpr int wide_bits = 51;

struct Grid {
  explicit Grid(int wanted) : exponent(std::max(wanted, least_float_exponent)) {}
  int exponent;
  // Adding it to a double of magnitude below 2^(exponent + 51) rounds this to a multiple of
  // 2^exponent, and leaves that multiple, in two's complement, in the lower bits of the sum.
  double rounder = std::ldexp(1.5, 52 + exponent);

  // `bits`: of `count` such sums, added modulo 2^64.
  [[nodiscard]] std::int64_t multiple(std::uint64_t bits, std::size_t count) const noexcept {
    return static_cast<std::int64_t>(bits - count * std::bit_cast<std::uint64_t>(rounder));
  }
};

// A float as a multiple of 2^coarse, one of 2^fine, and what remains, which a float can hold.
struct WideSplit {
  double coarse = 0;  ///< plus the rounder of its grid, as is `fine`
  double fine = 0;
  double rest = 0;

  WideSplit(float value, double coarse_rounder, double fine_rounder) noexcept {
    const auto real = static_cast<double>(value);
    coarse = real + coarse_rounder;
    const double remainder = real - (coarse - coarse_rounder);
    fine = remainder + fine_rounder;
    rest = remainder - (fine - fine_rounder);
  }
};

// --- numbers of several words --------------------------------------------------------------------

using Words = std::array<std::uint64_t, 6>;

// To the left where `bits` is positive. What leaves the words is lost.
Words shifted(const Words& words, int bits) noexcept {
  Words result{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    // Bits of words[i] go to two neighbouring words.
    const int position = static_cast<int>(i) * word_bits + bits;
    const int word = position >= 0 ? position / word_bits : -((-position - 1) / word_bits + 1);
    const int shift = position - word * word_bits;
    const auto put = [&](int to, std::uint64_t part) {
      if (to >= 0 && to < std::ssize(result)) result[static_cast<std::size_t>(to)] |= part;
    };
    put(word, words[i] << shift);
    if (shift != 0) put(word + 1, words[i] >> (word_bits - shift));
  }
  return result;
}

// Of a number that is not 0.
int trailing_zeros(const Words& words) noexcept {
  std::size_t i = 0;
  while (words[i] == 0) ++i;
  return static_cast<int>(i) * word_bits + std::countr_zero(words[i]);
}

int bit_length(const Words& words) noexcept {
  for (std::size_t i = words.size(); i-- > 0;) {
    if (words[i] != 0)
      return static_cast<int>(i) * word_bits + static_cast<int>(std::bit_width(words[i]));
  }
  return 0;
}

Words negated(const Words& words) noexcept {
  Words result{};
  bool carry = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    result[i] = ~words[i] + (carry ? 1U : 0U);
    carry = carry && result[i] == 0;
  }
  return result;
}

bool is_negative(const Words& words) noexcept { return (words.back() >> (word_bits - 1)) != 0; }

// a += b + carry; the carry out of it.
bool add_with_carry(std::uint64_t& a, std::uint64_t b, bool carry) noexcept {
  const std::uint64_t partial = a + b;
  const bool first = partial < b;
  a = partial + (carry ? 1U : 0U);
  return first || a < partial;
}

// A digit of base 16 in small letters; empty for any other character.
std::optional<std::uint64_t> digit(char c) noexcept {
  if (c >= '0' && c <= '9') return static_cast<std::uint64_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint64_t>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

void ExactSum::add(std::span<const float> values) {
  for_each_finite_piece(
      values, 4096,
      [this](std::span<const float> piece, const FloatRange& range) { add(piece, range); });
}

void ExactSum::add(std::span<const float> values, const FloatRange& range) noexcept {
  const int top = exponent_above(range.largest_magnitude());
  const bool is_narrow = top >= narrow_top_min && top <= narrow_top_max;
  while (!values.empty()) {
    const std::span<const float> piece = values.first(std::min(values.size(), values_at_a_time));
    values = values.subspan(piece.size());
    if (!is_narrow || !add_narrow(piece, top)) add_wide(piece);
  }
}

// The usual way; false, with nothing added, where it is not exact: for values less than 2^-21 times
// the largest.
bool ExactSum::add_narrow(std::span<const float> values, int top) noexcept {
  const NarrowSum sum(values, top);
  if (!sum.is_exact) return false;
  add_multiple(sum.coarse, top - narrow_bits);
  add_multiple(sum.fine, top - 2 * narrow_bits);
  return true;
}

void ExactSum::add_wide(std::span<const float> values) noexcept {
  std::array<float, values_at_a_time> rests;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (true) {
    const float largest = range_of(values).largest_magnitude();
    const Grid coarse(exponent_above(largest) - wide_bits);
    const Grid fine(coarse.exponent - wide_bits);
    const auto split = [&](float value) { return WideSplit(value, coarse.rounder, fine.rounder); };
    std::uint64_t coarse_bits = 0;
    std::uint64_t fine_bits = 0;
    std::uint64_t rest_bits = 0;
    for (const float value : values) {
      const WideSplit parts = split(value);
      coarse_bits += std::bit_cast<std::uint64_t>(parts.coarse);
      fine_bits += std::bit_cast<std::uint64_t>(parts.fine);
      rest_bits |= std::bit_cast<std::uint64_t>(parts.rest) << 1U;
    }
    add_multiple(coarse.multiple(coarse_bits, values.size()), coarse.exponent);
    add_multiple(fine.multiple(fine_bits, values.size()), fine.exponent);
    if (rest_bits == 0) return;
    // There are values less than 2^-77 times the largest: these go on.
    std::ranges::transform(values, rests.begin(),
                           [&](float value) { return static_cast<float>(split(value).rest); });
    values = std::span(rests).first(values.size());
  }
}

void ExactSum::add_multiple(std::int64_t factor, int exponent) noexcept {
  const int position = exponent - least_float_exponent;
  const auto first = static_cast<std::size_t>(position / word_bits);
  const int shift = position % word_bits;
  const auto low = static_cast<std::uint64_t>(factor) << shift;
  // In two steps: a shift by all 64 bits is not defined.
  const auto high = static_cast<std::uint64_t>(factor >> 1 >> (word_bits - 1 - shift));
  const std::uint64_t sign = factor < 0 ? ~std::uint64_t{0} : 0;
  bool carry = add_with_carry(words_[first], low, false);
  carry = add_with_carry(words_[first + 1], high, carry);
  for (std::size_t i = first + 2; i < words_.size(); ++i) {
    carry = add_with_carry(words_[i], sign, carry);
  }
}

void ExactSum::merge(const ExactSum& other) noexcept {
  bool carry = false;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    carry = add_with_carry(words_[i], other.words_[i], carry);
  }
}

double ExactSum::value() const noexcept {
  const bool negative = is_negative(words_);
  const Words magnitude = negative ? negated(words_) : words_;
  const int length = bit_length(magnitude);
  if (length == 0) return 0;
  // The upper 64 bits, and whether there is anything below them, round as the whole does.
  const Words upper = shifted(magnitude, word_bits - length);
  const bool has_more = trailing_zeros(magnitude) < length - word_bits;
  const auto rounded = static_cast<double>(upper[0] | (has_more ? 1U : 0U));
  const double result = std::ldexp(rounded, length - word_bits + least_float_exponent);
  return negative ? -result : result;
}

std::string ExactSum::to_hex() const {
  const bool negative = is_negative(words_);
  Words magnitude = negative ? negated(words_) : words_;
  if (bit_length(magnitude) == 0) return "0x0p+0";
  constexpr int digit_bits = 4;
  const int dropped = trailing_zeros(magnitude) / digit_bits * digit_bits;
  magnitude = shifted(magnitude, -dropped);
  std::string text = negative ? "-0x" : "0x";
  bool started = false;
  for (std::size_t i = magnitude.size(); i-- > 0;) {
    if (started) {
      text += fmt::format("{:016x}", magnitude[i]);
    } else if (magnitude[i] != 0) {
      text += fmt::format("{:x}", magnitude[i]);
      started = true;
    }
  }
  return text + fmt::format("p{:+d}", dropped + least_float_exponent);
}

std::optional<ExactSum> ExactSum::from_hex(std::string_view text) {
  constexpr std::size_t longest = 128;
  if (text.size() > longest) return std::nullopt;
  const std::string_view whole = text;
  const bool negative = text.starts_with('-');
  text.remove_prefix(negative ? 1 : 0);
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  Words magnitude{};
  for (; !text.empty() && text[0] != 'p'; text.remove_prefix(1)) {
    const std::optional<std::uint64_t> next = digit(text[0]);
    if (!next) return std::nullopt;
    magnitude = shifted(magnitude, 4);
    magnitude[0] |= *next;
  }
  if (text.starts_with('p')) text.remove_prefix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  int exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  constexpr int bits = word_bits * static_cast<int>(Words{}.size());
  if (std::abs(exponent) > bits) return std::nullopt;
  if (bit_length(magnitude) == 0) exponent = 0;
  magnitude = shifted(magnitude, exponent - least_float_exponent);
  ExactSum sum;
  sum.words_ = negative ? negated(magnitude) : magnitude;
  // What was lost on the way, and whatever is written in another way than ours, shows here.
  if (sum.to_hex() != whole) return std::nullopt;
  return sum;
}

}  // namespace quadrant::inline v0

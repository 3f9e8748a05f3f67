#include "numerics/kernels/quantize.hpp"

#include "numerics/kernels/prefetch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/quantize.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Integers = hn::RebindToSigned<Floats>;
using FloatVector = hn::Vec<Floats>;
using IntegerVector = hn::Vec<Integers>;

constexpr std::size_t lanes = HWY_MAX_BYTES / sizeof(float);

// 1.5 * 2^23: a float of magnitude at most 2^22 that is added to it is rounded to an integer, ties
// to even, which its last 16 bits then hold.
constexpr float rounder = 12582912.0F;

// Groups whose parameters are made ready at a time.
constexpr std::size_t chunk = 256;

// With room for a whole vector from every place on.
template <class Element>
struct ChunkArray {
  alignas(64) std::array<Element, chunk + lanes> elements;

  [[nodiscard]] const Element* at(std::size_t i) const { return elements.data() + i; }
  [[nodiscard]] Element* at(std::size_t i) { return elements.data() + i; }
};

// What numbers are quantized by, group by group.
struct Groups {
  ChunkArray<float> scale;
  ChunkArray<float> reciprocal;
  // Where there are reciprocals, the numbers of the outermost codes; else those codes' distances
  // from the zero point. Numbers and quotients are clamped to them.
  ChunkArray<float> low;
  ChunkArray<float> high;
  ChunkArray<std::int32_t> zero_point;
};

// Whether no quotient near a code underflows on its way, nor a reciprocal, and no bound is
// infinite, for all of `count` scales, whole vectors of them.
HWY_INLINE bool are_moderate(const float* scales, std::size_t count) {
  const Floats floats;
  const FloatVector least = hn::Set(floats, 0x1p-100F);
  const FloatVector most = hn::Set(floats, 0x1p100F);
  auto are = hn::Eq(least, least);
  for (std::size_t i = 0; i < count; i += hn::Lanes(floats)) {
    const FloatVector magnitude = hn::Abs(hn::Load(floats, scales + i));
    are = hn::And(are, hn::And(hn::Ge(magnitude, least), hn::Le(magnitude, most)));
  }
  return hn::AllTrue(floats, are);
}

// The `count` groups from `first` on; false where they do not allow for reciprocals.
HWY_INLINE bool prepare(Groups& groups, std::size_t count, const Affine& by, std::size_t first) {
  const Floats floats;
  const Integers integers;
  const std::size_t step = hn::Lanes(floats);
  const std::size_t whole = (count + step - 1) / step * step;
  std::copy_n(by.scales + first, count, groups.scale.at(0));
  std::fill(groups.scale.at(count), groups.scale.at(whole), 1.0F);
  if (by.zero_points != nullptr) {
    std::copy_n(by.zero_points + first, count, groups.zero_point.at(0));
    std::fill(groups.zero_point.at(count), groups.zero_point.at(whole), 0);
  } else {
    std::fill_n(groups.zero_point.at(0), whole, by.zero_point);
  }
  const bool by_reciprocal = HWY_NATIVE_FMA != 0 && are_moderate(groups.scale.at(0), whole);
  const IntegerVector min = hn::Set(integers, by.min);
  const IntegerVector max = hn::Set(integers, by.max);
  for (std::size_t i = 0; i < whole; i += step) {
    const FloatVector scale = hn::Load(floats, groups.scale.at(i));
    const IntegerVector zero_point = hn::Load(integers, groups.zero_point.at(i));
    FloatVector low = hn::ConvertTo(floats, hn::Sub(min, zero_point));
    FloatVector high = hn::ConvertTo(floats, hn::Sub(max, zero_point));
    if (by_reciprocal) {
      const FloatVector one = hn::Mul(scale, low);
      const FloatVector other = hn::Mul(scale, high);
      low = hn::Min(one, other);
      high = hn::Max(one, other);
    }
    hn::Store(low, floats, groups.low.at(i));
    hn::Store(high, floats, groups.high.at(i));
    hn::Store(hn::Div(hn::Set(floats, 1.0F), scale), floats, groups.reciprocal.at(i));
  }
  return by_reciprocal;
}

// What the lanes of a vector of numbers are quantized by.
struct Lanes {
  FloatVector scale;
  FloatVector reciprocal;
  FloatVector low;
  FloatVector high;
  IntegerVector zero_point;
};

// All by group `i`.
HWY_INLINE Lanes same_group(const Groups& groups, std::size_t i) {
  const Floats floats;
  return {hn::Set(floats, *groups.scale.at(i)), hn::Set(floats, *groups.reciprocal.at(i)),
          hn::Set(floats, *groups.low.at(i)), hn::Set(floats, *groups.high.at(i)),
          hn::Set(Integers(), *groups.zero_point.at(i))};
}

// By groups `i`, i + 1, ...
HWY_INLINE Lanes groups_from(const Groups& groups, std::size_t i) {
  const Floats floats;
  return {hn::LoadU(floats, groups.scale.at(i)), hn::LoadU(floats, groups.reciprocal.at(i)),
          hn::LoadU(floats, groups.low.at(i)), hn::LoadU(floats, groups.high.at(i)),
          hn::LoadU(Integers(), groups.zero_point.at(i))};
}

HWY_INLINE void store_groups_at(Groups& groups, std::size_t i, const Lanes& by) {
  const Floats floats;
  hn::StoreU(by.scale, floats, groups.scale.at(i));
  hn::StoreU(by.reciprocal, floats, groups.reciprocal.at(i));
  hn::StoreU(by.low, floats, groups.low.at(i));
  hn::StoreU(by.high, floats, groups.high.at(i));
  hn::StoreU(by.zero_point, Integers(), groups.zero_point.at(i));
}

HWY_INLINE FloatVector zero_if_nan(FloatVector x) { return hn::IfThenElseZero(hn::Eq(x, x), x); }

// Codes of a byte lie near quotients of at most 255, where the first correction is enough: this was
// tried for all mantissas of scales with all numbers that are at most 3 units in the last place
// from where two codes meet.
template <bool by_reciprocal, bool is_small>
HWY_INLINE FloatVector bounded_quotient(FloatVector x, const Lanes& by) {
  if constexpr (!by_reciprocal) {
    const FloatVector q = zero_if_nan(hn::Div(x, by.scale));
    return hn::Min(hn::Max(q, by.low), by.high);
  } else {
    x = hn::Min(hn::Max(zero_if_nan(x), by.low), by.high);
    FloatVector q = hn::Mul(x, by.reciprocal);
    q = hn::MulAdd(hn::NegMulAdd(q, by.scale, x), by.reciprocal, q);
    if constexpr (is_small) return q;
    return hn::MulAdd(hn::NegMulAdd(q, by.scale, x), by.reciprocal, q);
  }
}

template <bool by_reciprocal, class Code>
HWY_INLINE void quantize_vector(const float* real, Code* codes, const Lanes& by) {
  const hn::RebindToUnsigned<Floats> words;
  const hn::Rebind<std::make_unsigned_t<Code>, Floats> narrow;
  const FloatVector x = hn::LoadU(Floats(), real);
  const FloatVector q = bounded_quotient < by_reciprocal, sizeof(Code) == 1 > (x, by);
  const IntegerVector distance = hn::BitCast(Integers(), hn::Add(q, hn::Set(Floats(), rounder)));
  const IntegerVector code = hn::Add(distance, by.zero_point);
  hn::StoreU(hn::TruncateTo(narrow, hn::BitCast(words, code)), narrow,
             reinterpret_cast<std::make_unsigned_t<Code>*>(codes));
}

// `length` numbers, the i-th by `lanes_at(i)` and so on. What is needed soon, `ahead` elements from
// here, is asked for meanwhile: left to the processor, waiting for memory and computing would take
// turns.
template <bool by_reciprocal, class Code, class LanesAt>
HWY_INLINE void quantize_row(const float* HWY_RESTRICT real, Code* HWY_RESTRICT codes,
                             std::size_t length, std::size_t ahead, LanesAt lanes_at) {
  const std::size_t step = hn::Lanes(Floats());
  if (length < step) {
    std::array<float, lanes> numbers{};
    std::array<Code, lanes> made{};
    for (std::size_t i = 0; i < length; ++i) numbers[i] = real[i];
    quantize_vector<by_reciprocal>(numbers.data(), made.data(), lanes_at(0));
    for (std::size_t i = 0; i < length; ++i) codes[i] = made[i];
    return;
  }
  std::size_t i = 0;
  for (; i + step <= length; i += step) {
    prefetch(real + i, ahead);
    quantize_vector<by_reciprocal>(real + i, codes + i, lanes_at(i));
  }
  if (i == length) return;
  i = length - step;  // some of them again
  quantize_vector<by_reciprocal>(real + i, codes + i, lanes_at(i));
}

template <bool by_reciprocal, class Code>
HWY_INLINE void quantize_chunk_of_rows(const float* real, Code* codes, const Rows& rows,
                                       const Groups& groups) {
  for (std::size_t row = 0; row < rows.count; ++row) {
    const Lanes group = same_group(groups, row);
    quantize_row<by_reciprocal>(real + row * rows.real_stride, codes + row * rows.code_stride,
                                rows.length, rows.ahead,
                                [&](std::size_t) HWY_ATTR { return group; });
  }
}

template <bool by_reciprocal, class Code>
HWY_INLINE void quantize_chunk_of_columns(const float* real, Code* codes, const Rows& rows,
                                          const Groups& groups) {
  for (std::size_t row = 0; row < rows.count; ++row) {
    quantize_row<by_reciprocal>(real + row * rows.real_stride, codes + row * rows.code_stride,
                                rows.length, rows.ahead,
                                [&](std::size_t i) HWY_ATTR { return groups_from(groups, i); });
  }
}

// The same parameters `length` times, for each of `count` groups: rows shorter than a vector, one
// behind the other, become one row of columns.
HWY_INLINE void spread(const Groups& groups, std::size_t count, std::size_t length,
                       Groups& elements) {
  for (std::size_t i = 0; i < count; ++i) {
    store_groups_at(elements, i * length, same_group(groups, i));
  }
}

template <class Code>
HWY_INLINE void quantize_all_rows(const float* real, Code* codes, const Rows& rows,
                                  const Affine& by) {
  Groups groups;    // NOLINT(cppcoreguidelines-pro-type-member-init): filled where it is used
  Groups elements;  // NOLINT(cppcoreguidelines-pro-type-member-init): as above
  const bool are_short = rows.length < hn::Lanes(Floats()) && rows.length == rows.real_stride &&
                         rows.length == rows.code_stride;
  const std::size_t most = are_short ? chunk / rows.length : chunk;
  for (std::size_t first = 0; first < rows.count; first += most) {
    Rows part = rows;
    part.count = std::min(most, rows.count - first);
    const float* const from = real + first * rows.real_stride;
    Code* const to = codes + first * rows.code_stride;
    const bool by_reciprocal = prepare(groups, part.count, by, first);
    if (are_short) {
      spread(groups, part.count, rows.length, elements);
      part.length = part.count * rows.length;
      part.count = 1;
    }
    if (are_short && by_reciprocal) {
      quantize_chunk_of_columns<HWY_NATIVE_FMA != 0>(from, to, part, elements);
    } else if (are_short) {
      quantize_chunk_of_columns<false>(from, to, part, elements);
    } else if (by_reciprocal) {
      quantize_chunk_of_rows<HWY_NATIVE_FMA != 0>(from, to, part, groups);
    } else {
      quantize_chunk_of_rows<false>(from, to, part, groups);
    }
  }
}

template <class Code>
HWY_INLINE void quantize_all_columns(const float* real, Code* codes, const Rows& rows,
                                     const Affine& by) {
  Groups groups;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled where it is used
  for (std::size_t first = 0; first < rows.length; first += chunk) {
    Rows part = rows;
    part.length = std::min(chunk, rows.length - first);
    if (prepare(groups, part.length, by, first)) {
      quantize_chunk_of_columns<HWY_NATIVE_FMA != 0>(real + first, codes + first, part, groups);
    } else {
      quantize_chunk_of_columns<false>(real + first, codes + first, part, groups);
    }
  }
}

// One function for each type of codes: Highway's tables are of functions, not of templates.
// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define QUADRANT_QUANTIZE(Code, suffix)                                            \
  void quantize_rows_##suffix(const float* real, Code* codes, const Rows& rows,    \
                              const Affine& by) {                                  \
    quantize_all_rows(real, codes, rows, by);                                      \
  }                                                                                \
  void quantize_columns_##suffix(const float* real, Code* codes, const Rows& rows, \
                                 const Affine& by) {                               \
    quantize_all_columns(real, codes, rows, by);                                   \
  }
QUADRANT_QUANTIZE(std::int8_t, i8)
QUADRANT_QUANTIZE(std::uint8_t, u8)
QUADRANT_QUANTIZE(std::int16_t, i16)
QUADRANT_QUANTIZE(std::uint16_t, u16)
#undef QUADRANT_QUANTIZE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

// NOLINTBEGIN(bugprone-macro-parentheses): as above
#define QUADRANT_DISPATCH(Code, suffix)                                                          \
  HWY_EXPORT(quantize_rows_##suffix);                                                            \
  HWY_EXPORT(quantize_columns_##suffix);                                                         \
  template <>                                                                                    \
  void quantize_rows<Code>(const float* real, Code* codes, const Rows& rows, const Affine& by) { \
    HWY_DYNAMIC_DISPATCH(quantize_rows_##suffix)(real, codes, rows, by);                         \
  }                                                                                              \
  template <>                                                                                    \
  void quantize_columns<Code>(const float* real, Code* codes, const Rows& rows,                  \
                              const Affine& by) {                                                \
    HWY_DYNAMIC_DISPATCH(quantize_columns_##suffix)(real, codes, rows, by);                      \
  }
QUADRANT_DISPATCH(std::int8_t, i8)
QUADRANT_DISPATCH(std::uint8_t, u8)
QUADRANT_DISPATCH(std::int16_t, i16)
QUADRANT_DISPATCH(std::uint16_t, u16)
#undef QUADRANT_DISPATCH
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace quadrant::inline v0::kernels
#endif

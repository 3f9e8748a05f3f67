#include "numerics/kernels/quantize.hpp"

#include "numerics/kernels/prefetch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/quantize.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "numerics/kernels/numbers-inl.hpp"

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

// Groups whose parameters are made ready at a time: they stay in the first-level cache.
constexpr std::size_t chunk = 1024;

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
  // Less the bits of `rounder`.
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
  const IntegerVector rounder_bits = hn::Set(integers, std::bit_cast<std::int32_t>(rounder));
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
    hn::Store(hn::Sub(zero_point, rounder_bits), integers, groups.zero_point.at(i));
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

template <class Number>
HWY_INLINE FloatVector zero_if_nan(FloatVector x) {
  if constexpr (std::is_same_v<Number, Float16>) return x;  // these are finite
  return hn::IfThenElseZero(hn::Eq(x, x), x);
}

// Codes of a byte lie near quotients of at most 255, where the first correction is enough: this was
// tried for all mantissas of scales with all numbers that are at most 3 units in the last place
// from where two codes meet.
template <bool by_reciprocal, class Number, class Code>
HWY_INLINE FloatVector bounded_quotient(FloatVector x, const Lanes& by) {
  if constexpr (!by_reciprocal) {
    const FloatVector q = zero_if_nan<Number>(hn::Div(x, by.scale));
    return hn::Min(hn::Max(q, by.low), by.high);
  } else {
    x = hn::Min(hn::Max(zero_if_nan<Number>(x), by.low), by.high);
    FloatVector q = hn::Mul(x, by.reciprocal);
    q = hn::MulAdd(hn::NegMulAdd(q, by.scale, x), by.reciprocal, q);
    if constexpr (sizeof(Code) == 1) return q;
    return hn::MulAdd(hn::NegMulAdd(q, by.scale, x), by.reciprocal, q);
  }
}

template <bool by_reciprocal, class Code, class Number>
HWY_INLINE IntegerVector codes_of(const Number* real, const Lanes& by) {
  const FloatVector q = bounded_quotient<by_reciprocal, Number, Code>(numbers_at(real), by);
  const FloatVector rounded = hn::Add(q, hn::Set(Floats(), rounder));
  return hn::Add(hn::BitCast(Integers(), rounded), by.zero_point);
}

template <class Code>
HWY_INLINE void store_narrow(IntegerVector integers, Code* codes) {
  using Bits = std::make_unsigned_t<Code>;
  const hn::Rebind<Bits, Floats> narrow;
  const auto words = hn::BitCast(hn::RebindToUnsigned<Floats>(), integers);
  hn::StoreU(hn::TruncateTo(narrow, words), narrow, reinterpret_cast<Bits*>(codes));
}

// Vectors of numbers whose codes are made narrow together. Only AVX2 needs to: its instructions
// stay inside blocks of 128 bits, which it takes more of them to put in order than to narrow.
template <class Code>
constexpr std::size_t together = HWY_TARGET == HWY_AVX2 && sizeof(Code) == 1 ? 2 : 1;

template <class Code>
HWY_INLINE void store_narrow(const std::array<IntegerVector, 1>& integers, Code* codes) {
  store_narrow(integers[0], codes);
}

#if HWY_TARGET == HWY_AVX2
template <class Code>
HWY_INLINE void store_narrow(const std::array<IntegerVector, 2>& integers, Code* codes) {
  const hn::Repartition<std::int16_t, Integers> pairs;
  const hn::Rebind<Code, decltype(pairs)> narrow;
  const hn::Repartition<std::int32_t, decltype(narrow)> blocks;
  // The blocks of both take turns.
  const auto mixed = hn::DemoteTo(narrow, hn::ReorderDemote2To(pairs, integers[0], integers[1]));
  alignas(16) constexpr std::int32_t order[] = {0, 2, 1, 3};  // NOLINT(*-avoid-c-arrays)
  const auto sorted =
      hn::TableLookupLanes(hn::BitCast(blocks, mixed), hn::SetTableIndices(blocks, order));
  hn::StoreU(hn::BitCast(narrow, sorted), narrow, codes);
}
#endif

// `count` rows side by side, element i of each by `lanes_at(i)` and so on. What is needed soon,
// `rows.ahead` elements from here, is asked for meanwhile: left to the processor, waiting for
// memory and computing would take turns.
template <bool by_reciprocal, std::size_t count, class Number, class Code, class LanesAt>
HWY_INLINE void quantize_side_by_side(const Number* HWY_RESTRICT real, Code* HWY_RESTRICT codes,
                                      const Rows& rows, LanesAt lanes_at) {
  const std::size_t step = hn::Lanes(Floats());
  const auto quantize_at = [&]<std::size_t vectors>(std::size_t i) HWY_ATTR {
    std::array<std::array<IntegerVector, vectors>, count> made;
    for (std::size_t vector = 0; vector < vectors; ++vector) {
      const std::size_t at = i + vector * step;
      const Lanes& by = lanes_at(at);  // not a copy, which GCC makes in memory
      for (std::size_t row = 0; row < count; ++row) {
        made[row][vector] = codes_of<by_reciprocal, Code>(real + row * rows.real_stride + at, by);
      }
    }
    for (std::size_t row = 0; row < count; ++row) {
      prefetch(real + row * rows.real_stride + i, rows.ahead);
      store_narrow(made[row], codes + row * rows.code_stride + i);
    }
  };
  const std::size_t width = together<Code> * step;
  std::size_t i = 0;
  for (; i + width <= rows.length; i += width) quantize_at.template operator()<together<Code>>(i);
  for (; i + step <= rows.length; i += step) quantize_at.template operator()<1>(i);
  if (i < rows.length) quantize_at.template operator()<1>(rows.length - step);  // some again
}

// The only row, shorter than a vector.
template <bool by_reciprocal, class Number, class Code>
HWY_INLINE void quantize_few(const Number* real, Code* codes, std::size_t length, const Lanes& by) {
  std::array<Number, lanes> numbers{};
  std::array<Code, lanes> made{};
  for (std::size_t i = 0; i < length; ++i) numbers[i] = real[i];
  store_narrow(codes_of<by_reciprocal, Code>(numbers.data(), by), made.data());
  for (std::size_t i = 0; i < length; ++i) codes[i] = made[i];
}

template <bool by_reciprocal, std::size_t count, class Number, class Code, class LanesAt>
HWY_INLINE void quantize_some(const Number* real, Code* codes, const Rows& rows, LanesAt lanes_at) {
  if (rows.length >= hn::Lanes(Floats())) {
    quantize_side_by_side<by_reciprocal, count>(real, codes, rows, lanes_at);
    return;
  }
  for (std::size_t row = 0; row < count; ++row) {
    quantize_few<by_reciprocal>(real + row * rows.real_stride, codes + row * rows.code_stride,
                                rows.length, lanes_at(0));
  }
}

template <bool by_reciprocal, class Number, class Code>
HWY_INLINE void quantize_chunk_of_rows(const Number* real, Code* codes, const Rows& rows,
                                       const Groups& groups) {
  for (std::size_t row = 0; row < rows.count; ++row) {
    const Lanes group = same_group(groups, row);
    quantize_some<by_reciprocal, 1>(real + row * rows.real_stride, codes + row * rows.code_stride,
                                    rows,
                                    [&](std::size_t) HWY_ATTR -> const Lanes& { return group; });
  }
}

template <bool by_reciprocal, class Number, class Code>
HWY_INLINE void quantize_chunk_of_columns(const Number* real, Code* codes, const Rows& rows,
                                          const Groups& groups) {
  const auto groups_at = [&](std::size_t i) HWY_ATTR { return groups_from(groups, i); };
  std::size_t row = 0;
  // Two at a time: what they are quantized by is loaded once.
  for (; row + 2 <= rows.count; row += 2) {
    quantize_some<by_reciprocal, 2>(real + row * rows.real_stride, codes + row * rows.code_stride,
                                    rows, groups_at);
  }
  if (row < rows.count) {
    quantize_some<by_reciprocal, 1>(real + row * rows.real_stride, codes + row * rows.code_stride,
                                    rows, groups_at);
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

template <class Number, class Code>
HWY_INLINE void quantize_all_rows(const Number* real, Code* codes, const Rows& rows,
                                  const Affine& by) {
  Groups groups;    // NOLINT(cppcoreguidelines-pro-type-member-init): filled where it is used
  Groups elements;  // NOLINT(cppcoreguidelines-pro-type-member-init): as above
  const bool are_short = rows.length < hn::Lanes(Floats()) && rows.length == rows.real_stride &&
                         rows.length == rows.code_stride;
  const std::size_t most = are_short ? chunk / rows.length : chunk;
  for (std::size_t first = 0; first < rows.count; first += most) {
    Rows part = rows;
    part.count = std::min(most, rows.count - first);
    const Number* const from = real + first * rows.real_stride;
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

template <class Number, class Code>
HWY_INLINE void quantize_all_columns(const Number* real, Code* codes, const Rows& rows,
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

// One function for each pair of types, of numbers and codes: Highway's tables are of functions, not
// of templates.
#define QUADRANT_EACH_PAIR(WITH)       \
  WITH(float, std::int8_t, f32_i8)     \
  WITH(float, std::uint8_t, f32_u8)    \
  WITH(float, std::int16_t, f32_i16)   \
  WITH(float, std::uint16_t, f32_u16)  \
  WITH(Float16, std::int8_t, f16_i8)   \
  WITH(Float16, std::uint8_t, f16_u8)  \
  WITH(Float16, std::int16_t, f16_i16) \
  WITH(Float16, std::uint16_t, f16_u16)

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define QUADRANT_QUANTIZE(Number, Code, suffix)                                     \
  void quantize_rows_##suffix(const Number* real, Code* codes, const Rows& rows,    \
                              const Affine& by) {                                   \
    quantize_all_rows(real, codes, rows, by);                                       \
  }                                                                                 \
  void quantize_columns_##suffix(const Number* real, Code* codes, const Rows& rows, \
                                 const Affine& by) {                                \
    quantize_all_columns(real, codes, rows, by);                                    \
  }
QUADRANT_EACH_PAIR(QUADRANT_QUANTIZE)
#undef QUADRANT_QUANTIZE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

// NOLINTBEGIN(bugprone-macro-parentheses): as above
#define QUADRANT_DISPATCH(Number, Code, suffix)                                          \
  HWY_EXPORT(quantize_rows_##suffix);                                                    \
  HWY_EXPORT(quantize_columns_##suffix);                                                 \
  template <>                                                                            \
  void quantize_rows<Code, Number>(const Number* real, Code* codes, const Rows& rows,    \
                                   const Affine& by) {                                   \
    HWY_DYNAMIC_DISPATCH(quantize_rows_##suffix)(real, codes, rows, by);                 \
  }                                                                                      \
  template <>                                                                            \
  void quantize_columns<Code, Number>(const Number* real, Code* codes, const Rows& rows, \
                                      const Affine& by) {                                \
    HWY_DYNAMIC_DISPATCH(quantize_columns_##suffix)(real, codes, rows, by);              \
  }
QUADRANT_EACH_PAIR(QUADRANT_DISPATCH)
#undef QUADRANT_DISPATCH
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace quadrant::inline v0::kernels
#endif

#include "numerics/kernels/extremes.hpp"

#include "numerics/kernels/prefetch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/extremes.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "numerics/kernels/numbers-inl.hpp"

// Maxima are those of bit patterns: as integers, numbers without a sign order as they do as
// numbers, infinity and NaN are above all others, and a sign makes an integer negative. Unlike
// floats' maxima these are the same on all processors, NaN or not.
HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Integers = hn::RebindToSigned<Floats>;
using Bits = hn::Vec<Integers>;

constexpr std::size_t lanes = HWY_MAX_BYTES / sizeof(float);

template <class Number>
HWY_INLINE Bits bits_at(const Number* numbers) {
  return hn::BitCast(Integers(), numbers_at(numbers));
}

HWY_INLINE float largest(Bits bits) {
  return std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(Integers(), bits)));
}

// How far numbers have reached so far: those with a sign count for `below` alone.
struct BothSides {
  Bits above;
  Bits below;

  // No initializers: an implicit constructor is compiled for every processor.
  static HWY_INLINE BothSides none() { return {hn::Zero(Integers()), hn::Zero(Integers())}; }

  HWY_INLINE void add(Bits bits) {
    above = hn::Max(above, bits);
    below = hn::Max(below, hn::Xor(bits, hn::Set(Integers(), INT32_MIN)));
  }
  HWY_INLINE void merge(const BothSides& other) {
    above = hn::Max(above, other.above);
    below = hn::Max(below, other.below);
  }
};

struct Magnitude {
  Bits most;

  static HWY_INLINE Magnitude none() { return {hn::Zero(Integers())}; }

  HWY_INLINE void add(Bits bits) {
    most = hn::Max(most, hn::And(bits, hn::Set(Integers(), INT32_MAX)));
  }
  HWY_INLINE void merge(const Magnitude& other) { most = hn::Max(most, other.most); }
};

template <class Reached, class Number>
HWY_INLINE Reached reach_of(const Number* numbers, std::size_t length) {
  const std::size_t step = hn::Lanes(Floats());
  Reached all = Reached::none();
  if (length < step) {
    if constexpr (lanes > 4 && std::is_same_v<Number, float>) {
      const auto inside = hn::FirstN(Floats(), length);
      all.add(hn::BitCast(Integers(), hn::MaskedLoad(inside, Floats(), numbers)));
    } else {  // where there is no such load, or it reads all lanes
      std::array<Number, lanes> few{};
      for (std::size_t i = 0; i < length; ++i) few[i] = numbers[i];
      all.add(bits_at(few.data()));
    }
    return all;
  }
  std::size_t i = 0;
  if (length >= 4 * step) {
    // Side by side, so that none waits for the one before.
    Reached second = Reached::none();
    Reached third = Reached::none();
    Reached fourth = Reached::none();
    for (; i + 4 * step <= length; i += 4 * step) {
      all.add(bits_at(numbers + i));
      second.add(bits_at(numbers + i + step));
      third.add(bits_at(numbers + i + 2 * step));
      fourth.add(bits_at(numbers + i + 3 * step));
    }
    all.merge(second);
    third.merge(fourth);
    all.merge(third);
  }
  for (; i + step <= length; i += step) all.add(bits_at(numbers + i));
  if (i < length) all.add(bits_at(numbers + length - step));  // some of them again
  return all;
}

#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR
// Of all blocks of four lanes, the largest in the same place.
template <class D>
HWY_INLINE void store_block_maxima([[maybe_unused]] D integers, hn::Vec<D> blocks, float* out) {
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    const auto maxima = hn::Max(hn::LowerHalf(half, blocks), hn::UpperHalf(half, blocks));
    store_block_maxima(half, maxima, out);
  } else {
    const hn::Rebind<float, D> floats;
    hn::StoreU(hn::BitCast(floats, blocks), floats, out);
  }
}
#endif

// Of four rows: as many maxima.
HWY_INLINE void store_largest(Bits a, Bits b, Bits c, Bits d, float* out) {
#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SCALAR
  out[0] = largest(a);
  out[1] = largest(b);
  out[2] = largest(c);
  out[3] = largest(d);
#else
  const Integers integers;
  const hn::Repartition<std::int64_t, Integers> pairs;
  // In each block of four lanes, a0 b0 a1 b1 with a2 b2 a3 b3; then a b c d.
  const Bits ab = hn::Max(hn::InterleaveLower(integers, a, b), hn::InterleaveUpper(integers, a, b));
  const Bits cd = hn::Max(hn::InterleaveLower(integers, c, d), hn::InterleaveUpper(integers, c, d));
  const auto lower = hn::InterleaveLower(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, cd));
  const auto upper = hn::InterleaveUpper(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, cd));
  const Bits blocks = hn::Max(hn::BitCast(integers, lower), hn::BitCast(integers, upper));
  store_block_maxima(integers, blocks, out);
#endif
}

template <class Number>
HWY_INLINE void reach_of_all_rows(const Number* numbers, const NumberRows& rows, Reach reach) {
  std::size_t row = 0;
  for (; row + 4 <= rows.count; row += 4) {
    const Number* const from = numbers + row * rows.stride;
    const auto a = reach_of<BothSides>(from, rows.length);
    const auto b = reach_of<BothSides>(from + rows.stride, rows.length);
    const auto c = reach_of<BothSides>(from + 2 * rows.stride, rows.length);
    const auto d = reach_of<BothSides>(from + 3 * rows.stride, rows.length);
    store_largest(a.above, b.above, c.above, d.above, reach.above + row);
    store_largest(a.below, b.below, c.below, d.below, reach.below + row);
  }
  for (; row < rows.count; ++row) {
    const auto all = reach_of<BothSides>(numbers + row * rows.stride, rows.length);
    reach.above[row] = largest(all.above);
    reach.below[row] = largest(all.below);
  }
}

template <class Number>
HWY_INLINE void magnitudes_of_all_rows(const Number* numbers, const NumberRows& rows,
                                       float* magnitudes) {
  std::size_t row = 0;
  for (; row + 4 <= rows.count; row += 4) {
    const Number* const from = numbers + row * rows.stride;
    const auto a = reach_of<Magnitude>(from, rows.length);
    const auto b = reach_of<Magnitude>(from + rows.stride, rows.length);
    const auto c = reach_of<Magnitude>(from + 2 * rows.stride, rows.length);
    const auto d = reach_of<Magnitude>(from + 3 * rows.stride, rows.length);
    store_largest(a.most, b.most, c.most, d.most, magnitudes + row);
  }
  for (; row < rows.count; ++row) {
    magnitudes[row] = largest(reach_of<Magnitude>(numbers + row * rows.stride, rows.length).most);
  }
}

// Rows that are looked at together: maxima are loaded and stored once for all of them, and few
// streams come from memory at a time. The next ones are asked for meanwhile where a vector is a
// line of the cache; else asking takes longer than it saves, and more lines at the same place of
// rows than the first-level cache may have room for.
constexpr bool asks_ahead = HWY_MAX_BYTES >= 64;
constexpr std::size_t rows_at_once = asks_ahead ? 8 : 4;

// `count` rows, in a vector of columns.
template <std::size_t count, class Number>
HWY_INLINE void extend_lanes(const Number* numbers, std::size_t stride, float* above,
                             float* below) {
  const Floats floats;
  BothSides all{bits_at(above), bits_at(below)};
  for (std::size_t row = 0; row < count; ++row) {
    if constexpr (asks_ahead) prefetch(numbers + row * stride, count * stride);
    all.add(bits_at(numbers + row * stride));
  }
  hn::StoreU(hn::BitCast(floats, all.above), floats, above);
  hn::StoreU(hn::BitCast(floats, all.below), floats, below);
}

inline void extend_one(float& so_far, std::int32_t by) noexcept {
  if (by > std::bit_cast<std::int32_t>(so_far)) so_far = std::bit_cast<float>(by);
}

template <std::size_t count, class Number>
HWY_INLINE void extend_columns(const Number* numbers, const NumberRows& rows, Reach reach) {
  const std::size_t step = hn::Lanes(Floats());
  std::size_t i = 0;
  for (; i + step <= rows.length; i += step) {
    extend_lanes<count>(numbers + i, rows.stride, reach.above + i, reach.below + i);
  }
  if (i != rows.length && i != 0) {
    i = rows.length - step;  // some of them again
    extend_lanes<count>(numbers + i, rows.stride, reach.above + i, reach.below + i);
    return;
  }
  for (; i < rows.length; ++i) {
    for (std::size_t row = 0; row < count; ++row) {
      const auto bits = std::bit_cast<std::int32_t>(to_float(numbers[row * rows.stride + i]));
      extend_one(reach.above[i], bits);
      extend_one(reach.below[i], bits ^ INT32_MIN);
    }
  }
}

template <class Number>
HWY_INLINE void reach_of_all_columns(const Number* numbers, const NumberRows& rows, Reach reach) {
  std::size_t row = 0;
  for (; row + rows_at_once <= rows.count; row += rows_at_once) {
    extend_columns<rows_at_once>(numbers + row * rows.stride, rows, reach);
  }
  for (; row < rows.count; ++row) extend_columns<1>(numbers + row * rows.stride, rows, reach);
}

// One function for each type of numbers: Highway's tables are of functions, not of templates.
// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define QUADRANT_EXTREMES(Number, suffix)                                                      \
  void reach_of_rows_##suffix(const Number* numbers, const NumberRows& rows, Reach reach) {    \
    reach_of_all_rows(numbers, rows, reach);                                                   \
  }                                                                                            \
  void reach_of_columns_##suffix(const Number* numbers, const NumberRows& rows, Reach reach) { \
    reach_of_all_columns(numbers, rows, reach);                                                \
  }                                                                                            \
  void magnitudes_of_rows_##suffix(const Number* numbers, const NumberRows& rows,              \
                                   float* magnitudes) {                                        \
    magnitudes_of_all_rows(numbers, rows, magnitudes);                                         \
  }
QUADRANT_EXTREMES(float, f32)
QUADRANT_EXTREMES(Float16, f16)
#undef QUADRANT_EXTREMES
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

// NOLINTBEGIN(bugprone-macro-parentheses): as above
#define QUADRANT_DISPATCH(Number, suffix)                                                      \
  HWY_EXPORT(reach_of_rows_##suffix);                                                          \
  HWY_EXPORT(reach_of_columns_##suffix);                                                       \
  HWY_EXPORT(magnitudes_of_rows_##suffix);                                                     \
  void reach_of_rows(const Number* numbers, const NumberRows& rows, Reach reach) noexcept {    \
    HWY_DYNAMIC_DISPATCH(reach_of_rows_##suffix)(numbers, rows, reach);                        \
  }                                                                                            \
  void reach_of_columns(const Number* numbers, const NumberRows& rows, Reach reach) noexcept { \
    HWY_DYNAMIC_DISPATCH(reach_of_columns_##suffix)(numbers, rows, reach);                     \
  }                                                                                            \
  void magnitudes_of_rows(const Number* numbers, const NumberRows& rows,                       \
                          float* magnitudes) noexcept {                                        \
    HWY_DYNAMIC_DISPATCH(magnitudes_of_rows_##suffix)(numbers, rows, magnitudes);              \
  }
QUADRANT_DISPATCH(float, f32)
QUADRANT_DISPATCH(Float16, f16)
#undef QUADRANT_DISPATCH
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace quadrant::inline v0::kernels
#endif

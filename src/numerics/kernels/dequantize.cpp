#include "numerics/kernels/dequantize.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/kernels/dequantize.cpp"  // NOLINT: Highway's way
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace quadrant::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Integers = hn::RebindToSigned<Floats>;

template <class Code>
HWY_INLINE void dequantize_vector(const Code* codes, float* real, hn::Vec<Floats> scale,
                                  hn::Vec<Integers> zero_point) {
  const hn::Rebind<Code, Floats> narrow;
  const auto code = hn::PromoteTo(Integers(), hn::LoadU(narrow, codes));
  const auto difference = hn::ConvertTo(Floats(), hn::Sub(code, zero_point));
  hn::StoreU(hn::Mul(scale, difference), Floats(), real);
}

template <class Code>
HWY_INLINE void dequantize_one(const Code* code, float* real, float scale,
                               std::int32_t zero_point) {
  *real = scale * static_cast<float>(static_cast<std::int32_t>(*code) - zero_point);
}

template <class Code>
HWY_INLINE void dequantize_all_rows(const Code* codes, float* real, const Rows& rows,
                                    const Affine& by) {
  const std::size_t step = hn::Lanes(Floats());
  for (std::size_t row = 0; row < rows.count; ++row) {
    const Code* const from = codes + row * rows.code_stride;
    float* const to = real + row * rows.real_stride;
    const float scale = by.scales[row];
    const std::int32_t zero_point = by.zero_points != nullptr ? by.zero_points[row] : by.zero_point;
    const auto scales = hn::Set(Floats(), scale);
    const auto zero_points = hn::Set(Integers(), zero_point);
    std::size_t i = 0;
    for (; i + step <= rows.length; i += step) {
      dequantize_vector(from + i, to + i, scales, zero_points);
    }
    for (; i < rows.length; ++i) dequantize_one(from + i, to + i, scale, zero_point);
  }
}

template <class Code>
HWY_INLINE void dequantize_all_columns(const Code* codes, float* real, const Rows& rows,
                                       const Affine& by) {
  const std::size_t step = hn::Lanes(Floats());
  const auto same = hn::Set(Integers(), by.zero_point);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const Code* const from = codes + row * rows.code_stride;
    float* const to = real + row * rows.real_stride;
    std::size_t i = 0;
    for (; i + step <= rows.length; i += step) {
      const auto zero_points =
          by.zero_points != nullptr ? hn::LoadU(Integers(), by.zero_points + i) : same;
      dequantize_vector(from + i, to + i, hn::LoadU(Floats(), by.scales + i), zero_points);
    }
    for (; i < rows.length; ++i) {
      dequantize_one(from + i, to + i, by.scales[i],
                     by.zero_points != nullptr ? by.zero_points[i] : by.zero_point);
    }
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define QUADRANT_DEQUANTIZE(Code, suffix)                                            \
  void dequantize_rows_##suffix(const Code* codes, float* real, const Rows& rows,    \
                                const Affine& by) {                                  \
    dequantize_all_rows(codes, real, rows, by);                                      \
  }                                                                                  \
  void dequantize_columns_##suffix(const Code* codes, float* real, const Rows& rows, \
                                   const Affine& by) {                               \
    dequantize_all_columns(codes, real, rows, by);                                   \
  }
QUADRANT_DEQUANTIZE(std::int8_t, i8)
QUADRANT_DEQUANTIZE(std::uint8_t, u8)
QUADRANT_DEQUANTIZE(std::int16_t, i16)
QUADRANT_DEQUANTIZE(std::uint16_t, u16)
#undef QUADRANT_DEQUANTIZE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace quadrant::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quadrant::inline v0::kernels {

// NOLINTBEGIN(bugprone-macro-parentheses): as above
#define QUADRANT_DISPATCH(Code, suffix)                                                            \
  HWY_EXPORT(dequantize_rows_##suffix);                                                            \
  HWY_EXPORT(dequantize_columns_##suffix);                                                         \
  template <>                                                                                      \
  void dequantize_rows<Code>(const Code* codes, float* real, const Rows& rows, const Affine& by) { \
    HWY_DYNAMIC_DISPATCH(dequantize_rows_##suffix)(codes, real, rows, by);                         \
  }                                                                                                \
  template <>                                                                                      \
  void dequantize_columns<Code>(const Code* codes, float* real, const Rows& rows,                  \
                                const Affine& by) {                                                \
    HWY_DYNAMIC_DISPATCH(dequantize_columns_##suffix)(codes, real, rows, by);                      \
  }
QUADRANT_DISPATCH(std::int8_t, i8)
QUADRANT_DISPATCH(std::uint8_t, u8)
QUADRANT_DISPATCH(std::int16_t, i16)
QUADRANT_DISPATCH(std::uint16_t, u16)
#undef QUADRANT_DISPATCH
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace quadrant::inline v0::kernels
#endif

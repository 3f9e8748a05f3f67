#include "runtime/ops/resample.hpp"

#include <algorithm>

#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// A row of single elements.
template <class T>
void resample_row(const T* in, T* out, std::int64_t to, const Taps& taps) {
  const std::int64_t* source = taps.sources.data();
  const float* weight = taps.weights.data();
  for (std::int64_t i = 0; i < to; ++i) {
    T sum = 0;
    for (std::int64_t k = 0; k < taps.count; ++k) sum += T{*weight++} * in[*source++];
    out[i] = sum;
  }
}

// The same where all of these are rows of `length` elements.
template <class T>
void resample_rows(const T* in, T* out, std::int64_t to, std::int64_t length, const Taps& taps) {
  const std::int64_t* source = taps.sources.data();
  const float* weight = taps.weights.data();
  for (std::int64_t i = 0; i < to; ++i, out += length) {
    std::fill_n(out, length, T{0});
    for (std::int64_t k = 0; k < taps.count; ++k) {
      const T w{*weight++};
      const T* row = in + *source++ * length;
      for (std::int64_t j = 0; j < length; ++j) out[j] += w * row[j];
    }
  }
}

template <class T>
void resample(const Tensor& x, std::int64_t axis, const Taps& taps, Tensor& y) {
  const std::int64_t length = count_between(x.shape(), axis + 1, x.rank());
  const std::int64_t in_block = x.extent(axis) * length;
  const std::int64_t out_block = y.extent(axis) * length;
  const T* in = x.as<T>().data();
  T* out = y.fill<T>().data();
  for (std::int64_t at = 0; at < y.element_count(); at += out_block, in += in_block) {
    if (length == 1) {
      resample_row(in, out + at, y.extent(axis), taps);
    } else {
      resample_rows(in, out + at, y.extent(axis), length, taps);
    }
  }
}

}  // namespace

Expected<Tensor> resample_axis(const Tensor& x, std::int64_t axis, std::int64_t extent,
                               const Taps& taps) {
  std::vector<std::int64_t> extents = extents_between(x.shape(), 0, x.rank());
  extents[static_cast<std::size_t>(axis)] = extent;
  QUADRANT_TRY(Tensor y, Tensor::make(x.element(), Shape(extents)));
  if (y.element_count() == 0) return y;
  if (x.element() == ElementType::float64) {
    resample<double>(x, axis, taps, y);
  } else {
    resample<float>(x, axis, taps, y);
  }
  return y;
}

}  // namespace quadrant::inline v0::interpreted

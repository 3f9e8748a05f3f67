#include "runtime/ops/standardize.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/broadcast.hpp"
#include "runtime/dispatch.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

template <class T>
double mean_of(std::span<const T> row) {
  return std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
}

template <class T>
double mean_square_about(std::span<const T> row, double centre) {
  double sum = 0;
  for (const T value : row) sum += (value - centre) * (value - centre);
  return sum / static_cast<double>(row.size());
}

template <class T>
void standardize(Standardized& result, std::span<const T> x, std::span<T> y, std::size_t length,
                 Spread spread, double epsilon) {
  for (std::size_t first = 0; first < x.size(); first += length) {
    const std::span<const T> row = x.subspan(first, length);
    const double mean = spread == Spread::deviation ? mean_of(row) : 0;
    const double inverse = 1 / std::sqrt(mean_square_about(row, mean) + epsilon);
    std::ranges::transform(row, y.subspan(first, length).begin(),
                           [&](T value) { return static_cast<T>((value - mean) * inverse); });
    result.mean.push_back(mean);
    result.inverse_spread.push_back(inverse);
  }
}

Expected<void> check_broadcast(const Tensor& y, const Shape& shape, const Tensor& parameter) {
  bool fits = parameter.element() == y.element() && parameter.rank() <= shape.rank();
  for (std::int64_t axis = 1; fits && axis <= parameter.rank(); ++axis) {
    const std::int64_t extent = parameter.extent(parameter.rank() - axis);
    fits = extent == 1 || surely_equal(shape[shape.rank() - axis], extent);
  }
  if (fits) return {};
  return KernelCall::refuse(
      fmt::format("a parameter {} [{}] for data {} [{}]", to_string(parameter.element()),
                  to_string(parameter.shape()), to_string(y.element()), to_string(shape)));
}

// `function(y, p)` for each element of y and the one of `parameter` that belongs to it.
template <class T, class Function>
void apply(std::span<T> y, const Shape& shape, const Tensor& parameter, Function function) {
  const T* p = parameter.as<T>().data();
  const std::array strides{broadcast_strides(parameter.shape(), shape)};
  for_each_run(shape, strides,
               [&](std::int64_t position, const std::array<std::int64_t, 1>& offset,
                   std::int64_t length, const std::array<std::int64_t, 1>& step) {
                 T* out = y.data() + position;
                 const T* in = p + offset[0];
                 for (std::int64_t i = 0; i < length; ++i) {
                   out[i] = function(out[i], in[i * step[0]]);
                 }
               });
}

}  // namespace

Expected<Standardized> standardize_rows(const Tensor& x, std::int64_t row_length, Spread spread,
                                        double epsilon) {
  Standardized result;
  auto values = with_real(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, Tensor::make(x.element(), x.shape()));
    standardize(result, x.as<T>(), y.fill<T>(), static_cast<std::size_t>(row_length), spread,
                epsilon);
    return Tensors{std::move(y)};
  });
  if (!values) return fail(std::move(values).error());
  result.values = std::move(values->front());
  return result;
}

Expected<void> scale_and_shift(Tensor& y, const Shape& shape, const Tensor& scale,
                               const Tensor& bias) {
  for (const Tensor* parameter : {&scale, &bias}) {
    if (*parameter) QUADRANT_CHECK(check_broadcast(y, shape, *parameter));
  }
  const auto done = with_real(y.element(), [&]<class T>() -> Expected<Tensors> {
    if (scale) apply(y.fill<T>(), shape, scale, [](T value, T by) { return value * by; });
    if (bias) apply(y.fill<T>(), shape, bias, [](T value, T by) { return value + by; });
    return Tensors{};
  });
  if (!done) return fail(done.error());
  return {};
}

Expected<Tensor> channel_column(const Tensor& per_channel, std::int64_t channels) {
  if (per_channel && per_channel.element_count() == channels) {
    return per_channel.reshaped({channels, 1});
  }
  return KernelCall::refuse(fmt::format("a parameter of shape [{}] for {} channels",
                                        to_string(per_channel.shape()), channels));
}

}  // namespace quadrant::inline v0::interpreted

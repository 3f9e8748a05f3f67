#include "runtime/ops/packed_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/gemm.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// The result, filled with the bias.
Expected<Tensor> biased_result(const Tensor& x, const Tensor& bias, std::int64_t rows,
                               std::int64_t columns) {
  if (x.element() != ElementType::float32 || x.rank() < 1 || x.extent(x.rank() - 1) != columns) {
    return does_not_fit("an operand", x);
  }
  if (bias && !has(bias, ElementType::float32, rows)) return does_not_fit("a bias", bias);
  std::vector<std::int64_t> extents(x.extents().begin(), x.extents().end());
  extents.back() = rows;
  QUADRANT_TRY(Tensor y, Tensor::make(ElementType::float32, Shape(extents)));
  auto out = y.fill<float>().begin();
  for (std::int64_t row = y.element_count() / rows; row > 0; --row) {
    out = bias ? std::ranges::copy(bias.as<float>(), out).out : std::fill_n(out, rows, 0.0F);
  }
  return y;
}

}  // namespace

bool has(const Tensor& tensor, ElementType element, std::int64_t count) {
  return tensor.element() == element && tensor.element_count() == count;
}

tl::unexpected<Error> does_not_fit(std::string_view what, const Tensor& tensor) {
  return KernelCall::refuse(fmt::format("{} of type {} and shape [{}]", what,
                                        to_string(tensor.element()), to_string(tensor.shape())));
}

Expected<Tensor> packed_product(const Tensor& x, const Tensor& bias, std::int64_t rows,
                                std::int64_t columns, UnpackRow unpack) {
  QUADRANT_TRY(Tensor y, biased_result(x, bias, rows, columns));
  const std::int64_t batch = y.element_count() / rows;
  const auto left = MatrixView<const float>::dense(x.as<float>().data(), batch, columns);
  // Some rows of the weight at a time, so that a large one is never there unpacked.
  const std::int64_t most = std::max(std::int64_t{1 << 18} / columns, std::int64_t{64});
  const auto length = static_cast<std::size_t>(columns);
  std::vector<float> unpacked;
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t count = std::min(most, rows - first);
    unpacked.resize(static_cast<std::size_t>(count) * length);
    for (std::int64_t row = 0; row < count; ++row) {
      unpack(first + row,
             std::span(unpacked).subspan(static_cast<std::size_t>(row) * length, length));
    }
    // NOLINTNEXTLINE(readability-suspicious-call-argument): it is transposed
    add_product(left, MatrixView<const float>::dense(unpacked.data(), columns, count, true), 1.0F,
                MatrixView<float>{y.fill<float>().data() + first, batch, count, rows});
  }
  return y;
}

}  // namespace quadrant::inline v0::interpreted

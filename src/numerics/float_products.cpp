#include "numerics/float_products.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace quadrant::inline v0 {

void add_long_product(kernels::MatrixProduct<float> product, double* out) {
  constexpr std::size_t inner_at_once = 256;
  std::array<float, most_of_product * most_of_product> some;  // NOLINT: filled below
  const std::size_t count = product.rows * product.columns;
  const std::size_t inner = product.inner;
  product.out = some.data();
  product.out_row = product.columns;
  for (std::size_t first = 0; first < inner; first += inner_at_once) {
    std::fill_n(some.begin(), count, 0.0F);
    product.inner = std::min(inner_at_once, inner - first);
    kernels::add_product(product);
    for (std::size_t i = 0; i < count; ++i) out[i] += static_cast<double>(some[i]);
    product.a += product.inner;
    product.b += product.inner * product.b_row;
  }
}

double power_of_two_near(double magnitude) noexcept {
  return magnitude > 0 ? std::ldexp(1.0, std::ilogb(magnitude)) : 1;
}

std::vector<double> units_of(std::span<const float> x, std::size_t rows) {
  std::vector<float> largest(rows);
  for (std::size_t first = 0; first < x.size(); first += rows) {
    for (std::size_t row = 0; row < rows; ++row) {
      largest[row] = std::max(largest[row], std::fabs(x[first + row]));
    }
  }
  std::vector<double> units(rows);
  std::ranges::transform(largest, units.begin(), [](float magnitude) {
    return power_of_two_near(static_cast<double>(magnitude));
  });
  return units;
}

namespace {

// Of one square.
void add_quadratic_forms(std::span<const float> a, std::size_t section, std::span<const float> x,
                         std::span<double> sums) {
  const std::size_t rows = sums.size();
  const std::size_t n = x.size() / rows;
  std::vector<double> products(most_of_product * rows);
  for (std::size_t first = 0; first < n; first += most_of_product) {
    const std::size_t end = seen_of_row(first, n);
    kernels::MatrixProduct<float> product{.a = a.data() + first * section,
                                          .a_row = section,
                                          .b = x.data(),
                                          .b_row = rows,
                                          .rows = end - first,
                                          .inner = first,
                                          .columns = rows};
    std::ranges::fill(products, 0.0);
    add_long_product(product, products.data());
    for (double& number : products) number *= 2;  // what is above the diagonal is the same
    product.a += first;
    product.b += first * rows;
    product.inner = end - first;
    add_long_product(product, products.data());
    for (std::size_t i = first; i < end; ++i) {
      for (std::size_t row = 0; row < rows; ++row) {
        sums[row] += static_cast<double>(x[i * rows + row]) * products[(i - first) * rows + row];
      }
    }
  }
}

}  // namespace

std::vector<double> quadratic_forms(std::span<const float> a, std::size_t section,
                                    std::span<const float> x, std::size_t rows) {
  const std::size_t n = x.size() / rows;
  std::vector<double> sums(rows);
  for (std::size_t first = 0; first < n; first += section) {
    const std::size_t size = std::min(section, n - first);
    add_quadratic_forms(a.subspan(first * section), section, x.subspan(first * rows, size * rows),
                        sums);
  }
  return sums;
}

}  // namespace quadrant::inline v0

// Operations that the library has never heard of, as a compiler adds them: rows of a table, and
// kernels to run them.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "quadrant/ir/operations.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace own {

using namespace quadrant;

// --- tests.reverse: the rows of operand 0, the last one first ------------------------------------

inline std::optional<Granularity> reversed_groups(NodeRef /*node*/, const Granularity& wanted) {
  return wanted.kind == Granularity::Kind::block ? std::nullopt : std::optional(wanted);
}

inline Origin reversed_elements(NodeRef node, std::uint32_t /*result*/) {
  const std::int64_t rows = node.type().shape[0].value();
  return [rows](std::span<const std::int64_t> at, std::span<std::int64_t> from) {
    std::ranges::copy(at, from.begin());
    from[0] = rows - 1 - at[0];
    return std::uint32_t{0};
  };
}

inline constexpr Move reverse_move{reversed_groups, reversed_elements, "blocks are not reversed"};

inline Expected<std::vector<TensorType>> as_operand(NodeRef node) {
  return std::vector<TensorType>{*node.operand_type(0)};
}

// --- tests.dense: y[n, m] = sum of x[n, k] w[m, k] over k, + b[m] --------------------------------

inline std::optional<std::int64_t> first_axis(NodeRef /*node*/, const Shape& /*weight*/) {
  return 0;
}

inline bool always(NodeRef /*node*/) { return true; }

inline constexpr Product dense_product{"tests.dense", 0, 1, 2, first_axis, -1, always};

inline Expected<std::vector<TensorType>> dense_type(NodeRef node) {
  const Shape& x = node.operand_type(0)->shape;
  const Shape& w = node.operand_type(1)->shape;
  if (x.rank() != 2 || w.rank() != 2) return std::vector<TensorType>{};  // not known
  return std::vector<TensorType>{
      {ElementType::float32, Shape(std::vector<Extent>{x[0], w[0]}), nullptr}};
}

inline constexpr Operation reverse{.kind = "tests.reverse",
                                   .family = Family::move,
                                   .operands = {1, 1},
                                   .results = {1, 1},
                                   .traits = {Trait::stays_in_range, Trait::takes_elements,
                                              Trait::keeps_elements, Trait::keeps_shape},
                                   .infer = as_operand,
                                   .move = &reverse_move};
inline constexpr Operation dense{.kind = "tests.dense",
                                 .family = Family::product,
                                 .operands = {2, 3},
                                 .results = {1, 1},
                                 .infer = dense_type,
                                 .product = &dense_product,
                                 .roles = {"dwb"}};
inline constexpr std::array rows{reverse, dense};

// --- kernels -------------------------------------------------------------------------------------

inline Expected<Tensors> run_reverse(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  QUADRANT_TRY(Tensor y, Tensor::make(x.element(), x.shape()));
  const auto count = static_cast<std::size_t>(x.shape()[0].value());
  const std::size_t row = x.bytes().size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    std::ranges::copy(x.bytes().subspan(i * row, row),
                      y.fill_bytes().subspan((count - 1 - i) * row).begin());
  }
  return Tensors{std::move(y)};
}

inline Expected<Tensors> run_dense(const KernelCall& call) {
  const auto x = call.operand(0).as<float>();
  const auto w = call.operand(1).as<float>();
  const std::int64_t n = call.operand(0).shape()[0].value();
  const std::int64_t k = call.operand(0).shape()[1].value();
  const std::int64_t m = call.operand(1).shape()[0].value();
  std::vector<float> y;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < m; ++j) {
      double sum = call.has(2) ? call.operand(2).as<float>()[static_cast<std::size_t>(j)] : 0.0F;
      for (std::int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(x[static_cast<std::size_t>(i * k + l)]) *
               static_cast<double>(w[static_cast<std::size_t>(j * k + l)]);
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  return Tensors{Tensor::from_values<float>(ElementType::float32, Shape{n, m}, y)};
}

inline Interpreter interpreter() {
  return Interpreter({{"tests.reverse", run_reverse}, {"tests.dense", run_dense}});
}

}  // namespace own

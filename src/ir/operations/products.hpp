// Sums of products, and recurrent layers, which are made of them.
#pragma once

#include <array>

#include "ir/operations/row.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {

// products.cpp
extern const Product conv_product;
extern const Product conv_transpose_product;
extern const Product gemm_product;
extern const Product matmul_product;
extern const Product batch_matmul_product;
extern const Product linear_product;
extern const Product addmm_product;

// work.cpp
[[nodiscard]] std::int64_t conv_work(NodeRef node) noexcept;
[[nodiscard]] std::int64_t conv_transpose_work(NodeRef node) noexcept;
[[nodiscard]] std::int64_t matmul_work(NodeRef node) noexcept;
[[nodiscard]] std::int64_t linear_work(NodeRef node) noexcept;
[[nodiscard]] std::int64_t gemm_work(NodeRef node) noexcept;
[[nodiscard]] std::int64_t added_product_work(NodeRef node) noexcept;

constexpr Operation product(std::string_view kind, std::string_view roles, Count operands,
                            Results (*infer)(NodeRef), std::int64_t (*work)(NodeRef) noexcept,
                            const Product* parts) {
  return {kind,    Family::product, operands, {1, 1},  {}, infer,
          nullptr, parts,           work,     nullptr, {}, Roles{roles}};
}

inline constexpr std::array product_rows{
    called("Conv",
           product(ops::Conv::kind, "dwb", {2, 3}, one<infer_conv>, conv_work, &conv_product)),
    called("ConvTranspose",
           product(ops::ConvTranspose::kind, "dwb", {2, 3}, one<infer_conv_transpose>,
                   conv_transpose_work, &conv_transpose_product)),
    called("MatMul", product(ops::MatMul::kind, "ff", {2, 2}, one<infer_matmul>, matmul_work,
                             &matmul_product)),
    called("Gemm",
           product(ops::Gemm::kind, "ffa", {2, 3}, one<infer_gemm>, gemm_work, &gemm_product)),
    product(ops::Linear::kind, "ffb", {2, 3}, one<infer_linear>, linear_work, &linear_product),
    product(ops::BatchMatMul::kind, "ff", {2, 2}, one<infer_batch_matmul>, matmul_work,
            &batch_matmul_product),
    product(ops::Addmm::kind, "aff", {3, 3}, one<infer_addmm>, added_product_work, &addmm_product),
    // Its sum has an axis that a bias of channels would not know.
    product(ops::Baddbmm::kind, "aff", {3, 3}, one<infer_baddbmm>, added_product_work, nullptr),
    // Which operand is what, the equation says.
    called("Einsum",
           product(ops::Einsum::kind, "f", {1, any_number}, one<infer_einsum>, nullptr, nullptr))};

inline constexpr std::array recurrent_rows{
    called("RNN", roled("dwwbd", recurrent(ops::Rnn::kind, {3, 6}, infer_recurrent, {}, {0, 2}))),
    called("GRU", roled("dwwbd", recurrent(ops::Gru::kind, {3, 6}, infer_recurrent, {}, {0, 2}))),
    called("LSTM",
           roled("dwwbd", recurrent(ops::Lstm::kind, {3, 8}, infer_recurrent, {}, {0, 3})))};

}  // namespace quadrant::inline v0::detail

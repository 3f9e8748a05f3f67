// Reductions and running sums.
#pragma once

#include <array>

#include "ir/operations/row.hpp"
#include "ir/ops/reductions.hpp"

namespace quadrant::inline v0::detail {

inline constexpr std::array reduction_rows{
    reduction(ops::ArgMax::kind, {1, 1}, one<infer_place_of_largest>),
    reduction(ops::ArgMin::kind, {1, 1}, one<infer_place_of_largest>),
    reduction(ops::CumProd::kind, {2, 2}, one<infer_as_operand>, same_shape),
    reduction(ops::CumSum::kind, {2, 2}, one<infer_as_operand>, same_shape),
    reduction(ops::ReduceL1::kind, {1, 2}, one<infer_reduced>),
    reduction(ops::ReduceL2::kind, {1, 2}, one<infer_reduced>),
    reduction(ops::ReduceLogSum::kind, {1, 2}, one<infer_reduced>),
    reduction(ops::ReduceLogSumExp::kind, {1, 2}, one<infer_reduced>),
    reduction(ops::ReduceMax::kind, {1, 2}, one<infer_reduced>),
    reduction(ops::ReduceMean::kind, {1, 2}, one<infer_reduced>),
    reduction(ops::ReduceMin::kind, {1, 2}, one<infer_reduced>),
    reduction(ops::ReduceProd::kind, {1, 2}, one<infer_reduced>),
    reduction(ops::ReduceSum::kind, {1, 2}, one<infer_reduced>),
    reduction(ops::ReduceSumSquare::kind, {1, 2}, one<infer_reduced>)};

}  // namespace quadrant::inline v0::detail

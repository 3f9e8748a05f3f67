// Floats as if they were codes, and what is known of their ranges.
#pragma once

#include <array>

#include "ir/operations/row.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {

inline constexpr std::array simulation_rows{
    simulation(ops::FakeQuantize::kind, {5, 5}, one<infer_fake_quantize>),
    simulation(ops::ConstFakeQuant::kind, {1, 1}, one<infer_const_fake_quant>, same_shape),
    simulation(ops::FakeQuant::kind, {3, 3}, one<infer_fake_quant>),
    simulation(ops::Stats::kind, {1, 1}, one<infer_stats>),
    simulation(ops::StatsRef::kind, {1, 1}, one<infer_stats_ref>),
    simulation(ops::CoupledRef::kind, {1, 1}, one<infer_coupled_ref>)};

}  // namespace quadrant::inline v0::detail

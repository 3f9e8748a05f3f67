// Phase 2: requests travel from those who gain to those who can give.
#pragma once

#include <span>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/phases/eligibility.hpp"
#include "quadrant/engine/phases/request_graph.hpp"

namespace quadrant::inline v0 {

/// Runs phase 2: posts requests in reverse order, resolves which can be accepted in a forward
/// sweep, and sums their gains in a second reverse sweep. Linear in nodes and requests; no
/// recursion. Nothing is decided here.
///
/// A gain that needs several operands is split evenly between them, so that where the branches of a
/// diamond meet again it is counted once.
///
/// `of_one_type`: groups of values (`CouplingTable::strict`). One of them that nobody reads is
/// asked for what the others are asked for, at no gain, so that it can follow them; requests are
/// posted again for that, a few times at most.
[[nodiscard]] RequestGraph propagate_gains(const GraphView& graph, const std::vector<NodeId>& order,
                                           const Registry& registry, const Eligibility& eligibility,
                                           const GainModel& gains,
                                           std::span<const std::vector<Value>> of_one_type = {});

}  // namespace quadrant::inline v0

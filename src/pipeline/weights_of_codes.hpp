// Weights as they are after quantization.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "pipeline/scheme_run.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// In float32, by their names; those that stay float are not there.
using WeightsOfCodes = std::map<std::string, Constant, std::less<>>;

/// What weight_only, by these choices of the request's recipe and in what that includes, makes of
/// the weights of a graph that is the subject's but for contents. `moments`: to round by; null:
/// codes are the nearest ones.
[[nodiscard]] Expected<WeightsOfCodes> weights_of_codes(
    const SchemeSubject& subject, std::span<const SchemeChoice> choices, const Graph& graph,
    std::shared_ptr<const SecondMomentsTable> moments);

}  // namespace quadrant::inline v0

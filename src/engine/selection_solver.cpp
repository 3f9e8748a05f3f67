#include "engine/selection_solver.hpp"

#include <optional>
#include <utility>

#include "engine/decision.hpp"
#include "engine/optimum.hpp"
#include "engine/selection_model.hpp"

namespace quadrant::inline v0 {
namespace {

// The best selection of those that `planned` allows (null: all). Empty where none is known to be
// possible.
std::optional<Selection> solve(const SelectionProblem& problem, const Selection& walked,
                               const ValueMap<RequestId>* planned) {
  const Prices prices(problem.graph, problem.registry, problem.requests.constraints(),
                      problem.gains);
  const SelectionModel model(problem, prices, planned);
  const FactorGraph& factors = model.factors();
  const std::optional<Assignment> start = model.assignment(walked);
  if (!start) return std::nullopt;
  const Optimum best = find_optimum(factors, *start);
  if (!factors.worth(best.assignment).is_possible()) return std::nullopt;
  Decision decision(problem);
  decision.adopt(model, model.labelling(best.assignment), walked);
  if (model.is_relaxed()) decision.release_adopted();
  return Decision::with_bound(std::move(decision).finish(), best.bound + model.constant());
}

// The request that each value is made by.
ValueMap<RequestId> made_as(const SelectionProblem& problem, const Selection& selection) {
  ValueMap<RequestId> made(problem.eligibility.numbering(), no_request);
  for (const NodeId node : problem.order) {
    for (std::uint32_t i = 0; i < problem.graph.result_count(node); ++i) {
      const Value value{node, i};
      if (selection.is_selected(value)) made[value] = selection[value].request;
    }
  }
  return made;
}

}  // namespace

Selection select_optimal(const SelectionProblem& problem) {
  // What the walk finds is where a search starts, and knows why values stay float.
  Selection walked = select_greedy(problem);
  std::optional<Selection> found = solve(problem, walked, nullptr);
  if (!found) return walked;
  const Gain bound = *found->bound();
  Selection best = found->objective() >= walked.objective() ? *std::move(found) : std::move(walked);
  if (best.objective() == bound) return best;
  // A search may end with reads that are not the only best ones for what it made. Those who follow
  // the plan find them by this alone, so this is what counts.
  const ValueMap<RequestId> made = made_as(problem, best);
  std::optional<Selection> read_anew = solve(problem, best, &made);
  if (read_anew && read_anew->objective() >= best.objective()) best = *std::move(read_anew);
  return Decision::with_bound(std::move(best), bound);
}

Selection select_reads(const SelectionProblem& problem, const ValueMap<RequestId>& planned,
                       Selection walked) {
  std::optional<Selection> best = solve(problem, walked, &planned);
  return best ? *std::move(best) : std::move(walked);
}

}  // namespace quadrant::inline v0

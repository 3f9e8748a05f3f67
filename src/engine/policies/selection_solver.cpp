#include "engine/policies/selection_solver.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/phases/coupling.hpp"
#include "engine/policies/decision.hpp"
#include "engine/policies/minimum_cut.hpp"
#include "engine/policies/optimum.hpp"
#include "engine/policies/selection_model.hpp"

namespace quadrant::inline v0 {
namespace {

// Beyond so many variables, which are a few thousand nodes, tables are what takes the time, and a
// cut that does without them is worth the try. Below, tables are there soon, and see what no cut
// does.
constexpr std::size_t large_model = 4096;

struct Solution {
  Selection selection;
  Gain bound;  // of those that were allowed
};

class Solver {
 public:
  Solver(const SelectionProblem& problem, const ValueMap<RequestId>* planned)
      : problem_(problem),
        is_planned_(planned != nullptr),
        prices_(problem.graph, problem.registry, problem.requests.constraints(), problem.gains),
        model_(problem, prices_, planned) {}

  // Once. `walked`: where to start, and why values were never asked for. Empty where nothing is
  // known to be possible.
  [[nodiscard]] std::optional<Solution> run(const Selection& walked) {
    model_.add_values();
    const std::optional<Assignment> start = assignment_of(walked);
    if (!start) return std::nullopt;
    const Optimum best =
        find_optimum(model_.factors(), *start,
                     [&](std::span<const VariableId> component, Assignment& assignment) {
                       return cut(component, walked, assignment);
                     });
    if (!model_.factors().worth(best.assignment).is_possible()) return std::nullopt;
    Decision decision(problem_);
    decision.adopt(model_, model_.labelling(best.assignment), walked);
    if (model_.is_relaxed()) decision.release_adopted();
    Selection selection = std::move(decision).finish();
    if (is_torn(selection)) selection = walked;
    return Solution{std::move(selection), best.bound + model_.constant()};
  }

  [[nodiscard]] bool is_large() const { return model_.variable_count() > large_model; }

  // The tables of a large graph, and a good start, take longer than a cut that decides all of it
  // and needs neither. Before `run`. Empty where there is no such cut.
  [[nodiscard]] std::optional<Solution> cut_everything(const Selection& walked) const {
    const std::optional<Labelling> around = model_.labelling(walked);
    if (!around) return std::nullopt;
    std::vector<VariableId> all(model_.variable_count());
    std::iota(all.begin(), all.end(), VariableId{0});
    const std::optional<CutSelection> found =
        select_by_cut(problem_, prices_, model_, all, *around);
    if (!found) return std::nullopt;
    Decision decision(problem_);
    decision.adopt(model_, found->labelling, walked);
    // It gains most, whoever reads what it quantizes: with less, the tables have to say.
    const Gain bound = decision.objective();
    decision.release_adopted();
    Solution solution{std::move(decision).finish(), bound};
    if (solution.selection.objective() != bound || is_torn(solution.selection)) return std::nullopt;
    return solution;
  }

 private:
  // What is given back after all does not ask who has one type with it.
  [[nodiscard]] bool is_torn(const Selection& selection) const {
    return std::ranges::any_of(problem_.couplings.strict(), [&](const std::vector<Value>& members) {
      return quadrant::is_torn(selection, members);
    });
  }
  [[nodiscard]] std::optional<Assignment> assignment_of(const Selection& selection) const {
    const std::optional<Labelling> labelling = model_.labelling(selection);
    return labelling ? model_.assignment(*labelling) : std::nullopt;
  }

  // A cut does not see what is quantized for nobody, so that is given back.
  [[nodiscard]] std::optional<Gain> cut(std::span<const VariableId> component,
                                        const Selection& walked, Assignment& assignment) const {
    if (is_planned_) return std::nullopt;
    const std::optional<CutSelection> found =
        select_by_cut(problem_, prices_, model_, component, model_.labelling(assignment));
    if (!found) return std::nullopt;
    Decision decision(problem_);
    decision.adopt(model_, found->labelling, walked);
    decision.release_adopted();
    const std::optional<Assignment> better = assignment_of(std::move(decision).finish());
    if (better) assignment = *better;
    return found->bound;
  }

  const SelectionProblem& problem_;
  bool is_planned_;
  Prices prices_;
  SelectionModel model_;
};

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
  Solver solver(problem, nullptr);
  if (solver.is_large()) {
    if (std::optional<Solution> cut = solver.cut_everything(walk_once(problem))) {
      return Decision::with_bound(std::move(cut->selection), cut->bound);
    }
  }
  // What the walk finds is where a search starts, and knows why values stay float.
  Selection walked = select_greedy(problem);
  std::optional<Solution> found = solver.run(walked);
  if (!found) return walked;
  const Gain bound = found->bound;
  Selection best = std::move(walked);
  if (found->selection.objective() >= best.objective()) best = std::move(found->selection);
  if (best.objective() == bound) return Decision::with_bound(std::move(best), bound);
  // A search may end with reads that are not the only best ones for what it made. Those who follow
  // the plan find them by this alone, so this is what counts.
  const ValueMap<RequestId> made = made_as(problem, best);
  std::optional<Solution> read_anew = Solver(problem, &made).run(best);
  if (read_anew && read_anew->selection.objective() >= best.objective()) {
    best = std::move(read_anew->selection);
  }
  return Decision::with_bound(std::move(best), bound);
}

Selection select_reads(const SelectionProblem& problem, const ValueMap<RequestId>& planned,
                       Selection walked) {
  std::optional<Solution> best = Solver(problem, &planned).run(walked);
  return best ? std::move(best->selection) : std::move(walked);
}

}  // namespace quadrant::inline v0

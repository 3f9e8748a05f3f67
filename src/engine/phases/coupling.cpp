#include "engine/phases/coupling.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/policies/storage_gain.hpp"
#include "quadrant/ir/capabilities.hpp"

namespace quadrant::inline v0 {
namespace {

// The form that all of `forms` are; `float_form` where two differ, so that nothing fits. Empty: no
// forms.
class CommonForm {
 public:
  void add(ConstraintId form) {
    if (form != float_form) common_ = common_.value_or(form) == form ? form : float_form;
  }
  [[nodiscard]] std::optional<ConstraintId> get() const noexcept { return common_; }

 private:
  std::optional<ConstraintId> common_;
};

std::optional<ConstraintId> form_that_came(const SelectionProblem& problem,
                                           const std::vector<Value>& members) {
  CommonForm common;
  for (const Value value : members) common.add(problem.eligibility.given(value));
  return common.get();
}

std::optional<ConstraintId> planned_form(const SelectionProblem& problem,
                                         const std::vector<Value>& members,
                                         const ValueMap<RequestId>& planned) {
  CommonForm common;
  for (const Value value : members) {
    const RequestId id = planned[value];
    if (id != no_request) common.add(problem.requests[id].constraint);
  }
  return common.get();
}

ConstraintId form_of_most_gain(const SelectionProblem& problem, const std::vector<Value>& members) {
  const RequestGraph& requests = problem.requests;
  std::map<ConstraintId, Gain> gains;
  for (const Value value : members) {
    for (RequestId id = requests.first(value); id != no_request; id = requests[id].next) {
      const Request& request = requests[id];
      if (request.producible) {
        gains[request.constraint] += request.flow + storage_gain(problem, request);
      }
    }
  }
  ConstraintId best = float_form;
  for (const auto& [form, gain] : gains) {
    const bool is_better = best == float_form || gain > gains[best] ||
                           (gain == gains[best] && requests.constraints().less(form, best));
    if (is_better) best = form;
  }
  return best;
}

}  // namespace

CouplingTable::CouplingTable(const GraphView& graph, const Couplings& others) {
  const Capabilities* const capabilities = graph.capabilities();
  const auto came_quantized = [&](Value value) { return graph.type(value).is_quantized(); };
  Couplings plain;
  for (std::vector<Value>& members :
       capabilities != nullptr ? capabilities->of_one_type() : Couplings{}) {
    std::erase_if(members, [](Value value) { return value.is_absent(); });
    const bool is_plain = std::ranges::any_of(members, came_quantized);
    (is_plain ? plain : all_).push_back(std::move(members));
  }
  strict_ = all_.size();
  std::ranges::move(plain, std::back_inserter(all_));
  std::ranges::copy(others, std::back_inserter(all_));
}

std::vector<ConstraintId> find_coupling_forms(const SelectionProblem& problem,
                                              const ValueMap<RequestId>* planned) {
  std::vector<ConstraintId> forms;
  forms.reserve(problem.couplings.all().size());
  for (const std::vector<Value>& members : problem.couplings.all()) {
    std::optional<ConstraintId> form = form_that_came(problem, members);
    if (!form && planned != nullptr) form = planned_form(problem, members, *planned);
    forms.push_back(form ? *form : form_of_most_gain(problem, members));
  }
  return forms;
}

std::unordered_map<Value, ConstraintId> find_coupled_forms(const SelectionProblem& problem,
                                                           std::span<const ConstraintId> forms) {
  std::unordered_map<Value, ConstraintId> found;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    // A value of several couplings fits into all of them.
    for (const Value value : problem.couplings.all()[i]) {
      const auto [known, is_new] = found.emplace(value, forms[i]);
      if (!is_new && known->second != forms[i]) known->second = float_form;
    }
  }
  return found;
}

bool is_torn(const Selection& selection, std::span<const Value> members) {
  const auto is_float = [&](Value value) { return selection.produced(value) == float_form; };
  return std::ranges::any_of(members, is_float) && !std::ranges::all_of(members, is_float);
}

}  // namespace quadrant::inline v0

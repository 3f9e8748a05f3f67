#include "engine/phases/data_pass.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

namespace quadrant::inline v0 {
namespace {

// What one node's `examine` found. Each task writes its own, so none waits for another.
struct Finding final : DataContext {
  void keep(Constant computed) override { kept.push_back(std::move(computed)); }
  void refuse(std::string why) override { refusal = std::move(why); }

  std::vector<Constant> kept;
  std::optional<std::string> refusal;
  std::optional<Error> error;
};

Expected<void> store_all(std::vector<Constant>& kept, ConstantStore& store) {
  for (Constant& constant : kept) {
    QUADRANT_TRY(constant, store.put(std::move(constant)));
  }
  return {};
}

// The first result of each node that has selected ones.
std::vector<Value> find_selected(const SelectionProblem& problem, const Selection& selection) {
  std::vector<Value> found;
  for (const NodeId node : problem.order) {
    for (std::uint32_t i = 0; i < problem.graph.result_count(node); ++i) {
      if (!selection.is_selected({node, i})) continue;
      found.push_back({node, i});
      break;
    }
  }
  return found;
}

Expected<void> examine(const SelectionProblem& problem, const Selection& selection,
                       Executor& executor, DataPassResult& result, Sink* sink,
                       ConstantStore* store) {
  const std::vector<Value> values = find_selected(problem, selection);
  const ConstraintTable& constraints = problem.requests.constraints();
  std::vector<std::unique_ptr<Finding>> findings(values.size());
  std::atomic<std::uint64_t> done = 0;
  const std::thread::id caller = std::this_thread::get_id();
  const auto tell = [&] { sink->progress("reading weights", done, values.size()); };
  executor.parallel_for(values.size(), [&](std::size_t i) {
    findings[i] = std::make_unique<Finding>();
    const NodeId node = values[i].node;
    const ConstraintId form = selection.produced(values[i]);
    const auto* method = problem.eligibility.method(node, constraints.scheme(form));
    auto examined =
        method->erased_examine(constraints.get(form), {&problem.graph, node}, *findings[i]);
    if (examined && store != nullptr) examined = store_all(findings[i]->kept, *store);
    if (!examined) findings[i]->error = std::move(examined).error();
    ++done;
    if (sink != nullptr && std::this_thread::get_id() == caller) tell();
  });
  for (std::size_t i = 0; i < values.size(); ++i) {
    Finding& finding = *findings[i];
    if (finding.error) return fail(std::move(*finding.error));
    if (finding.refusal) result.refused.emplace(values[i].node, std::move(*finding.refusal));
    if (!finding.kept.empty()) result.data.kept.emplace(values[i].node, std::move(finding.kept));
  }
  if (sink != nullptr) tell();
  return {};
}

Expected<void> resolve(const SelectionProblem& problem, const ParameterTable& parameters,
                       Executor& executor, PreparedData& data) {
  const auto groups = parameters.groups();
  const ConstraintTable& constraints = problem.requests.constraints();
  data.parameters.resize(groups.size());
  std::vector<std::optional<Error>> errors(groups.size());
  const auto resolve_one = [&](std::size_t i) {
    const ParameterGroup& group = groups[i];
    const Scheme& scheme = problem.registry.scheme(constraints.scheme(group.constraint));
    if (!scheme.can_resolve()) return;
    std::vector<Value> members;
    members.reserve(group.members.size());
    for (const RequestId member : group.members) {
      members.push_back(problem.requests[member].value);
    }
    std::vector<std::shared_ptr<const UniformType>> sources;
    sources.reserve(group.sources.size());
    for (const std::uint32_t source : group.sources) sources.push_back(data.parameters[source]);
    auto resolved = scheme.erased_resolve(
        {&problem.graph, constraints.get(group.constraint), members, sources});
    if (resolved) {
      data.parameters[i] = *std::move(resolved);
    } else {
      errors[i] = std::move(resolved).error();
    }
  };
  executor.parallel_for(groups.size(), [&](std::size_t i) {
    if (groups[i].sources.empty()) resolve_one(i);
  });
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (std::optional<Error>& error = errors[i]; error) return fail(*std::move(error));
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].sources.empty()) continue;
    resolve_one(i);  // after its sources, which stand before it
    if (std::optional<Error>& error = errors[i]; error) return fail(*std::move(error));
  }
  return {};
}

}  // namespace

Expected<DataPassResult> run_data_pass(const SelectionProblem& problem, const Selection& selection,
                                       const ParameterTable& parameters, Executor& executor,
                                       Sink* sink, ConstantStore* store) {
  DataPassResult result;
  QUADRANT_CHECK(examine(problem, selection, executor, result, sink, store));
  if (result.refused.empty()) {
    QUADRANT_CHECK(resolve(problem, parameters, executor, result.data));
  }
  return result;
}

}  // namespace quadrant::inline v0

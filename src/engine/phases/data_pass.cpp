#include "engine/phases/data_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "engine/phases/finding.hpp"
#include "support/content_hash.hpp"
#include "support/shared_items.hpp"

namespace quadrant::inline v0 {
namespace {

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

// Which of the values are this rank's: the dearest first, each to whoever has least to do.
std::vector<std::size_t> own_share(const std::vector<Value>& values, const DealtNodes& dealt) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (dealt.ranks == nullptr) return order;
  std::vector<double> costs;
  costs.reserve(values.size());
  for (const Value value : values) costs.push_back(dealt.cost(value));
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(-costs[i], i); });
  std::vector<double> loads(dealt.ranks->size());
  std::vector<std::size_t> own;
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(loads);
    *least += costs[i];
    if (static_cast<std::size_t>(least - loads.begin()) == dealt.ranks->rank()) own.push_back(i);
  }
  return own;
}

// That all ranks selected the same: of files that decide it, one may have read others.
Expected<void> check_selected(const SelectionProblem& problem, const Selection& selection,
                              const std::vector<Value>& values, Ranks& ranks) {
  ContentHash hash;
  const auto add = [&](const std::string& line) { hash.add(std::as_bytes(std::span(line))); };
  for (std::uint32_t i = 0; i < problem.registry.scheme_count(); ++i) {
    add(fmt::format("{} {}\n", problem.registry.name(i), problem.registry.scheme(i).describe()));
  }
  for (const Value value : values) {
    add(fmt::format("{} {} {}\n", value.node.index, value.result,
                    problem.requests.constraints().print(selection.produced(value))));
  }
  return ranks.check_same("what is quantized, or how,", std::to_string(hash.value()));
}

// What is told at a time, but for a finding that has more.
constexpr std::size_t bytes_at_a_time = std::size_t{16} << 20U;

// What the other ranks found, and to them what this one did. Kept as what this one keeps.
Expected<void> exchange(const std::vector<std::size_t>& own, Ranks& ranks, ConstantStore* store,
                        std::vector<std::unique_ptr<Finding>>& findings) {
  SharedItems items(findings.size());
  std::size_t next = 0;
  const auto add_some = [&]() -> Expected<bool> {
    while (next < own.size() && items.size() < bytes_at_a_time) {
      const std::size_t i = own[next++];
      if (findings[i]->error) return fail(*findings[i]->error);
      ByteWriter out;
      QUADRANT_CHECK(findings[i]->write(out));
      items.add(i, std::move(out));
    }
    return next < own.size();
  };
  const auto read = [&](std::size_t i, ByteReader& in) -> Expected<void> {
    auto found = std::make_unique<Finding>(Finding::read(in));
    if (findings[i]) return {};
    findings[i] = std::move(found);
    return store != nullptr ? store_all(findings[i]->kept, *store) : Expected<void>();
  };
  for (bool is_more = true; is_more;) {
    QUADRANT_TRY(is_more, items.share_some(ranks, add_some(), read));
  }
  return {};
}

Expected<void> examine(const SelectionProblem& problem, const Selection& selection,
                       Executor& executor, DataPassResult& result, Sink* sink, ConstantStore* store,
                       const DealtNodes& dealt) {
  const std::vector<Value> values = find_selected(problem, selection);
  if (dealt.ranks != nullptr) {
    QUADRANT_CHECK(check_selected(problem, selection, values, *dealt.ranks));
  }
  const std::vector<std::size_t> own = own_share(values, dealt);
  const ConstraintTable& constraints = problem.requests.constraints();
  std::vector<std::unique_ptr<Finding>> findings(values.size());
  std::atomic<std::uint64_t> done = 0;
  const std::thread::id caller = std::this_thread::get_id();
  const auto tell = [&] { sink->progress("reading weights", done, own.size()); };
  executor.parallel_for(own.size(), [&](std::size_t at) {
    const std::size_t i = own[at];
    const NodeId node = values[i].node;
    const ConstraintId form = selection.produced(values[i]);
    findings[i] = std::make_unique<Finding>(problem.eligibility.facts(constraints.scheme(form)));
    const auto* method = problem.eligibility.method(node, constraints.scheme(form));
    auto examined =
        method->erased_examine(constraints.get(form), {&problem.graph, node}, *findings[i]);
    if (examined && store != nullptr) examined = store_all(findings[i]->kept, *store);
    if (!examined) findings[i]->error = std::move(examined).error();
    ++done;
    if (sink != nullptr && std::this_thread::get_id() == caller) tell();
  });
  if (dealt.ranks != nullptr) QUADRANT_CHECK(exchange(own, *dealt.ranks, store, findings));
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
    auto resolved =
        scheme.erased_resolve({&problem.graph, constraints.get(group.constraint), members, sources,
                               problem.eligibility.facts(constraints.scheme(group.constraint))});
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
                                       Sink* sink, ConstantStore* store, const DealtNodes& dealt) {
  DataPassResult result;
  QUADRANT_CHECK(examine(problem, selection, executor, result, sink, store, dealt));
  if (result.refused.empty()) {
    QUADRANT_CHECK(resolve(problem, parameters, executor, result.data));
  }
  return result;
}

}  // namespace quadrant::inline v0

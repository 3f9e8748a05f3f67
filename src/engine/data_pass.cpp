#include "quadrant/engine/data_pass.hpp"

#include <optional>

namespace quadrant::inline v0 {
namespace {

// What one node's `examine` found. Each task writes its own, so none waits for another.
struct Finding final : DataContext {
  void keep(NodeId /*node*/, Constant computed) override { kept = std::move(computed); }
  void refuse(NodeId /*node*/, std::string why) override { refusal = std::move(why); }

  Constant kept;
  std::optional<std::string> refusal;
  std::optional<Error> error;
};

}  // namespace

Expected<DataPassResult> run_data_pass(const GraphView& graph, const std::vector<NodeId>& order,
                                       const Eligibility& eligibility, const RequestGraph& requests,
                                       const Selection& selection, Executor& executor, Sink* sink) {
  std::vector<NodeId> nodes;
  for (const NodeId node : order) {
    if (graph.result_count(node) > 0 && selection.is_selected({node, 0})) nodes.push_back(node);
  }
  std::vector<std::unique_ptr<Finding>> findings(nodes.size());
  executor.parallel_for(nodes.size(), [&](std::size_t i) {
    findings[i] = std::make_unique<Finding>();
    const RequestId request = selection[{nodes[i], 0}].request;
    auto examined = eligibility.method(nodes[i])->erased_examine(
        requests.constraints().get(requests[request].constraint), {&graph, nodes[i]}, *findings[i]);
    if (!examined) findings[i]->error = std::move(examined).error();
  });

  DataPassResult result;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Finding& finding = *findings[i];
    if (finding.error) return fail(std::move(*finding.error));
    if (finding.refusal) result.refused.emplace(nodes[i], std::move(*finding.refusal));
    if (finding.kept) result.prepared.emplace(nodes[i], std::move(finding.kept));
  }
  if (sink != nullptr) sink->progress("reading weights", nodes.size(), nodes.size());
  return result;
}

}  // namespace quadrant::inline v0

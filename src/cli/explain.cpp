// quadrant explain MODEL [NODE]: why values are quantized, or are not.
#include "quadrant/engine/explain.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "quadrant/report/table.hpp"
#include "quadrant/report/terminal_text.hpp"
#include "recipe/node_names.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

// Nodes of that name, and the node that makes the value of that name. Names of nodes need not be
// unique.
Expected<std::vector<NodeId>> find_nodes(const Graph& graph, const std::string& wanted) {
  std::vector<NodeId> found;
  for (const NamedNode& node : named_nodes(graph)) {
    if (std::ranges::find(node.names, wanted) != node.names.end()) found.push_back(node.id);
  }
  const Value input = graph.find_value(wanted);
  if (found.empty() && !input.is_absent()) found.push_back(input.node);
  if (!found.empty()) return found;
  return fail(ErrorCode::usage, fmt::format("no node and no value is called '{}'{}", wanted,
                                            did_you_mean(wanted, all_names(graph))));
}

bool may_consume(const Registry& registry, std::string_view kind) {
  for (std::uint32_t i = 0; i < registry.scheme_count(); ++i) {
    const QuantizationMethod* const method = registry.find(kind, i);
    if (method != nullptr && method->eligible_state() == State::Consumer) return true;
  }
  return false;
}

// What a user asks about first: each weight, the largest first, then each operation that would
// gain, in the order in which they are computed.
std::vector<Explanation> of_interest(const Subject& subject, const Analysis& analysis) {
  std::vector<std::pair<std::uint64_t, Explanation>> weights;
  std::vector<Explanation> consumers;
  for (Explanation& explanation : explain_all(subject.graph, subject.registry, analysis)) {
    const Value value = subject.graph.find_value(explanation.value);
    if (value.is_absent()) continue;
    const Constant* constant = subject.graph.constant(value.node);
    if (constant != nullptr && is_float(subject.graph.type(value).element)) {
      weights.emplace_back(constant->byte_size(), std::move(explanation));
    } else if (may_consume(subject.registry, explanation.kind)) {
      consumers.push_back(std::move(explanation));
    }
  }
  std::ranges::sort(weights, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second.value < b.second.value;
  });
  std::vector<Explanation> result;
  result.reserve(weights.size() + consumers.size());
  for (auto& [bytes, explanation] : weights) result.push_back(std::move(explanation));
  std::ranges::move(consumers, std::back_inserter(result));
  return result;
}

class Explain final : public Command {
 public:
  CLI::App* declare(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("explain", "Say why values are quantized or are not");
    cli::declare(*command, options_);
    command
        ->add_option(
            "NODE", node_,
            "Node or value to explain in full; without it, a line for each weight and each "
            "operation that could gain")
        ->type_name("");
    command->footer(
        "Examples:\n"
        "  quadrant explain model.onnx --scheme weight-only\n"
        "  quadrant explain model.onnx fc1.weight --scheme weight-only");
    return command;
  }

  [[nodiscard]] bool wants_json() const noexcept override { return options_.json; }

  Expected<void> run(Console& console) override {
    QUADRANT_TRY(Subject subject, prepare(options_, console));
    std::vector<NodeId> nodes;
    if (!node_.empty()) {
      QUADRANT_TRY(nodes, find_nodes(subject.graph, node_));
    }
    QUADRANT_TRY(const Analysis analysis, subject.decide());
    std::vector<Explanation> explanations;
    explanations.reserve(nodes.size());
    for (const NodeId node : nodes) {
      explanations.push_back(explain(subject.graph, subject.registry, analysis, node));
    }
    if (node_.empty()) explanations = of_interest(subject, analysis);
    print(explanations, console);
    return {};
  }

 private:
  void print(const std::vector<Explanation>& explanations, Console& console) const {
    if (options_.json) {
      Json list = Json::array();
      for (const Explanation& explanation : explanations) list.push_back(to_json(explanation));
      console.print_json(Json{{"model", options_.model}, {"explanations", std::move(list)}});
    } else if (node_.empty()) {
      Table table({{"value"}, {"operation"}, {"state"}, {"why"}});
      for (const Explanation& explanation : explanations) {
        table.add({explanation.value, explanation.kind, std::string(to_string(explanation.state)),
                   explanation.reason});
      }
      console.print(table.print());
    } else {
      for (const Explanation& explanation : explanations) {
        console.print(printable_lines(to_string(explanation)));
      }
    }
  }

  DecisionOptions options_;
  std::string node_;
};

}  // namespace

std::unique_ptr<Command> make_explain() { return std::make_unique<Explain>(); }

}  // namespace quadrant::cli

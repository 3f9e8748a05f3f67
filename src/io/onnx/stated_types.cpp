#include "io/onnx/stated_types.hpp"

#include <algorithm>

#include "io/onnx/failure.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/value_info.hpp"
#include "ir/shape_inference.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// Nothing is inferred about its results: the file is the only one who can tell.
bool is_unknown(const Graph& graph, NodeId node) { return graph.kind(node).starts_with(prefix); }

/// Inputs and constants are what they are.
bool is_fact(const Graph& graph, NodeId node) {
  return graph.kind(node) == ops::Input::kind || graph.kind(node) == ops::Constant::kind;
}

}  // namespace

void StatedTypes::settle(Graph& graph) {
  believe_about_unknown_operations(graph);
  if (!infer_shapes(graph)) {
    // Either what was just believed is wrong, or the model is.
    for (Statement& statement : statements_) {
      const NodeId node = statement.value.node;
      if (!is_fact(graph, node)) graph.set_type(statement.value, {});
      statement.wrong = statement.wrong || is_unknown(graph, node);
    }
    value_of(infer_shapes(graph));
  }
  believe_where_nothing_contradicts(graph);
  drop_wrong_ones(graph);
}

void StatedTypes::believe_about_unknown_operations(Graph& graph) {
  for (Statement& statement : statements_) {
    if (!is_unknown(graph, statement.value.node)) continue;
    if (auto type = merged(graph.type(statement.value), statement.type)) {
      graph.set_type(statement.value, *std::move(type));
    } else {
      statement.wrong = true;
    }
  }
}

void StatedTypes::believe_where_nothing_contradicts(Graph& graph) {
  std::vector<std::pair<Value, TensorType>> inferred;
  for (Statement& statement : statements_) {
    if (statement.wrong) continue;
    const TensorType& present = graph.type(statement.value);
    auto type = merged(present, statement.type);
    if (!type) {
      statement.wrong = true;
    } else if (!is_fact(graph, statement.value.node) && *type != present) {
      inferred.emplace_back(statement.value, present);
      graph.set_type(statement.value, *std::move(type));
    }
  }
  if (inferred.empty() || infer_shapes(graph)) return;
  for (auto& [value, type] : inferred) graph.set_type(value, std::move(type));
  for (Statement& statement : statements_) {
    const auto same = [&](const auto& changed) { return changed.first == statement.value; };
    if (std::ranges::any_of(inferred, same)) statement.wrong = true;
  }
  value_of(infer_shapes(graph));
}

void StatedTypes::drop_wrong_ones(Graph& graph) {
  const Statement* first = nullptr;
  std::size_t count = 0;
  for (const Statement& statement : statements_) {
    if (!statement.wrong) continue;
    if (count++ == 0) first = &statement;
    graph.erase_attribute(statement.holder, statement.attribute);
  }
  if (!first || !sink_) return;
  const std::string name = printable(graph.value_name(first->value));
  sink_->report(
      {Severity::note,
       fmt::format("{} stated value type(s) contradict what follows from the inputs and are "
                   "left out; the first is that of '{}': {}",
                   count, name, to_string(first->type)),
       {.tensor = name}});
}

}  // namespace quadrant::inline v0::onnx

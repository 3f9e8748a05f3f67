#include <fmt/format.h>

#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/graphviz.hpp>
#include <sstream>
#include <string_view>

#include "quadrant/ir/bgl.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/report/tables.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::inline v0 {
namespace {

// Boost wants predicates that can be default-made.
class TakesPart {
 public:
  TakesPart() = default;
  TakesPart(const GraphView& graph, const Analysis& analysis)
      : graph_(&graph), analysis_(&analysis) {}

  bool operator()(NodeId node) const {
    if (graph_->kind(node) != ops::Constant::kind) return true;
    return analysis_->requests.first({node, 0}) != no_request;
  }

 private:
  const GraphView* graph_ = nullptr;
  const Analysis* analysis_ = nullptr;
};

std::string dot_string(std::string_view text) {
  std::string result = R"(")";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

class Painter {
 public:
  Painter(const GraphView& graph, const Analysis& analysis)
      : graph_(&graph), analysis_(&analysis) {}

  void operator()(std::ostream& out, NodeId node) const {
    const bool has_result = graph_->result_count(node) > 0;
    const Value value{node, 0};
    std::string label(graph_->kind(node));
    const std::string_view name = has_result ? graph_->value_name(value) : graph_->name(node);
    if (!name.empty()) label += fmt::format(" {}", name);
    std::string_view colour = "white";
    if (has_result && analysis_->selection.is_selected(value)) {
      const RequestId request = analysis_->selection[value].request;
      const ConstraintId constraint = analysis_->requests[request].constraint;
      label += fmt::format(" [{}]", analysis_->requests.constraints().print(constraint));
      colour = "palegreen";
    } else if (has_result && analysis_->eligibility.furthest_state(value) == State::Consumer) {
      colour = "lightblue";
    } else if (has_result && analysis_->eligibility.furthest_state(value) == State::Quantizable) {
      colour = "lightyellow";
    }
    out << fmt::format("[label={}, fillcolor={}]", dot_string(label), colour);
  }

  void operator()(std::ostream& out, const Edge& edge) const {
    if (!analysis_->selection.is_selected(edge.value)) return;
    out << fmt::format(R"([style=bold, label="{}"])",
                       analysis_->selection[edge.value].gain.amount());
  }

 private:
  const GraphView* graph_;
  const Analysis* analysis_;
};

}  // namespace

std::string print_dot(const GraphView& graph, const Analysis& analysis) {
  const BoostGraph whole(graph);
  const boost::filtered_graph<BoostGraph, boost::keep_all, TakesPart> shown(
      whole, boost::keep_all(), TakesPart(graph, analysis));
  const Painter painter(graph, analysis);
  std::ostringstream out;
  boost::write_graphviz(
      out, shown, painter, painter,
      [](std::ostream& header) { header << "node [shape=box, style=filled];\n"; }, NodeIndexMap{});
  return out.str();
}

}  // namespace quadrant::inline v0

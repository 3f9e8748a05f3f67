// A view that answers as a graph does: for those of tests that answer otherwise in one respect.
#pragma once

#include <span>
#include <string_view>

#include "quadrant/ir/graph.hpp"

namespace quadrant::test {

class ForwardingView : public GraphView {
 public:
  explicit ForwardingView(const Graph& graph) noexcept : graph_(&graph) {}

  [[nodiscard]] std::uint32_t index_bound() const noexcept override { return ask().index_bound(); }
  [[nodiscard]] NodeId node_at(std::uint32_t index) const noexcept override {
    return ask().node_at(index);
  }
  [[nodiscard]] std::string_view kind(NodeId node) const noexcept override {
    return ask().kind(node);
  }
  [[nodiscard]] std::string_view name(NodeId node) const noexcept override {
    return ask().name(node);
  }
  [[nodiscard]] std::span<const Value> operands(NodeId node) const noexcept override {
    return ask().operands(node);
  }
  [[nodiscard]] std::uint32_t result_count(NodeId node) const noexcept override {
    return ask().result_count(node);
  }
  [[nodiscard]] std::span<const Use> uses(NodeId node) const noexcept override {
    return ask().uses(node);
  }
  [[nodiscard]] const Attribute* attribute(NodeId node,
                                           std::string_view name) const noexcept override {
    return ask().attribute(node, name);
  }
  [[nodiscard]] const Constant* constant(NodeId node) const noexcept override {
    return ask().constant(node);
  }
  [[nodiscard]] const TensorType& type(Value value) const noexcept override {
    return ask().type(value);
  }
  [[nodiscard]] std::string_view value_name(Value value) const noexcept override {
    return ask().value_name(value);
  }

 protected:
  /// Called once for each question.
  [[nodiscard]] virtual const Graph& ask() const noexcept { return *graph_; }

 private:
  const Graph* graph_;
};

}  // namespace quadrant::test

// Arrays beside a graph: one entry for each value, or for each operand of each node.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// Numbers the values of a graph from 0. Valid until the graph is edited.
class ValueNumbering {
 public:
  explicit ValueNumbering(const GraphView& graph) : first_(graph.index_bound() + 1, 0) {
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      const NodeId node = graph.node_at(i);
      first_[i + 1] = first_[i] + (node.is_valid() ? graph.result_count(node) : 0);
    }
  }
  [[nodiscard]] std::uint32_t operator()(Value value) const noexcept {
    return first_[value.node.index] + value.result;
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return first_.back(); }
  /// Whether the value was there when they were numbered.
  [[nodiscard]] bool contains(Value value) const noexcept {
    return value.node.index + 1 < first_.size() && value.result < result_count(value.node);
  }
  /// As GraphView::result_count, from a flat array: passes over large graphs touch no nodes.
  [[nodiscard]] std::uint32_t result_count(NodeId node) const noexcept {
    return first_[node.index + 1] - first_[node.index];
  }

 private:
  std::vector<std::uint32_t> first_;
};

template <class T>
class ValueMap {
 public:
  ValueMap() = default;
  ValueMap(std::shared_ptr<const ValueNumbering> numbering, const T& initial)
      : numbering_(std::move(numbering)), entries_(numbering_->size(), initial) {}

  [[nodiscard]] T& operator[](Value value) noexcept { return entries_[(*numbering_)(value)]; }
  [[nodiscard]] const T& operator[](Value value) const noexcept {
    return entries_[(*numbering_)(value)];
  }
  [[nodiscard]] const std::shared_ptr<const ValueNumbering>& numbering() const noexcept {
    return numbering_;
  }

 private:
  std::shared_ptr<const ValueNumbering> numbering_;
  std::vector<T> entries_;
};

/// One entry for each operand of each node. Valid until the graph is edited.
template <class T>
class OperandMap {
 public:
  OperandMap() = default;
  /// `make(operand)` gives the first entry for an operand.
  template <class Make>
  OperandMap(const GraphView& graph, Make make) : first_(graph.index_bound() + 1, 0) {
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      const NodeId node = graph.node_at(i);
      if (node.is_valid()) {
        for (const Value operand : graph.operands(node)) entries_.push_back(make(operand));
      }
      first_[i + 1] = static_cast<std::uint32_t>(entries_.size());
    }
  }

  [[nodiscard]] std::span<T> operator[](NodeId user) noexcept {
    return std::span(entries_).subspan(first_[user.index],
                                       first_[user.index + 1] - first_[user.index]);
  }
  [[nodiscard]] std::span<const T> operator[](NodeId user) const noexcept {
    return std::span(entries_).subspan(first_[user.index],
                                       first_[user.index + 1] - first_[user.index]);
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<T> entries_;
};

}  // namespace quadrant::inline v0

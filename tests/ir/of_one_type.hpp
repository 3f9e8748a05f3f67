// A graph that says which of its values have one type.
#pragma once

#include <utility>
#include <vector>

#include "ir/forwarding_view.hpp"
#include "quadrant/ir/graph_rewriter.hpp"

namespace quadrant::test {

class OfOneType final : public ForwardingView, public Capabilities {
 public:
  OfOneType(const Graph& graph, std::vector<std::vector<Value>> groups)
      : ForwardingView(graph), groups_(std::move(groups)) {}
  [[nodiscard]] const Capabilities* capabilities() const noexcept override { return this; }
  [[nodiscard]] std::vector<std::vector<Value>> of_one_type() const override { return groups_; }

 private:
  std::vector<std::vector<Value>> groups_;
};

}  // namespace quadrant::test

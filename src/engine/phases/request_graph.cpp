#include "quadrant/engine/phases/request_graph.hpp"

#include <algorithm>

namespace quadrant::inline v0 {

RequestId RequestGraph::find(Value value, ConstraintId constraint) const noexcept {
  for (RequestId id = first(value); id != no_request; id = requests_[id].next) {
    if (requests_[id].constraint == constraint) return id;
  }
  return no_request;
}

std::span<const Benefit> RequestGraph::benefits(NodeId consumer,
                                                std::uint32_t operand) const noexcept {
  const auto found = std::ranges::equal_range(benefits(consumer), operand, {}, &Benefit::operand);
  return {found.begin(), found.end()};
}

const std::string* RequestGraph::refusal(NodeId node, std::uint32_t scheme) const noexcept {
  const auto found = refusals_.find({node, scheme});
  return found == refusals_.end() ? nullptr : found->second;
}

}  // namespace quadrant::inline v0

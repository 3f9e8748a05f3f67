#include "quadrant/engine/request_graph.hpp"

namespace quadrant::inline v0 {

RequestId RequestGraph::find(Value value, ConstraintId constraint) const noexcept {
  for (RequestId id = first(value); id != no_request; id = requests_[id].next) {
    if (requests_[id].constraint == constraint) return id;
  }
  return no_request;
}

const char* RequestGraph::refusal(NodeId node, std::uint32_t scheme) const noexcept {
  const auto found = refusals_.find({node, scheme});
  return found == refusals_.end() ? nullptr : found->second;
}

}  // namespace quadrant::inline v0

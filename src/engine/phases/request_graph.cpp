#include <algorithm>
#include <map>

#include "quadrant/engine/phases/propagation.hpp"

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

std::vector<std::vector<const Benefit*>> RequestGraph::taken_together(NodeId consumer) const {
  const auto is_of_a_set = [](const Benefit& benefit) { return benefit.together != 0; };
  if (std::ranges::none_of(benefits(consumer), is_of_a_set)) return {};  // most nodes
  std::map<std::uint32_t, std::vector<const Benefit*>> found;
  for (const Benefit& benefit : benefits(consumer)) {
    if (benefit.together != 0) found[benefit.together].push_back(&benefit);
  }
  std::vector<std::vector<const Benefit*>> all;
  for (auto& [number, members] : found) {
    const bool can_be_had = std::ranges::none_of(
        members, [](const Benefit* member) { return member->request == no_request; });
    if (can_be_had) all.push_back(std::move(members));
  }
  return all;
}

const std::string* RequestGraph::refusal(NodeId node, std::uint32_t scheme) const noexcept {
  const auto found = refusals_.find({node, scheme});
  return found == refusals_.end() ? nullptr : found->second;
}

}  // namespace quadrant::inline v0

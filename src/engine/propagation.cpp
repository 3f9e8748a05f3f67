#include "quadrant/engine/propagation.hpp"

#include <algorithm>
#include <range/v3/view/reverse.hpp>

#include "quadrant/support/assert.hpp"

namespace quadrant::inline v0 {

RequestId RequestGraph::find(Value value, ConstraintId constraint) const noexcept {
  for (RequestId id = first(value); id != no_request; id = requests_[id].next) {
    if (requests_[id].constraint == constraint) return id;
  }
  return no_request;
}

const char* RequestGraph::consumer_refusal(NodeId consumer) const noexcept {
  const auto found = consumer_refusals_.find(consumer);
  return found == consumer_refusals_.end() ? nullptr : found->second;
}

RequestId RequestGraph::post(Value value, ConstraintId constraint) {
  if (const RequestId known = find(value, constraint); known != no_request) return known;
  const auto id = static_cast<RequestId>(requests_.size());
  Request request;
  request.value = value;
  request.constraint = constraint;
  request.next = first_of_value_[value];
  requests_.push_back(request);
  first_of_value_[value] = id;
  return id;
}

void RequestGraph::set_alternatives(RequestId request,
                                    std::span<const std::vector<Need>> alternatives) {
  requests_[request].first_alternative = static_cast<std::uint32_t>(alternatives_.size());
  requests_[request].alternative_count = static_cast<std::uint32_t>(alternatives.size());
  for (const std::vector<Need>& needs : alternatives) {
    alternatives_.push_back(
        {static_cast<std::uint32_t>(needs_.size()), static_cast<std::uint32_t>(needs.size())});
    needs_.insert(needs_.end(), needs.begin(), needs.end());
  }
}

namespace {

// Receives what one node answers, and posts it to the node's parents.
class Collector final : public RequestCollector {
 public:
  Collector(NodeRef node, const Eligibility& eligibility, const GainModel& gains,
            RequestGraph& requests) noexcept
      : node_(node), eligibility_(&eligibility), gains_(&gains), requests_(&requests) {}

  void need(std::uint32_t operand, const void* constraint) override {
    open_.push_back({post(operand, requests_->constraints().intern(constraint)), operand});
  }
  void end_alternative() override {
    alternatives_.push_back(std::move(open_));
    open_.clear();
  }
  void benefit(std::uint32_t operand, const void* constraint) override {
    const ConstraintId id = requests_->constraints().intern(constraint);
    requests_->add_benefit(
        {node_.id, operand, id, post(operand, id), gains_->of_operand(node_, operand)});
  }
  void refuse(const char* why) override { refusal_ = why; }

  [[nodiscard]] std::span<const std::vector<Need>> alternatives() const noexcept {
    return alternatives_;
  }
  [[nodiscard]] const char* refusal() const noexcept { return refusal_; }

 private:
  [[nodiscard]] RequestId post(std::uint32_t operand, ConstraintId constraint) {
    const Value value = node_.operand(operand);
    QUADRANT_ASSERT(!value.is_absent());
    if (value.is_absent() || eligibility_->state(value) != State::Quantizable) return no_request;
    return requests_->post(value, constraint);
  }

  NodeRef node_;
  const Eligibility* eligibility_;
  const GainModel* gains_;
  RequestGraph* requests_;
  std::vector<Need> open_;
  std::vector<std::vector<Need>> alternatives_;
  const char* refusal_ = nullptr;
};

[[nodiscard]] bool is_alive(const RequestGraph& requests, const Alternative& alternative) {
  return std::ranges::all_of(requests.needs(alternative), [&](const Need& need) {
    return need.request != no_request && requests[need.request].accepted;
  });
}

// Calls `visit(id)` for every request on every result of `node`.
template <class Visit>
void for_each_request(const GraphView& graph, const RequestGraph& requests, NodeId node,
                      Visit visit) {
  for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
    for (RequestId id = requests.first({node, result}); id != no_request; id = requests[id].next) {
      visit(id);
    }
  }
}

// Users before producers: when a node is reached, all requests to it have been posted.
void post_requests(const GraphView& graph, const std::vector<NodeId>& order,
                   const Eligibility& eligibility, const GainModel& gains, RequestGraph& requests) {
  for (const NodeId node : order | ranges::views::reverse) {
    const QuantizationMethod* method = eligibility.method(node);
    if (method == nullptr) continue;
    const NodeRef ref{&graph, node};
    if (method->eligible_state() == State::Consumer) {
      Collector collector(ref, eligibility, gains, requests);
      method->erased_request(ref, collector);
      if (collector.refusal() != nullptr) requests.refuse_consumer(node, collector.refusal());
      continue;
    }
    for_each_request(graph, requests, node, [&](RequestId id) {
      Collector collector(ref, eligibility, gains, requests);
      method->erased_callback(requests.constraints().get(requests[id].constraint), ref, collector);
      requests[id].refusal = collector.refusal();
      requests.set_alternatives(id, collector.alternatives());
    });
  }
}

// Producers before users: a request holds if one of its alternatives does.
void resolve_acceptance(const GraphView& graph, const std::vector<NodeId>& order,
                        RequestGraph& requests) {
  for (const NodeId node : order) {
    for_each_request(graph, requests, node, [&](RequestId id) {
      const auto alternatives = requests.alternatives(requests[id]);
      requests[id].accepted = std::ranges::any_of(
          alternatives,
          [&](const Alternative& alternative) { return is_alive(requests, alternative); });
    });
  }
}

// Splits `flow` evenly over the needs of one alternative, the remainder over the first ones.
// Requests in `reached` have had their share from another alternative: only one will come true. A
// request that one alternative needs twice gets both shares.
void share_flow(std::int64_t flow, std::span<const Need> needs,
                const std::vector<RequestId>& reached, RequestGraph& requests) {
  if (needs.empty()) return;
  const auto count = static_cast<std::int64_t>(needs.size());
  const std::int64_t unit = flow < 0 ? -1 : 1;
  std::int64_t remainder = flow % count;
  for (const Need& need : needs) {
    std::int64_t share = flow / count;
    if (remainder != 0) {
      share += unit;
      remainder -= unit;
    }
    if (std::ranges::find(reached, need.request) == reached.end()) {
      requests[need.request].flow += Gain{share};
    }
  }
}

// Users before producers again: what is accepted passes its gain on to what it needs.
void sum_flows(const GraphView& graph, const std::vector<NodeId>& order, RequestGraph& requests) {
  for (const Benefit& benefit : requests.benefits()) {
    if (benefit.request == no_request || !requests[benefit.request].accepted) continue;
    requests[benefit.request].flow += benefit.gain;
  }
  std::vector<RequestId> reached;
  for (const NodeId node : order | ranges::views::reverse) {
    for_each_request(graph, requests, node, [&](RequestId id) {
      if (!requests[id].accepted) return;
      reached.clear();
      for (const Alternative& alternative : requests.alternatives(requests[id])) {
        if (!is_alive(requests, alternative)) continue;
        const auto needs = requests.needs(alternative);
        share_flow(requests[id].flow.amount(), needs, reached, requests);
        for (const Need& need : needs) reached.push_back(need.request);
      }
    });
  }
}

}  // namespace

RequestGraph propagate_gains(const GraphView& graph, const std::vector<NodeId>& order,
                             const Registry& registry, const Eligibility& eligibility,
                             const GainModel& gains) {
  RequestGraph requests(registry.scheme().constraint_type(), eligibility.numbering());
  post_requests(graph, order, eligibility, gains, requests);
  resolve_acceptance(graph, order, requests);
  sum_flows(graph, order, requests);
  return requests;
}

}  // namespace quadrant::inline v0

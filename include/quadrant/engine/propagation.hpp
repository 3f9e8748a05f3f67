// Phase 2: requests travel from those who gain to those who can give.
//
// The result is a graph of requests, separate from the model's graph: a request ("value v holds
// constraint c") has alternatives, of which one must hold; an alternative has needs, requests to
// the node's operands, which must all hold. Selection and explain read it; nothing is decided here.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "quadrant/engine/constraint.hpp"
#include "quadrant/engine/eligibility.hpp"
#include "quadrant/engine/gain.hpp"

namespace quadrant::inline v0 {

/// Index of a request.
using RequestId = std::uint32_t;
inline constexpr RequestId no_request = std::numeric_limits<RequestId>::max();

/// One operand's part of an alternative.
struct Need {
  RequestId request = no_request;  ///< no_request: the operand is not Quantizable
  std::uint32_t operand = 0;
};

struct Alternative {
  std::uint32_t first_need = 0;
  std::uint32_t need_count = 0;
};

struct Request {
  Value value;
  ConstraintId constraint{};
  std::uint32_t first_alternative = 0;
  std::uint32_t alternative_count = 0;
  RequestId next = no_request;    ///< the value's next request
  const char* refusal = nullptr;  ///< the method's reason, a literal, when it offered nothing
  bool accepted = false;          ///< it holds if every parent does as asked
  Gain flow;                      ///< what accepted users gain through this request
};

/// What a Consumer gains from one operand.
struct Benefit {
  NodeId consumer;
  std::uint32_t operand = 0;
  ConstraintId constraint{};
  RequestId request = no_request;  ///< no_request: the operand is not Quantizable
  Gain gain;
};

/// The result of phase 2.
class RequestGraph {
 public:
  RequestGraph(const ConstraintType& type, std::shared_ptr<const ValueNumbering> numbering)
      : constraints_(type), first_of_value_(std::move(numbering), no_request) {}

  [[nodiscard]] const ConstraintTable& constraints() const noexcept { return constraints_; }
  [[nodiscard]] ConstraintTable& constraints() noexcept { return constraints_; }

  [[nodiscard]] std::span<const Request> requests() const noexcept { return requests_; }
  [[nodiscard]] const Request& operator[](RequestId id) const noexcept { return requests_[id]; }
  [[nodiscard]] Request& operator[](RequestId id) noexcept { return requests_[id]; }
  /// The value's first request, or no_request; `Request::next` leads on.
  [[nodiscard]] RequestId first(Value value) const noexcept { return first_of_value_[value]; }
  /// The request for this value and constraint, or no_request.
  [[nodiscard]] RequestId find(Value value, ConstraintId constraint) const noexcept;
  [[nodiscard]] std::span<const Alternative> alternatives(const Request& request) const noexcept {
    return std::span(alternatives_).subspan(request.first_alternative, request.alternative_count);
  }
  [[nodiscard]] std::span<const Need> needs(const Alternative& alternative) const noexcept {
    return std::span(needs_).subspan(alternative.first_need, alternative.need_count);
  }
  [[nodiscard]] std::span<const Benefit> benefits() const noexcept { return benefits_; }
  /// Refusals of Consumers that asked nothing: the reason, or null.
  [[nodiscard]] const char* consumer_refusal(NodeId consumer) const noexcept;

  // --- building: used by propagate_gains --------------------------------------------------------
  /// Equal constraints on one value are one request.
  RequestId post(Value value, ConstraintId constraint);
  void set_alternatives(RequestId request, std::span<const std::vector<Need>> alternatives);
  void add_benefit(const Benefit& benefit) { benefits_.push_back(benefit); }
  void refuse_consumer(NodeId consumer, const char* why) { consumer_refusals_[consumer] = why; }

 private:
  ConstraintTable constraints_;
  ValueMap<RequestId> first_of_value_;
  std::vector<Request> requests_;
  std::vector<Alternative> alternatives_;
  std::vector<Need> needs_;
  std::vector<Benefit> benefits_;
  std::unordered_map<NodeId, const char*> consumer_refusals_;
};

/// Runs phase 2: posts requests in reverse order, resolves which can be accepted in a forward
/// sweep, and sums their gains in a second reverse sweep. Linear in nodes and requests; no
/// recursion.
///
/// A gain that needs several operands is split evenly between them, so that where the branches of a
/// diamond meet again it is counted once.
[[nodiscard]] RequestGraph propagate_gains(const GraphView& graph, const std::vector<NodeId>& order,
                                           const Registry& registry, const Eligibility& eligibility,
                                           const GainModel& gains);

}  // namespace quadrant::inline v0

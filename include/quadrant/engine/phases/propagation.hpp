// Phase 2: requests travel from consumers to producers.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quadrant/engine/declare/constraint.hpp"
#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/phases/eligibility.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

// The graph of requests: which operation asks for which value in which form. Phase 2 builds it, and
// everything after reads it.
//
// It is separate from the model's graph. A request ("value v in form c") can come true in two ways:
// its node makes its result so, by one of the request's alternatives, of which each is a list of
// needs that must all hold; or the value, in float, is quantized for the operations that asked
// (`entry`).

/// Index of a request.
using RequestId = std::uint32_t;
inline constexpr RequestId no_request = std::numeric_limits<RequestId>::max();

/// One operand's part of an alternative.
struct Need {
  RequestId request = no_request;  ///< no_request: the operand cannot be had so
  std::uint32_t operand = 0;
};

/// One way of making a result.
struct Alternative {
  std::uint32_t first_need = 0;
  std::uint32_t need_count = 0;
  Gain gain;  ///< what the node itself gains
};

struct Request {
  Value value;
  ConstraintId constraint{};
  std::uint32_t first_alternative = 0;
  std::uint32_t alternative_count = 0;
  RequestId next = no_request;  ///< the value's next request
  /// The method's reason when it offered nothing; lives as long as the graph of requests.
  const std::string* refusal = nullptr;
  bool given = false;         ///< the model came with the value in this form
  bool producible = false;    ///< the node can make its result so, if every parent does as asked
  bool accepted = false;      ///< it can be had: producible, or by a conversion
  std::optional<Gain> entry;  ///< cost of quantizing the value in float; empty: it cannot be
  std::uint32_t asking_uses = 0;  ///< uses of the value that ask for codes in this form
  Gain flow;                      ///< what accepted users gain through this request
};

/// What a node gains from one operand on its own account, while its own result is float.
struct Benefit {
  NodeId consumer;
  std::uint32_t operand = 0;
  ConstraintId constraint{};
  RequestId request = no_request;  ///< no_request: the operand cannot be had so
  bool takes_codes = false;        ///< it reads codes; otherwise floats, through the dequantize
  Gain gain;
  /// Of an operand that is taken with others or not at all: the number, among those of its node, of
  /// what it is part of; 0: it is taken by itself.
  std::uint32_t together = 0;

  /// It comes true where the codes are read.
  [[nodiscard]] bool is_of_taking() const noexcept {
    return takes_codes && together == 0 && request != no_request;
  }
  /// It comes true where the operand is made in that form.
  [[nodiscard]] bool is_of_holding() const noexcept {
    return !takes_codes && request != no_request;
  }
};

/// The result of phase 2.
class RequestGraph {
 public:
  RequestGraph(std::shared_ptr<ConstraintTable> constraints,
               std::shared_ptr<const ValueNumbering> numbering, const GraphView& graph)
      : constraints_(std::move(constraints)),
        first_of_value_(numbering, no_request),
        asked_uses_(std::move(numbering), 0),
        benefits_of_(graph.index_bound()) {}

  [[nodiscard]] const ConstraintTable& constraints() const noexcept { return *constraints_; }
  [[nodiscard]] ConstraintTable& constraints() noexcept { return *constraints_; }

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
  /// In no particular order; `benefits(consumer)` has those of one node.
  [[nodiscard]] std::span<const Benefit> benefits() const noexcept { return benefits_; }
  [[nodiscard]] std::span<const Benefit> benefits(NodeId consumer) const noexcept {
    const BenefitRange range = benefits_of_[consumer.index];
    return std::span(benefits_).subspan(range.first, range.count);
  }
  /// And those of one of its operands.
  [[nodiscard]] std::span<const Benefit> benefits(NodeId consumer,
                                                  std::uint32_t operand) const noexcept;
  /// The operands that the node takes together or not at all, where all of them can be had: by
  /// number, and by operand.
  [[nodiscard]] std::vector<std::vector<const Benefit*>> taken_together(NodeId consumer) const;
  [[nodiscard]] std::uint32_t index(const Benefit& benefit) const noexcept {
    return static_cast<std::uint32_t>(&benefit - benefits_.data());
  }
  /// How many uses of the value ask for codes in some form. All others read floats for certain.
  [[nodiscard]] std::uint32_t asked_uses(Value value) const noexcept { return asked_uses_[value]; }
  /// Why the node, under the scheme, does not ask for something on its own account: what `request`
  /// said, or null.
  [[nodiscard]] const std::string* refusal(NodeId node, std::uint32_t scheme) const noexcept;

 private:
  friend class GainPropagator;
  struct BenefitRange {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  std::shared_ptr<ConstraintTable> constraints_;
  ValueMap<RequestId> first_of_value_;
  ValueMap<std::uint32_t> asked_uses_;
  std::vector<Request> requests_;
  std::vector<Alternative> alternatives_;
  std::vector<Need> needs_;
  std::vector<Benefit> benefits_;  // those of one consumer side by side, by operand
  std::vector<BenefitRange> benefits_of_;
  std::map<std::pair<NodeId, std::uint32_t>, const std::string*> refusals_;
  std::shared_ptr<Reasons> reasons_ = std::make_shared<Reasons>();
};

/// Runs phase 2: posts requests in reverse order, resolves which can be accepted in a forward
/// sweep, and sums their gains in a second reverse sweep. Linear in nodes and requests; no
/// recursion. Nothing is decided here.
///
/// A gain that needs several operands is split evenly between them, so that where the branches of a
/// diamond meet again it is counted once.
///
/// `of_one_type`: groups of values (`CouplingTable::strict`). One of them that no operation reads
/// is asked for what the others are asked for, at no gain, so that it can follow them; requests are
/// posted again for that, a few times at most.
[[nodiscard]] RequestGraph propagate_gains(const GraphView& graph, const std::vector<NodeId>& order,
                                           const Registry& registry, const Eligibility& eligibility,
                                           const GainModel& gains,
                                           std::span<const std::vector<Value>> of_one_type = {});

}  // namespace quadrant::inline v0

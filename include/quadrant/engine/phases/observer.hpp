// Watching a run: what each phase found, as soon as it is there.
#pragma once

#include "quadrant/engine/phases/eligibility.hpp"
#include "quadrant/engine/phases/parameters.hpp"
#include "quadrant/engine/phases/request_graph.hpp"
#include "quadrant/engine/phases/selection.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// Called by `analyze` and `quantize`, from their thread, after each phase. What is passed lives as
/// long as the call. The defaults do nothing. A run whose data pass refuses a weight and leaves it
/// in float, or in which two weights meet in a coupling, decides, and calls, once more.
class PhaseObserver {
 public:
  PhaseObserver() = default;
  PhaseObserver(const PhaseObserver&) = delete;
  PhaseObserver& operator=(const PhaseObserver&) = delete;
  virtual ~PhaseObserver() = default;

  virtual void after_eligibility(const GraphView& /*graph*/, const Eligibility& /*eligibility*/) {}
  virtual void after_propagation(const GraphView& /*graph*/, const RequestGraph& /*requests*/) {}
  virtual void after_selection(const GraphView& /*graph*/, const RequestGraph& /*requests*/,
                               const Selection& /*selection*/,
                               const ParameterTable& /*parameters*/) {}
  /// `graph` is the rewritten one.
  virtual void after_rewriting(const GraphView& /*graph*/) {}
};

}  // namespace quadrant::inline v0

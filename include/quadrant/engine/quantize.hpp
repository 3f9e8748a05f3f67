// The four phases, one after the other: the main entry of the library.
//
//   detect_eligibility  eligibility.hpp  could it be quantized?
//   propagate_gains     propagation.hpp  who asks for it, and what would they gain?
//   select_greedy       selection.hpp    which requests become true? (or select_optimal)
//   rewrite             rewriting.hpp    make them true
#pragma once

#include <string>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/phases/eligibility.hpp"
#include "quadrant/engine/phases/observer.hpp"
#include "quadrant/engine/phases/parameters.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/engine/phases/propagation.hpp"
#include "quadrant/engine/phases/rewriting.hpp"
#include "quadrant/engine/phases/selection.hpp"
#include "quadrant/ir/constant_store.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// What to do about a selected weight that holds NaN or infinity.
enum class NonFinitePolicy : std::uint8_t {
  refuse,       ///< the run is `impossible` and names it
  leave_float,  ///< it stays float, with that reason
};

struct QuantizeOptions {
  const GainModel* gains = nullptr;  ///< null: BytesGain
  Vetoes vetoes;
  SchemeVetoes scheme_vetoes;  ///< of schemes that run: another name is a `usage` error
  ValueVetoes value_vetoes;
  SelectionPolicy policy = SelectionPolicy::greedy;
  const Plan* plan = nullptr;  ///< follow this plan instead of selecting
  NonFinitePolicy non_finite = NonFinitePolicy::refuse;
  Couplings couplings;             ///< values that must not be quantized differently
  Executor* executor = nullptr;    ///< for the data pass; null: the calling thread
  ConstantStore* store = nullptr;  ///< for what it keeps; null: memory
  Sink* sink = nullptr;            ///< progress; may be null
  PhaseObserver* observer = nullptr;
};

/// Everything that phases 1 to 3 found about a graph, for reports and explain. Its ids are those of
/// that graph.
struct Analysis {
  Registry registry;  ///< whose methods the rest refers to
  std::vector<NodeId> order;
  Eligibility eligibility;
  RequestGraph requests;
  Selection selection;
  ParameterTable parameters;
  Vetoes vetoes;
  SchemeVetoes scheme_vetoes;
  ValueVetoes value_vetoes;
  Plan plan;
};

/// Phases 1 to 3: reads metadata only, no tensor's contents. Linear; the result depends on neither
/// the order in which the graph was built nor the number of threads.
[[nodiscard]] Expected<Analysis> analyze(const GraphView& graph, const Registry& registry,
                                         const QuantizeOptions& options = {});

/// The same with the data pass, which reads the contents of what is to be codes: weights that hold
/// NaN or infinity end it, or stay float, by `options.non_finite`. What `quantize` would do,
/// undone.
[[nodiscard]] Expected<Analysis> decide(const GraphView& graph, const Registry& registry,
                                        const QuantizeOptions& options = {});

struct QuantizeResult {
  Graph graph;        ///< quantized; contents of weights are still to be computed, while writing
  Analysis analysis;  ///< node ids in it are those of the graph that was given
};

/// All four phases, with the data pass (scales, NaN) between the third and the last. `graph` is not
/// changed; the result shares its constants.
[[nodiscard]] Expected<QuantizeResult> quantize(const Graph& graph, const Registry& registry,
                                                const QuantizeOptions& options = {});

/// The same, in place, on a graph of any kind. Until phase 4 begins nothing is changed; an error
/// after that leaves the graph partly rewritten. The Analysis speaks of the graph as it was, so
/// there is no explaining the rewritten one with it: `analyze`, explain, then quantize as planned.
[[nodiscard]] Expected<Analysis> quantize(GraphRewriter& graph, const Registry& registry,
                                          const QuantizeOptions& options = {});

}  // namespace quadrant::inline v0

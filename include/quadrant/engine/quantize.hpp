// The main entry of the library: the four phases; watching a run, and restricting it.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/phases/eligibility.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/engine/phases/propagation.hpp"
#include "quadrant/engine/phases/rewriting.hpp"
#include "quadrant/engine/phases/selection.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/files.hpp"

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

// Restricting a run to a part of the graph.

/// Vetoes, with `reason`, of all that takes part but `included` and what these cannot do without:
///
/// - an operation goes with the weights that serve it: constants that reach it through Quantizable
///   values computed of constants alone;
/// - a weight or an input of the graph goes with the operations that read it, these without their
///   other weights, but for the bias of a product.
///
/// What came quantized and what quantizes or dequantizes already stays. `eligibility` is that of an
/// unrestricted phase 1 over the same graph. Linear.
[[nodiscard]] Vetoes restrict_to(const GraphView& graph, const std::vector<NodeId>& order,
                                 const Eligibility& eligibility,
                                 const std::vector<NodeId>& included, const std::string& reason);

// Constants that were computed and wait to be written, in bounded memory.

/// Keeps so many bytes of constants in memory, and the others in a file. Safe to use from several
/// threads. The constants outlive it.
class ConstantStore {
 public:
  /// `memory`: bytes; `directory`: where the file is made, once one is needed.
  ConstantStore(std::uint64_t memory, std::string directory)
      : left_(memory), directory_(std::move(directory)) {}

  /// The same contents: `constant` itself where there is room, or if it is deferred or empty, else
  /// one that reads the file whenever it is read. `io` when that cannot be written.
  [[nodiscard]] Expected<Constant> put(Constant constant);

 private:
  // The file, where there is no room for so many bytes; else null, and the room is taken.
  [[nodiscard]] Expected<std::shared_ptr<ScratchFile>> file_for(std::uint64_t bytes);

  std::mutex mutex_;
  std::uint64_t left_;                 // guarded by mutex_
  std::shared_ptr<ScratchFile> file_;  // guarded by mutex_
  std::string directory_;
};

// The four phases, one after the other: the main entry of the library.
//
//   detect_eligibility  eligibility.hpp  could it be quantized?
//   propagate_gains     propagation.hpp  who asks for it, and what would they gain?
//   select_greedy       selection.hpp    which requests become true? (or select_optimal)
//   rewrite             rewriting.hpp    make them true

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

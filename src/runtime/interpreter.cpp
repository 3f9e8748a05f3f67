#include "quadrant/runtime/interpreter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <set>
#include <string>
#include <unordered_set>

#include "ir/opset.hpp"
#include "ir/regions.hpp"
#include "ir/tensor_memory.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "runtime/control_flow.hpp"
#include "runtime/half_floats.hpp"
#include "runtime/kernels.hpp"
#include "runtime/ops/control_flow.hpp"

namespace quadrant::inline v0 {

namespace {

constexpr std::uint32_t absent = UINT32_MAX;

// A value that is computed or given, by a number of its own: its slot.
struct Step {
  NodeId node;
  KernelEntry entry;
  std::uint32_t region = Regions::model;
  std::span<const std::uint32_t> bodies;  // that the interpreter runs; none for most
  std::vector<std::uint32_t> operands;    // its own: slots, or `absent`
  std::uint32_t first_result = 0;         // slots of the results follow one another
  std::uint32_t results = 0;
  std::vector<std::uint32_t> last_used;  // slots that no later step reads
};

struct Watch {
  std::uint32_t slot = 0;
  std::size_t index = 0;
};

// The model itself, or a body: its steps, and what is exchanged with the operation around it.
struct Program {
  std::vector<Step> steps;
  std::vector<std::uint32_t> inputs;  // slots of a body's inputs ...
  std::vector<std::uint32_t> yields;  // ... and of what it yields
  std::set<std::uint32_t> captured;   // slots of values from outside that are read inside
};

// A run of the model. An observer is a reference, which has no value of its own.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
struct Running {
  std::vector<Tensor>& slots;
  const TensorMemory& memory;
  TensorObserver observe;
};

// The model as lists of steps. Immutable once it is made.
class InterpretedModel final : public ModelExecutor {
 public:
  InterpretedModel(const Graph& graph, std::uint64_t memory)
      : graph_(graph), opset_(opset_version(graph)), memory_(memory) {}
  /// Keeps the graph.
  InterpretedModel(std::unique_ptr<const Graph> graph, std::uint64_t memory)
      : InterpretedModel(*graph, memory) {
    own_ = std::move(graph);
  }

  Expected<void> prepare(std::span<const Value> watched, std::span<const KernelEntry> own);
  [[nodiscard]] Expected<void> run(std::span<const Tensor> inputs,
                                   TensorObserver observe) const override;

 private:
  using Slots = std::vector<Tensor>;

  [[nodiscard]] std::uint32_t slot(Value value) const {
    return value.is_absent() ? absent : first_slot_[value.node.index] + value.result;
  }
  [[nodiscard]] std::vector<bool> needed(std::span<const NodeId> order,
                                         std::span<const Value> watched) const;
  Expected<void> add_steps(std::span<const NodeId> order, const std::vector<bool>& needed,
                           std::span<const KernelEntry> own);
  [[nodiscard]] Step make_step(NodeId node, const KernelEntry& entry) const;
  Expected<void> fold_constants();
  void divide_into_programs();
  void find_last_uses(std::uint32_t region);
  [[nodiscard]] Expected<Tensors> call(const Step& step, std::vector<Tensor> operands,
                                       const Running* running) const;
  /// `running` is null while the model is loaded, when no body runs.
  [[nodiscard]] Expected<void> compute(const Step& step, Slots& slots, const TensorMemory& memory,
                                       const Running* running) const;
  [[nodiscard]] Expected<void> run_steps(std::uint32_t region, const Running& running) const;
  [[nodiscard]] Expected<Tensors> run_body(std::uint32_t region, std::span<const Tensor> inputs,
                                           const Running& running) const;
  [[nodiscard]] Expected<void> hand_out(std::uint32_t first, std::uint32_t count,
                                        const Running& running) const;

  std::unique_ptr<const Graph> own_;  // null: the caller's
  const Graph& graph_;
  std::int64_t opset_;
  TensorMemory memory_;                    // of what is computed at loading
  std::vector<std::uint32_t> first_slot_;  // by the node's index
  Regions regions_;
  std::vector<Step> steps_;        // of all programs, until these have them
  std::vector<Program> programs_;  // by region
  std::vector<std::uint32_t> region_of_slot_;
  std::vector<Watch> watches_;  // sorted by slot
  Slots constants_;             // by slot; empty where the value is computed in each run
};

const KernelEntry* find_kernel(std::span<const KernelEntry> kernels, std::string_view kind) {
  const auto found = std::ranges::find(kernels, kind, &KernelEntry::kind);
  return found == kernels.end() ? nullptr : &*found;
}

bool is_source(std::string_view kind) {
  return kind == ops::Input::kind || kind == ops::Constant::kind || kind == regions::input_kind;
}

std::vector<bool> InterpretedModel::needed(std::span<const NodeId> order,
                                           std::span<const Value> watched) const {
  std::vector<bool> needed(graph_.index_bound(), false);
  for (const Value value : watched) {
    needed[value.node.index] = true;
    // What is in a body is computed where its operation is.
    for (std::uint32_t region = regions_.of(value.node);
         region != Regions::model && region != Regions::nowhere; region = regions_[region].outer) {
      needed[regions_[region].owner.index] = true;
    }
  }
  for (const NodeId node : order | std::views::reverse) {
    if (!needed[node.index]) continue;
    for (const Value operand : graph_.operands(node)) {
      if (!operand.is_absent()) needed[operand.node.index] = true;
    }
  }
  return needed;
}

Step InterpretedModel::make_step(NodeId node, const KernelEntry& entry) const {
  Step step{.node = node,
            .entry = entry,
            .region = regions_.of(node),
            .first_result = first_slot_[node.index],
            .results = graph_.result_count(node)};
  const std::size_t own = regions_.own_operands(graph_, node);
  for (const Value operand : graph_.operands(node).first(own)) {
    step.operands.push_back(slot(operand));
  }
  if (entry.kernel == interpreted::without_body) step.bodies = regions_.bodies(node);
  return step;
}

// One step for each node that is needed; the contents of constants go straight into their slots.
Expected<void> InterpretedModel::add_steps(std::span<const NodeId> order,
                                           const std::vector<bool>& needed,
                                           std::span<const KernelEntry> own) {
  std::vector<std::string> unknown;
  for (const NodeId node : order) {
    if (!needed[node.index] || regions_.of(node) == Regions::nowhere) continue;
    const std::string_view kind = graph_.kind(node);
    if (const Constant* constant = graph_.constant(node)) {
      QUADRANT_TRY(constants_[first_slot_[node.index]], Tensor::from_constant(*constant));
    }
    if (is_source(kind)) continue;
    const KernelEntry* entry = find_kernel(own, kind);
    if (entry == nullptr) entry = find_kernel(builtin_kernels(), kind);
    if (entry == nullptr) {
      if (std::ranges::find(unknown, kind) == unknown.end()) unknown.emplace_back(kind);
      continue;
    }
    steps_.push_back(make_step(node, *entry));
  }
  if (unknown.empty()) return {};
  std::ranges::sort(unknown);
  return fail(
      ErrorCode::impossible,
      fmt::format("the interpreter does not know these operations: {}", fmt::join(unknown, ", ")),
      {}, Remedy::another_runtime);
}

Expected<Tensors> InterpretedModel::call(const Step& step, std::vector<Tensor> operands,
                                         const Running* running) const {
  if (step.bodies.empty() || running == nullptr) {
    return call_kernel(step.entry, graph_.ref(step.node), opset_, operands);
  }
  return run_control_flow(KernelCall(graph_.ref(step.node), opset_, operands),
                          [&](std::size_t body, std::span<const Tensor> inputs) {
                            return run_body(step.bodies[body], inputs, *running);
                          });
}

Expected<void> InterpretedModel::compute(const Step& step, Slots& slots, const TensorMemory& memory,
                                         const Running* running) const {
  const TensorMemory::Scope scope(memory);
  std::vector<Tensor> operands;
  operands.reserve(step.operands.size());
  for (const std::uint32_t operand : step.operands) {
    operands.push_back(operand == absent ? Tensor() : slots[operand]);
  }
  auto results = call(step, std::move(operands), running);
  if (results && results->size() < step.results) {
    results = KernelCall::refuse(fmt::format("{} results, where {} computes {}", step.results,
                                             graph_.kind(step.node), results->size()));
  }
  if (!results) {
    Error error = std::move(results).error();
    const bool is_of_body = !error.place.node.empty() || !error.place.tensor.empty();
    if (!step.bodies.empty() && is_of_body) return fail(std::move(error));
    error.message = fmt::format("{}: {}", graph_.kind(step.node), error.message);
    if (memory.was_short()) error.remedy = Remedy::more_memory;
    error.place.node = label(graph_, step.node);
    return fail(std::move(error));
  }
  for (std::uint32_t i = 0; i < step.results; ++i) {
    slots[step.first_result + i] = std::move((*results)[i]);
  }
  return {};
}

// What depends on constants alone is computed here, once; what only such steps read is let go.
Expected<void> InterpretedModel::fold_constants() {
  std::vector<Step> kept;
  std::vector<std::uint32_t> folded_operands;
  for (Step& step : steps_) {
    const bool constant = !step.operands.empty() && step.bodies.empty() &&
                          std::ranges::all_of(step.operands, [&](std::uint32_t operand) {
                            return operand == absent || constants_[operand];
                          });
    if (!constant) {
      kept.push_back(std::move(step));
      continue;
    }
    if (auto computed = compute(step, constants_, memory_, nullptr); !computed) {
      if (step.region == Regions::model) return computed;
      kept.push_back(std::move(step));  // perhaps that body never runs
      continue;
    }
    folded_operands.insert(folded_operands.end(), step.operands.begin(), step.operands.end());
  }
  steps_ = std::move(kept);

  std::vector<bool> read(constants_.size(), false);
  for (const Watch& watch : watches_) read[watch.slot] = true;
  for (const Step& step : steps_) {
    for (const std::uint32_t operand : step.operands) {
      if (operand != absent) read[operand] = true;
    }
    for (const Value value : graph_.operands(step.node).subspan(step.operands.size())) {
      read[slot(value)] = true;  // what its bodies yield
    }
  }
  for (const std::uint32_t operand : folded_operands) {
    if (operand != absent && !read[operand]) constants_[operand] = Tensor();
  }
  return {};
}

void InterpretedModel::divide_into_programs() {
  programs_.resize(regions_.all().size());
  for (std::uint32_t region = 1; region < programs_.size(); ++region) {
    const Region& body = regions_[region];
    Program& program = programs_[region];
    for (const NodeId input : body.inputs) program.inputs.push_back(slot({input}));
    for (const Value value : graph_.operands(body.owner).subspan(body.first_yield, body.yields)) {
      program.yields.push_back(slot(value));
    }
  }
  for (Step& step : steps_) programs_[step.region].steps.push_back(std::move(step));
  steps_.clear();
  // From the inside outwards: what an inner body captures, the body around it reads.
  std::vector<std::uint32_t> regions(programs_.size());
  std::iota(regions.begin(), regions.end(), 0U);
  std::ranges::sort(regions, std::ranges::greater{},
                    [&](std::uint32_t region) { return regions_[region].depth; });
  for (const std::uint32_t region : regions) {
    Program& program = programs_[region];
    const auto capture = [&](std::uint32_t slot) {
      if (slot != absent && region_of_slot_[slot] != region) program.captured.insert(slot);
    };
    for (const Step& step : program.steps) {
      std::ranges::for_each(step.operands, capture);
      for (const std::uint32_t body : step.bodies) {
        std::ranges::for_each(programs_[body].captured, capture);
      }
    }
    std::ranges::for_each(program.yields, capture);
    find_last_uses(region);
  }
}

// A body lets go of what it makes itself, each time that it runs.
void InterpretedModel::find_last_uses(std::uint32_t region) {
  Program& program = programs_[region];
  std::unordered_set<std::uint32_t> used_later(program.yields.begin(), program.yields.end());
  for (Step& step : program.steps | std::views::reverse) {
    const auto note = [&](std::uint32_t slot) {
      if (slot == absent || region_of_slot_[slot] != region) return;
      if (region != Regions::model && constants_[slot]) return;  // the next iteration wants it, too
      if (used_later.insert(slot).second) step.last_used.push_back(slot);
    };
    for (std::uint32_t i = 0; i < step.results; ++i) note(step.first_result + i);
    for (const std::uint32_t operand : step.operands) note(operand);
    for (const std::uint32_t body : step.bodies) {
      std::ranges::for_each(programs_[body].captured, note);
    }
  }
}

Expected<void> InterpretedModel::prepare(std::span<const Value> watched,
                                         std::span<const KernelEntry> own) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph_));
  QUADRANT_TRY(regions_, Regions::find(graph_));
  first_slot_.assign(graph_.index_bound(), absent);
  std::uint32_t slots = 0;
  for (const NodeId node : order) {
    first_slot_[node.index] = slots;
    slots += graph_.result_count(node);
    region_of_slot_.resize(slots, regions_.of(node));
  }
  constants_.resize(slots);
  for (std::size_t i = 0; i < watched.size(); ++i) watches_.push_back({slot(watched[i]), i});
  std::ranges::sort(watches_, {}, &Watch::slot);

  QUADRANT_CHECK(add_steps(order, needed(order, watched), own));
  QUADRANT_CHECK(fold_constants());
  divide_into_programs();
  return {};
}

Expected<void> InterpretedModel::hand_out(std::uint32_t first, std::uint32_t count,
                                          const Running& running) const {
  auto watch = std::ranges::lower_bound(watches_, first, {}, &Watch::slot);
  for (; watch != watches_.end() && watch->slot < first + count; ++watch) {
    QUADRANT_CHECK(running.observe(watch->index, running.slots[watch->slot]));
  }
  return {};
}

Expected<void> InterpretedModel::run_steps(std::uint32_t region, const Running& running) const {
  for (const Step& step : programs_[region].steps) {
    QUADRANT_CHECK(compute(step, running.slots, running.memory, &running));
    QUADRANT_CHECK(hand_out(step.first_result, step.results, running));
    for (const std::uint32_t slot : step.last_used) running.slots[slot] = Tensor();
  }
  return {};
}

// Calls itself through `compute`, for bodies in bodies, at most `regions::deepest` deep.
Expected<Tensors> InterpretedModel::run_body(std::uint32_t region, std::span<const Tensor> inputs,
                                             const Running& running) const {
  const Program& program = programs_[region];
  if (inputs.size() != program.inputs.size()) {
    return KernelCall::refuse(fmt::format("its body takes {} inputs where {} are given",
                                          program.inputs.size(), inputs.size()));
  }
  // A loop of a few bytes may ask for any number of iterations: each takes of the memory for good.
  constexpr std::uint64_t bytes_of_a_step = 16;
  if (!running.memory.take(bytes_of_a_step * (program.steps.size() + 1))) {
    return fail(ErrorCode::impossible,
                "its iterations are more than the memory of a run allows, at 16 bytes for each "
                "operation");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    running.slots[program.inputs[i]] = inputs[i];
    QUADRANT_CHECK(hand_out(program.inputs[i], 1, running));
  }
  QUADRANT_CHECK(run_steps(region, running));
  Tensors yielded;
  for (const std::uint32_t slot : program.yields) yielded.push_back(running.slots[slot]);
  const auto let_go = [&](std::uint32_t slot) {
    if (region_of_slot_[slot] == region && !constants_[slot]) running.slots[slot] = Tensor();
  };
  std::ranges::for_each(program.inputs, let_go);
  std::ranges::for_each(program.yields, let_go);
  return yielded;
}

Expected<void> InterpretedModel::run(std::span<const Tensor> inputs, TensorObserver observe) const {
  QUADRANT_CHECK(check_inputs(graph_, inputs));
  const TensorMemory memory(memory_.limit() - memory_.used());
  Slots slots = constants_;  // handles
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint32_t slot = first_slot_[graph_.inputs()[i].index];
    slots[slot] = inputs[i];
  }
  // Inputs, constants, and what was computed from constants.
  for (const Watch& watch : watches_) {
    if (slots[watch.slot]) QUADRANT_CHECK(observe(watch.index, slots[watch.slot]));
  }
  return run_steps(Regions::model, {slots, memory, observe});
}

}  // namespace

Expected<std::unique_ptr<ModelExecutor>> Interpreter::load(const Graph& graph,
                                                           std::span<const Value> watched) const {
  if (is_quantization_explicit(graph)) {
    auto model = std::make_unique<InterpretedModel>(graph, memory_);
    QUADRANT_CHECK(model->prepare(watched, kernels_));
    return model;
  }
  // Kernels compute on real values.
  auto spelled_out = std::make_unique<Graph>(graph);
  const MovedCodes moved = make_quantization_explicit(*spelled_out);
  std::vector<Value> found(watched.begin(), watched.end());
  for (Value& value : found) {
    const auto codes = moved.find(value);
    if (codes != moved.end()) value = codes->second;
  }
  auto model = std::make_unique<InterpretedModel>(std::move(spelled_out), memory_);
  QUADRANT_CHECK(model->prepare(found, kernels_));
  return model;
}

std::span<const KernelEntry> Interpreter::kernels() noexcept { return builtin_kernels(); }

}  // namespace quadrant::inline v0

#include "quadrant/runtime/interpreter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <string>

#include "ir/opset.hpp"
#include "ir/tensor_memory.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/topology.hpp"
#include "runtime/half_floats.hpp"
#include "runtime/kernels.hpp"

namespace quadrant::inline v0 {

namespace {

constexpr std::uint32_t absent = UINT32_MAX;

// A value that is computed or given, by a number of its own: its slot.
struct Step {
  NodeId node;
  KernelEntry entry;
  std::vector<std::uint32_t> operands;  // slots, or `absent`
  std::uint32_t first_result = 0;       // slots of the results follow one another
  std::uint32_t results = 0;
  std::vector<std::uint32_t> last_used;  // slots that no later step reads
};

struct Watch {
  std::uint32_t slot = 0;
  std::size_t index = 0;
};

// The model as a list of steps. Immutable once it is made.
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
  void find_last_uses();
  [[nodiscard]] Expected<void> compute(const Step& step, Slots& slots,
                                       const TensorMemory& memory) const;
  [[nodiscard]] Expected<void> hand_out(std::uint32_t first, std::uint32_t count,
                                        const Slots& slots, TensorObserver observe) const;

  std::unique_ptr<const Graph> own_;  // null: the caller's
  const Graph& graph_;
  std::int64_t opset_;
  TensorMemory memory_;                    // of what is computed at loading
  std::vector<std::uint32_t> first_slot_;  // by the node's index
  std::vector<Step> steps_;
  std::vector<Watch> watches_;  // sorted by slot
  Slots constants_;             // by slot; empty where the value is computed in each run
};

const KernelEntry* find_kernel(std::span<const KernelEntry> kernels, std::string_view kind) {
  const auto found = std::ranges::find(kernels, kind, &KernelEntry::kind);
  return found == kernels.end() ? nullptr : &*found;
}

bool is_source(std::string_view kind) {
  return kind == ops::Input::kind || kind == ops::Constant::kind;
}

std::vector<bool> InterpretedModel::needed(std::span<const NodeId> order,
                                           std::span<const Value> watched) const {
  std::vector<bool> needed(graph_.index_bound(), false);
  for (const Value value : watched) needed[value.node.index] = true;
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
            .first_result = first_slot_[node.index],
            .results = graph_.result_count(node)};
  for (const Value operand : graph_.operands(node)) step.operands.push_back(slot(operand));
  return step;
}

// One step for each node that is needed; the contents of constants go straight into their slots.
Expected<void> InterpretedModel::add_steps(std::span<const NodeId> order,
                                           const std::vector<bool>& needed,
                                           std::span<const KernelEntry> own) {
  std::vector<std::string> unknown;
  for (const NodeId node : order) {
    if (!needed[node.index]) continue;
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

Expected<void> InterpretedModel::compute(const Step& step, Slots& slots,
                                         const TensorMemory& memory) const {
  const TensorMemory::Scope scope(memory);
  std::vector<Tensor> operands;
  operands.reserve(step.operands.size());
  for (const std::uint32_t operand : step.operands) {
    operands.push_back(operand == absent ? Tensor() : slots[operand]);
  }
  auto results = call_kernel(step.entry, graph_.ref(step.node), opset_, operands);
  if (results && results->size() < step.results) {
    results = KernelCall::refuse(fmt::format("{} results, where {} computes {}", step.results,
                                             graph_.kind(step.node), results->size()));
  }
  if (!results) {
    Error error = std::move(results).error();
    error.message = fmt::format("{}: {}", graph_.kind(step.node), error.message);
    if (memory.was_short()) error.remedy = Remedy::more_memory;
    if (error.place.node.empty()) error.place.node = label(graph_, step.node);
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
    const bool constant =
        !step.operands.empty() && std::ranges::all_of(step.operands, [&](std::uint32_t operand) {
          return operand == absent || constants_[operand];
        });
    if (!constant) {
      kept.push_back(std::move(step));
      continue;
    }
    QUADRANT_CHECK(compute(step, constants_, memory_));
    folded_operands.insert(folded_operands.end(), step.operands.begin(), step.operands.end());
  }
  steps_ = std::move(kept);

  std::vector<bool> read(constants_.size(), false);
  for (const Watch& watch : watches_) read[watch.slot] = true;
  for (const Step& step : steps_) {
    for (const std::uint32_t operand : step.operands) {
      if (operand != absent) read[operand] = true;
    }
  }
  for (const std::uint32_t operand : folded_operands) {
    if (operand != absent && !read[operand]) constants_[operand] = Tensor();
  }
  return {};
}

void InterpretedModel::find_last_uses() {
  std::vector<bool> used_later(constants_.size(), false);
  for (Step& step : steps_ | std::views::reverse) {
    const auto note = [&](std::uint32_t slot) {
      if (slot == absent || used_later[slot]) return;
      used_later[slot] = true;
      step.last_used.push_back(slot);
    };
    for (std::uint32_t i = 0; i < step.results; ++i) note(step.first_result + i);
    for (const std::uint32_t operand : step.operands) note(operand);
  }
}

Expected<void> InterpretedModel::prepare(std::span<const Value> watched,
                                         std::span<const KernelEntry> own) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph_));
  first_slot_.assign(graph_.index_bound(), absent);
  std::uint32_t slots = 0;
  for (const NodeId node : order) {
    first_slot_[node.index] = slots;
    slots += graph_.result_count(node);
  }
  constants_.resize(slots);
  for (std::size_t i = 0; i < watched.size(); ++i) watches_.push_back({slot(watched[i]), i});
  std::ranges::sort(watches_, {}, &Watch::slot);

  QUADRANT_CHECK(add_steps(order, needed(order, watched), own));
  QUADRANT_CHECK(fold_constants());
  find_last_uses();
  return {};
}

Expected<void> InterpretedModel::hand_out(std::uint32_t first, std::uint32_t count,
                                          const Slots& slots, TensorObserver observe) const {
  auto watch = std::ranges::lower_bound(watches_, first, {}, &Watch::slot);
  for (; watch != watches_.end() && watch->slot < first + count; ++watch) {
    QUADRANT_CHECK(observe(watch->index, slots[watch->slot]));
  }
  return {};
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
  for (const Step& step : steps_) {
    QUADRANT_CHECK(compute(step, slots, memory));
    QUADRANT_CHECK(hand_out(step.first_result, step.results, slots, observe));
    for (const std::uint32_t slot : step.last_used) slots[slot] = Tensor();
  }
  return {};
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

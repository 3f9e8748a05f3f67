#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "ir/opset.hpp"
#include "ir/put_in_place.hpp"
#include "ir/tensor_memory.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "runtime/half_floats.hpp"
#include "runtime/kernels.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::array knowing_kinds{
    ops::ConstFakeQuant::kind, ops::CoupledRef::kind,   ops::Dequantize::kind,
    ops::FakeQuant::kind,      ops::FakeQuantize::kind, ops::Quantize::kind,
    ops::Stats::kind,          ops::StatsRef::kind,     ops::StorageCast::kind};

// Of each operation on constants of plain numbers alone; null for others.
const KernelEntry* kernel_for(NodeRef node) {
  if (node.operands().empty() || node.graph->result_count(node.id) != 1) return nullptr;
  const bool knows = std::ranges::find(knowing_kinds, node.kind()) != knowing_kinds.end() ||
                     node.kind().find("QuantizeLinear") != std::string_view::npos;
  if (knows || node.type().is_quantized()) return nullptr;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    if (node.operand(i).is_absent()) continue;
    if (node.operand_constant(i) == nullptr || node.operand_type(i)->is_quantized()) return nullptr;
  }
  const auto kernels = builtin_kernels();
  const auto found = std::ranges::find(kernels, node.kind(), &KernelEntry::kind);
  return found == kernels.end() ? nullptr : &*found;
}

std::uint64_t bytes_of(const TensorType& type) {
  const auto count = type.shape.element_count();
  const int width = byte_width(type.element);
  if (!count || width <= 0) return UINT64_MAX;
  return static_cast<std::uint64_t>(*count) * static_cast<std::uint64_t>(width);
}

// The bytes that a result may have.
std::uint64_t largest_result(NodeRef node) {
  std::uint64_t most = std::uint64_t{1} << 20U;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    if (!node.operand(i).is_absent()) most += node.operand_constant(i)->byte_size();
  }
  return most;
}

Expected<Tensor> computed(NodeRef node, const KernelEntry& kernel, std::int64_t opset,
                          const TensorMemory& memory) {
  const TensorMemory::Scope scope(memory);
  Tensors operands;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const Constant* const constant = node.operand_constant(i);
    operands.emplace_back();
    if (constant == nullptr) continue;
    QUADRANT_TRY(operands.back(), Tensor::from_constant(*constant));
  }
  QUADRANT_TRY(const Tensors results, call_kernel(kernel, node, opset, operands));
  if (results.empty()) return KernelCall::refuse("no result");
  return results.front();
}

}  // namespace

Expected<FoldedConstants> fold_constants(Graph& graph, bool (*folds)(NodeRef node)) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  const std::int64_t opset = opset_version(graph);
  FoldedConstants result;
  for (const NodeId id : order) {
    // What only a folded one read is gone.
    if (!graph.contains(id)) continue;
    const NodeRef node = graph.ref(id);
    const KernelEntry* const kernel = kernel_for(node);
    if (kernel == nullptr || (folds != nullptr && !folds(node))) continue;
    std::string name(graph.value_name(node.result()));
    // Types may say less than is computed, and kernels keep other tensors on the way: some times
    // the largest result, with half floats widened.
    constexpr std::uint64_t tensors_of_a_kernel = 8;
    const std::uint64_t largest = largest_result(node);
    const TensorMemory memory(largest * tensors_of_a_kernel);
    const auto tensor = bytes_of(node.type()) > largest ? Expected<Tensor>(Tensor())
                                                        : computed(node, *kernel, opset, memory);
    if (memory.was_short() || (tensor && (!*tensor || tensor->bytes().size() > largest))) {
      result.left.push_back({std::move(name), "its result may be much larger than its operands"});
      continue;
    }
    if (!tensor) {
      if (tensor.error().code == ErrorCode::io) return fail(tensor.error());
      result.left.push_back({std::move(name), tensor.error().message});
      continue;
    }
    put_in_place(graph, id, graph.add_constant(std::move(name), tensor->to_constant()));
    ++result.folded;
  }
  return result;
}

}  // namespace quadrant::inline v0

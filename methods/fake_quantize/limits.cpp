// Codes that are part of their type, for formats that know none.
#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "numerics/code_limits.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/fake_quantize.hpp"

namespace quadrant::inline v0 {
namespace low_precision {
namespace {

// Sums use of their 32 bits what they need.
bool has_limits(const UniformType& type) {
  constexpr int most_bits = 16;
  return bit_width(type.storage) <= most_bits && is_part_of_storage(type);
}

/// Whether the node only moves codes that are `stored`: these are within their limits.
bool moves_stored(NodeRef node, const std::vector<bool>& stored) {
  if (find_move(node) == nullptr) return false;
  return std::ranges::all_of(node.operands(), [&](Value operand) {
    return operand.is_absent() || !node.graph->type(operand).is_quantized() ||
           stored[operand.node.index];
  });
}

}  // namespace
}  // namespace low_precision

Expected<std::int64_t> limit_before_quantize(Graph& graph) {
  using namespace low_precision;
  std::int64_t count = 0;
  std::unordered_map<const UniformType*, std::shared_ptr<const UniformType>> whole;
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  std::vector<bool> stored(graph.index_bound());
  for (const NodeId id : order) {
    stored[id.index] = graph.constant(id) != nullptr || moves_stored(graph.ref(id), stored);
    if (stored[id.index] || graph.kind(id) == ops::Input::kind) continue;
    if (graph.result_count(id) != 1 || !graph.type({id}).is_quantized()) continue;
    TensorType type = graph.type({id});
    if (!type.uniform() || !has_limits(*type.uniform())) continue;
    const bool quantizes = graph.kind(id) == ops::Quantize::kind;
    if (quantizes) {
      const Value real = graph.operands(id)[0];
      // Other real numbers than float32 are not what these formats quantize.
      const bool is_known = graph.type(real).element == ElementType::float32 &&
                            type.uniform()->granularity.kind != Granularity::Kind::block;
      if (!is_known) continue;
      QUADRANT_TRY(const Value limited, limited_to_codes(graph, real, *type.uniform()));
      graph.set_operand(id, 0, limited);
      ++count;
    }
    auto& wide = whole[type.uniform().get()];
    if (!wide) {
      auto made = std::make_shared<UniformType>(*type.uniform());
      const auto range = integer_range(made->storage).value_or(IntegerRange{});
      made->storage_min = range.min;
      made->storage_max = range.max;
      made->storage_bits = 0;
      wide = std::move(made);
    }
    type.quantization = wide;
    graph.set_type({id}, std::move(type));
  }
  return count;
}

}  // namespace quadrant::inline v0

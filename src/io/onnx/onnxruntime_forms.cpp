#include "io/onnx/onnxruntime_forms.hpp"

#include <algorithm>

#include "io/onnx/failure.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/products.hpp"
#include "quadrant/numerics/code_sign.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// The type of the codes that a `dequantize` makes the value of; null where nothing does.
const UniformType* codes_behind(const Graph& graph, Value value) {
  if (value.is_absent() || graph.kind(value.node) != ops::Dequantize::kind) return nullptr;
  const TensorType* const codes = graph.ref(value.node).operand_type(0);
  return codes == nullptr ? nullptr : codes->quantization.get();
}

}  // namespace

std::int64_t use_unsigned_activations(Graph& graph) {
  const auto codes = free_codes(graph, ElementType::int8, ConstantCodes::excluded);
  const bool have_zero_points = std::ranges::any_of(
      codes, [&](Value value) { return bool(graph.type(value).quantization->zero_points); });
  if (!have_zero_points) return 0;
  value_of(change_sign(graph, codes));
  return static_cast<std::int64_t>(codes.size());
}

std::unordered_set<NodeId> weights_of_16_bit_data(const Graph& graph) {
  std::unordered_set<NodeId> weights;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    const Product* const product = node.is_valid() ? find_product(graph.kind(node)) : nullptr;
    if (product == nullptr) continue;
    const NodeRef ref = graph.ref(node);
    const UniformType* const data = codes_behind(graph, ref.operand(product->data));
    const UniformType* const weight = codes_behind(graph, ref.operand(product->weight));
    if (data != nullptr && weight != nullptr && bit_width(data->storage) == 16 &&
        bit_width(weight->storage) <= 8) {
      weights.insert(ref.operand(product->weight).node);
    }
  }
  return weights;
}

}  // namespace quadrant::inline v0::onnx

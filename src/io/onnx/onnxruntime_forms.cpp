#include "io/onnx/onnxruntime_forms.hpp"

#include <algorithm>
#include <bit>

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

/// Whether a product by what this node dequantizes becomes a MatMulNBits.
bool is_weight_of_nbits(const Graph& graph, NodeId node) {
  const TensorType* const codes = graph.ref(node).operand_type(0);
  if (codes == nullptr || !codes->quantization || codes->shape.rank() != 2 ||
      graph.uses(node).size() != 1 || bit_width(codes->element) > 8) {
    return false;
  }
  const Granularity& granularity = codes->quantization->granularity;
  const auto axis = normalize_axis(granularity.axis, 2);
  switch (granularity.kind) {
    case Granularity::Kind::tensor:
      return true;
    case Granularity::Kind::axis:
      return axis == 1;
    case Granularity::Kind::block:
      return axis == 0 && granularity.block_size >= 16 &&
             std::has_single_bit(static_cast<std::uint64_t>(granularity.block_size));
  }
  return false;
}

/// Whether it is a product of matrices as they are.
bool is_plain_product(const NodeRef& node) {
  if (node.kind() == ops::MatMul::kind) return true;
  const ops::Gemm gemm{node};
  return node.kind() == ops::Gemm::kind && node.attribute_or("alpha", 1.0) == 1 &&
         !gemm.trans_a() && !gemm.trans_b();
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

std::int64_t count_rounded_products(const Graph& graph) {
  std::int64_t count = 0;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || !is_plain_product(graph.ref(node))) continue;
    const NodeRef ref = graph.ref(node);
    const bool has_real_data = codes_behind(graph, ref.operand(0)) == nullptr;
    if (has_real_data && codes_behind(graph, ref.operand(1)) != nullptr &&
        is_weight_of_nbits(graph, ref.operand(1).node)) {
      ++count;
    }
  }
  return count;
}

}  // namespace quadrant::inline v0::onnx

#include "io/onnx/onnxruntime_forms.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/onnx/dequantize.hpp"
#include "io/onnx/edit.hpp"
#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/raise.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/windows.hpp"
#include "ir/scales.hpp"
#include "ir/small_float.hpp"
#include "numerics/code_sign.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// The type of the codes that a `dequantize` makes the value of; null where nothing does.
const UniformType* dequantized_type(const Graph& graph, Value value) {
  if (value.is_absent() || graph.kind(value.node) != ops::Dequantize::kind) return nullptr;
  const TensorType* const codes = graph.ref(value.node).operand_type(0);
  return codes == nullptr ? nullptr : codes->uniform().get();
}

bool is_dequantize_linear(const Graph& graph, Value value) {
  return !value.is_absent() && graph.kind(value.node) == linear_kind;
}

/// A limit, so that long chains and lists are not gone through by each of those who share them.
constexpr std::size_t most_steps = 8;

/// Whether it is a constant, transposed or not.
bool is_constant(const GraphView& graph, Value value) {
  for (std::size_t step = 0; step < most_steps && !value.is_absent(); ++step) {
    if (graph.kind(value.node) != ops::Transpose::kind)
      return graph.constant(value.node) != nullptr;
    value = graph.operands(value.node)[0];
  }
  return false;
}

/// Whether codes are dequantized as a whole once. ONNX Runtime makes one of several that are alike.
bool are_dequantized_once(const GraphView& graph, NodeId codes) {
  const auto uses = graph.uses(codes);
  return uses.size() <= most_steps && std::ranges::count_if(uses, [&](const Use& use) {
                                        return graph.kind(use.user) == linear_kind;
                                      }) == 1;
}

/// Whether a product by a matrix of which this DequantizeLinear makes the columns, or,
/// `transposed`, the rows, becomes a MatMulNBits.
bool is_weight_of_nbits(const NodeRef& node, bool transposed) {
  const TensorType* const codes = node.operand_type(0);
  const Constant* const scale = node.operand_constant(1);
  if (codes == nullptr || scale == nullptr || !codes->shape.is_ranked() ||
      codes->shape.rank() != 2 || bit_width(codes->element) > 8 ||
      !is_constant(*node.graph, node.operand(0)) || node.graph->uses(node.id).size() != 1 ||
      !are_dequantized_once(*node.graph, node.operand(0).node)) {
    return false;
  }
  const auto stored =
      NodeRef{node.graph, node.operand(0).node}.attribute_or<std::int64_t>(key::data_type, 0);
  if (small_float(element_of(stored))) return false;
  const std::int64_t columns = transposed ? 0 : 1;
  const auto axis = node.attribute_or<std::int64_t>("axis", 1);
  const auto block = node.attribute_or<std::int64_t>("block_size", 0);
  if (block > 0) {
    return axis == 1 - columns && block >= 16 &&
           std::has_single_bit(static_cast<std::uint64_t>(block));
  }
  return scale->shape().rank() == 0 || (axis == columns && scale->shape().rank() == 1);
}

/// Whether ONNX Runtime multiplies with codes where this matrix is multiplied with. A Transpose
/// goes in front of a DequantizeLinear there.
bool is_matrix_of_nbits(const Graph& graph, Value value) {
  if (is_dequantize_linear(graph, value)) return is_weight_of_nbits(graph.ref(value.node), false);
  if (value.is_absent() || graph.kind(value.node) != ops::Transpose::kind) return false;
  const Value real = graph.ref(value.node).operand(0);
  return graph.uses(value.node).size() == 1 && is_dequantize_linear(graph, real) &&
         is_weight_of_nbits(graph.ref(real.node), true);
}

/// Whether it is a product of matrices as they are.
bool is_plain_product(const NodeRef& node) {
  if (node.kind() == ops::MatMul::kind) return true;
  const ops::Gemm gemm{node};
  return node.kind() == ops::Gemm::kind && node.attribute_or("alpha", 1.0) == 1 &&
         !gemm.trans_a() && !gemm.trans_b();
}

/// Whether rows of a constant of one scale are looked up: then codes that are computed are its.
bool is_table_of_one_scale(const Graph& graph, NodeId constant) {
  const ScaledFormat type = scaled_format(graph.type({constant, 0}).quantization);
  if (type.scales.size() != 1 || type.scales.front().element_count() != 1) return false;
  return std::ranges::any_of(graph.uses(constant), [&](const Use& use) {
    return find_move({&graph, use.user}) != nullptr &&
           std::ranges::any_of(graph.operands(use.user), [&](Value operand) {
             return !operand.is_absent() && graph.constant(operand.node) == nullptr;
           });
  });
}

/// Whether values are rounded, and all of them to as many codes below zero, which is code 0, as
/// above it: how accelerators want them.
bool are_rounded_symmetrically(const Graph& graph) {
  bool are_rounded = false;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.kind(node) != ops::Quantize::kind) continue;
    const UniformType* const type = graph.type({node, 0}).uniform().get();
    if (type == nullptr) continue;
    if (type->zero_points || type->storage_min != -type->storage_max) return false;
    are_rounded = true;
  }
  return are_rounded;
}

/// The pads of all axes; empty where they are not known, or stated so already.
std::optional<std::vector<std::int64_t>> all_pads(NodeRef pad) {
  const Constant* const given_pads = pad.operand_constant(1);
  const Constant* const given_axes = pad.operand_constant(3);
  const TensorType* const data = pad.operand_type(0);
  if (given_pads == nullptr || given_axes == nullptr || !data->shape.is_ranked()) return {};
  const std::int64_t rank = data->shape.rank();
  const auto axes = read_integers(*given_axes, rank);
  const auto pads = read_integers(*given_pads, 2 * rank);
  if (!axes || !pads || pads->size() != 2 * axes->size()) return {};
  std::vector<std::int64_t> all(static_cast<std::size_t>(2 * rank), 0);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = normalize_axis((*axes)[i], rank);
    if (!axis) return {};
    all[static_cast<std::size_t>(*axis)] = (*pads)[i];
    all[static_cast<std::size_t>(*axis + rank)] = (*pads)[i + axes->size()];
  }
  return all;
}

}  // namespace

void spell_out_pads(Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.kind(node) != ops::Pad::kind) continue;
    const auto pads = all_pads(graph.ref(node));
    if (!pads) continue;
    graph.set_operand(
        node, 1,
        graph.add_constant(std::string(graph.value_name({node})) + "_pads", int64_constant(*pads)));
    graph.set_operand(node, 3, Value{});
  }
}

std::int64_t use_unsigned_activations(Graph& graph) {
  const auto codes = free_codes(graph, ElementType::int8, [&](NodeId maker) {
    return graph.attribute(maker, raised::beside_clip) == nullptr &&
           (graph.constant(maker) == nullptr || is_table_of_one_scale(graph, maker));
  });
  if (are_rounded_symmetrically(graph)) return 0;
  value_of(change_sign(graph, codes));
  return static_cast<std::int64_t>(codes.size());
}

void keep_dilations_from_codes(Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.kind(node) != ops::AveragePool::kind) continue;
    const NodeRef ref = graph.ref(node);
    if (dequantized_type(graph, ref.operand(0)) == nullptr) continue;
    const auto dilations = ref.attribute_or("dilations", std::vector<std::int64_t>());
    const auto kernel = ref.attribute_or("kernel_shape", std::vector<std::int64_t>());
    bool is_idle = kernel.size() == dilations.size();
    for (std::size_t i = 0; is_idle && i < kernel.size(); ++i) {
      is_idle = dilations[i] == 1 || kernel[i] == 1;
    }
    if (dilations.empty()) continue;
    if (is_idle) {
      graph.erase_attribute(node, "dilations");
    } else if (ref.operand_type(0)->element == ElementType::float32) {
      graph.set_operand(node, 0, kept_apart(graph, ref.operand(0)));
    }
  }
}

Value kept_apart(Graph& graph, Value real) {
  const std::string name(graph.value_name(real));
  const bool is_half = graph.type(real).element == ElementType::float16;
  const Value lowest = graph.add_constant(
      name + "_lowest", make_scales(is_half ? ElementType::float16 : ElementType::float32,
                                    Shape::scalar(), {-std::numeric_limits<float>::infinity()}));
  NodeSpec spec;
  spec.kind = ops::Max::kind;
  spec.operands = {real, lowest};
  spec.results.push_back({name + "_in_reals", graph.type(real)});
  return {graph.add(std::move(spec))};
}

bool has_limits(const Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid()) continue;
    if (graph.kind(node) == ops::Relu::kind || graph.kind(node) == ops::Clip::kind) return true;
  }
  return false;
}

std::unordered_set<NodeId> weights_of_16_bit_data(const Graph& graph) {
  std::unordered_set<NodeId> weights;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    const Product* const product = node.is_valid() ? find_product({&graph, node}) : nullptr;
    if (product == nullptr || is_convolution(*product)) continue;
    const NodeRef ref = graph.ref(node);
    const UniformType* const data = dequantized_type(graph, ref.operand(product->data));
    const UniformType* const weight = dequantized_type(graph, ref.operand(product->weight));
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
    const bool has_real_data = !is_dequantize_linear(graph, ref.operand(0));
    count += has_real_data && is_matrix_of_nbits(graph, ref.operand(1)) ? 1 : 0;
  }
  return count;
}

}  // namespace quadrant::inline v0::onnx

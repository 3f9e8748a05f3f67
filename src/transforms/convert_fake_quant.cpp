#include <string>
#include <utility>

#include "ir/put_in_place.hpp"
#include "ir/result_type.hpp"
#include "numerics/fake_quant_type.hpp"
#include "numerics/quantize_constant.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/transforms/prepare.hpp"

namespace quadrant::inline v0 {
namespace {

// What constants of codes may have.
constexpr int most_constant_bits = 16;

Expected<void> replace_by_casts(Graph& graph, NodeRef node) {
  QUADRANT_TRY(const auto type, fake_quant_type(node));
  const bool is_constant = node.operand_constant(0) != nullptr;
  if (is_constant && bit_width(type->storage) > most_constant_bits) {
    return fail(ErrorCode::impossible, "a constant's codes have 16 bits at most");
  }
  const std::string name(graph.value_name(node.result()));
  const TensorType real{type->expressed, node.type().shape, nullptr};
  const Value codes =
      add_cast(graph, ops::Quantize::kind, node.operand(0), name,
               name + std::string(quantized_ending), {type->storage, real.shape, type});
  put_in_place(graph, node.id, add_cast(graph, ops::Dequantize::kind, codes, name, name, real));
  return quantize_constant(graph, codes.node);
}

}  // namespace

Expected<ConvertedFakeQuants> convert_fake_quant(Graph& graph) {
  ConvertedFakeQuants result;
  const std::uint32_t bound = graph.index_bound();
  for (std::uint32_t index = 0; index < bound; ++index) {
    const NodeId id = graph.node_at(index);
    if (!id.is_valid()) continue;
    const NodeRef node = graph.ref(id);
    if (node.kind() != ops::ConstFakeQuant::kind && node.kind() != ops::FakeQuant::kind) continue;
    std::string name(graph.value_name(node.result()));
    auto done = replace_by_casts(graph, node);
    if (done) {
      ++result.converted;
    } else if (done.error().code == ErrorCode::impossible) {
      result.left.push_back({std::move(name), std::move(done).error().message});
    } else {
      return fail(detail::at(node, std::move(done).error()));
    }
  }
  return result;
}

}  // namespace quadrant::inline v0

#include "io/openvino/odd_codes.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "io/openvino/element.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

bool is_odd(const Extent& extent) { return extent.value_or(0) % 2 != 0; }

// Whether `reader` may sum an odd number of the elements of a matrix of that shape, or of a block.
bool sums_odd_number(NodeRef reader, std::uint32_t operand, const Shape& matrix,
                     const Granularity& groups) {
  if (reader.kind() == ops::Gather::kind) return false;
  if (groups.kind == Granularity::Kind::block) {
    return std::min(matrix[groups.axis].value_or(0), groups.block_size) % 2 != 0;
  }
  const Product* const product = find_product(reader);
  const auto channel = product != nullptr && product->weight == operand
                           ? product->channel(reader, matrix)
                           : std::nullopt;
  // Behind a move, or as the first factor: of either axis.
  if (!channel) return std::ranges::any_of(matrix.extents(), is_odd);
  return is_odd(matrix[1 - *channel]);
}

bool is_read_wrongly(const Graph& graph, NodeId constant) {
  const TensorType& type = graph.type({constant});
  const bool is_other = !type.is_quantized() || type.quantization.other();
  if (is_other || bit_width(type.element) >= 8 || type.shape.rank() != 2) return false;
  const Granularity groups = granularity_of(type.quantization);
  for (const Use& use : graph.uses(constant)) {
    if (graph.kind(use.user) != ops::Dequantize::kind) continue;
    for (const Use& read : graph.uses(use.user)) {
      if (sums_odd_number(graph.ref(read.user), read.operand, type.shape, groups)) return true;
    }
  }
  return false;
}

// The bytes of another constant.
class SameBytes final : public ConstantSource {
 public:
  explicit SameBytes(Constant from) : from_(std::move(from)) {}
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    return from_.read(offset, out);
  }

 private:
  Constant from_;
};

// The same elements, which take a byte each in memory, as those of 8 bits.
Constant widened(const Constant& codes, ElementType element) {
  return Constant::deferred(element, codes.shape(), std::make_shared<SameBytes>(codes));
}

}  // namespace

void widen_odd_codes(Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    const Constant* const codes = node.is_valid() ? graph.constant(node) : nullptr;
    if (codes == nullptr || !*codes || !is_read_wrongly(graph, node)) continue;
    ScaledFormat wide = scaled_format(graph.type({node}).quantization);
    std::get<IntegerCode>(wide.format.code).bits = 8;
    const ElementType storage = storage_element(wide.format);
    for (Constant& zeros : wide.offsets) zeros = widened(zeros, storage);
    graph.set_constant(node, widened(*codes, storage), wide);
  }
}

bool has_codes(const NumberCode& code, std::span<const std::int64_t> sums) {
  const auto* const integer = std::get_if<IntegerCode>(&code);
  if (integer == nullptr ? find_code_name(code) == nullptr : integer->bits > 8) return false;
  return bit_width(code) > 4 ||
         std::ranges::none_of(sums, [](std::int64_t count) { return count % 2 != 0; });
}

}  // namespace quadrant::inline v0::openvino_ir

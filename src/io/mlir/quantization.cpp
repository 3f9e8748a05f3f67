// Conversions between codes and real values.
#include <array>

#include "io/mlir/failure.hpp"
#include "io/mlir/rules.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_ir {
namespace {

void lower_quantize(LoweredNode& node) {
  node.finish(node.make("quant.qcast", std::array{node.operand(0)}, node.result_type()));
}

void lower_dequantize(LoweredNode& node) {
  if (!node.type(0).is_quantized()) invalid("a dequantize of what is not quantized");
  node.finish(node.make("quant.dcast", std::array{node.typed_operand(0)}, node.result_type()));
}

void lower_storage_cast(LoweredNode& node) {
  const ElementType to = node.result_element();
  const ElementType from = node.type(0).element;
  if (bit_width(to) != bit_width(from)) impossible("bits of another width");
  Term term = node.operand(0);
  term.type.element = to;
  node.finish(term);
}

constexpr std::array lowered_quantization{
    LowerRule{ops::Dequantize::kind, lower_dequantize},
    LowerRule{ops::Quantize::kind, lower_quantize},
    LowerRule{ops::StorageCast::kind, lower_storage_cast},
};

}  // namespace

LowerRules quantization_rules() noexcept { return lowered_quantization; }

}  // namespace quadrant::inline v0::mlir_ir

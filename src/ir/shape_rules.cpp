// One rule an operation: the types of the results from the types of the operands. The rules follow
// ONNX (https://onnx.ai/onnx/operators); what is unknown stays unknown. The table of all, and the
// rules of operations that change nothing but the element type.
#include "ir/shape_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "ir/result_type.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {
namespace {

Expected<TensorType> constant(NodeRef node) {
  const Constant* contents = node.graph->constant(node.id);
  if (!contents || !*contents) return invalid("a constant without contents");
  return TensorType{contents->element(), contents->shape(), node.type().quantization};
}

Expected<TensorType> identity(NodeRef node) {
  const TensorType& data = *node.operand_type(0);
  return TensorType{data.element, operand_shape(node, 0), data.quantization};
}

Expected<TensorType> cast(NodeRef node) {
  TensorType result{{}, operand_shape(node, 0), nullptr};
  const auto to = ops::Cast{node}.to();
  if (!to) return invalid("a cast without a type");
  // What a cast makes of codes is stated on its result.
  if (!node.operand_type(0)->is_quantized()) result.element = *to;
  return result;
}

Expected<TensorType> quantize(NodeRef node) {
  const TensorType& real = *node.operand_type(0);
  const UniformType* type = node.type().quantization.get();
  if (!type) return invalid("the result of a quantize must have a quantized type");
  if (real.is_quantized() ||
      (real.element != ElementType::undefined && real.element != type->expressed)) {
    return invalid(fmt::format("a quantize of {} to a type that expresses {}", to_string(real),
                               to_string(type->expressed)));
  }
  return TensorType{type->storage, operand_shape(node, 0), node.type().quantization};
}

Expected<TensorType> dequantize(NodeRef node) {
  const TensorType& codes = *node.operand_type(0);
  if (!codes.is_quantized()) return invalid("the operand of a dequantize must be quantized");
  return TensorType{codes.quantization->expressed, operand_shape(node, 0), nullptr};
}

Expected<TensorType> storage_cast(NodeRef node) {
  const TensorType& from = *node.operand_type(0);
  const TensorType& to = node.type();
  const Shape shape = operand_shape(node, 0);
  if (from.is_quantized()) {
    if (to.is_quantized()) return invalid("a storage_cast from one quantized type to another");
    return TensorType{from.quantization->storage, shape, nullptr};
  }
  if (!to.is_quantized()) {
    if (from.element == ElementType::undefined) return TensorType{{}, shape, nullptr};
    return invalid("a storage_cast between plain types");
  }
  if (from.element != ElementType::undefined && from.element != to.quantization->storage) {
    return invalid(fmt::format("a storage_cast of {} to codes of {}", to_string(from.element),
                               to_string(to.quantization->storage)));
  }
  return TensorType{to.quantization->storage, shape, to.quantization};
}

using Results = Expected<std::vector<TensorType>>;

// A rule for the one result of an operation, as one for all.
template <Expected<TensorType> (*infer)(NodeRef)>
Results one(NodeRef node) {
  QUADRANT_TRY(TensorType type, infer(node));
  std::vector<TensorType> types;
  types.push_back(std::move(type));
  return types;
}

Results unknown(NodeRef /*node*/) { return {}; }

struct Rule {
  std::string_view kind;
  Count operands;  // the first `least` must not be absent
  Count results;
  Results (*infer)(NodeRef);
};

constexpr std::array rules{
    Rule{ops::Input::kind, {0, 0}, {1, 1}, unknown},
    Rule{ops::Constant::kind, {0, 0}, {1, 1}, one<constant>},
    Rule{ops::Output::kind, {1, 1}, {0, 0}, unknown},
    Rule{ops::Identity::kind, {1, 1}, {1, 1}, one<identity>},
    Rule{ops::Cast::kind, {1, 1}, {1, 1}, one<cast>},
    Rule{ops::Transpose::kind, {1, 1}, {1, 1}, one<infer_transpose>},
    Rule{ops::Reshape::kind, {2, 2}, {1, 1}, one<infer_reshape>},
    Rule{ops::Squeeze::kind, {1, 2}, {1, 1}, one<infer_squeeze>},
    Rule{ops::Unsqueeze::kind, {1, 2}, {1, 1}, one<infer_unsqueeze>},
    Rule{ops::Flatten::kind, {1, 1}, {1, 1}, one<infer_flatten>},
    Rule{ops::Expand::kind, {2, 2}, {1, 1}, one<infer_expand>},
    Rule{ops::Slice::kind, {1, 5}, {1, 1}, one<infer_slice>},
    Rule{ops::Split::kind, {1, 2}, {1, any_number}, infer_split},
    Rule{ops::Concat::kind, {1, any_number}, {1, 1}, one<infer_concat>},
    Rule{ops::Gather::kind, {2, 2}, {1, 1}, one<infer_gather>},
    Rule{ops::Add::kind, {2, 2}, {1, 1}, one<infer_elementwise>},
    Rule{ops::Multiply::kind, {2, 2}, {1, 1}, one<infer_elementwise>},
    Rule{ops::MatMul::kind, {2, 2}, {1, 1}, one<infer_matmul>},
    Rule{ops::Gemm::kind, {2, 3}, {1, 1}, one<infer_gemm>},
    Rule{ops::Linear::kind, {2, 3}, {1, 1}, one<infer_linear>},
    Rule{ops::Addmm::kind, {3, 3}, {1, 1}, one<infer_addmm>},
    Rule{ops::BatchMatMul::kind, {2, 2}, {1, 1}, one<infer_batch_matmul>},
    Rule{ops::Baddbmm::kind, {3, 3}, {1, 1}, one<infer_baddbmm>},
    Rule{ops::Einsum::kind, {1, any_number}, {1, 1}, one<infer_einsum>},
    Rule{ops::Conv::kind, {2, 3}, {1, 1}, one<infer_conv>},
    Rule{ops::ConvTranspose::kind, {2, 3}, {1, 1}, one<infer_conv_transpose>},
    Rule{ops::Rnn::kind, {3, 6}, {0, 2}, infer_recurrent},
    Rule{ops::Gru::kind, {3, 6}, {0, 2}, infer_recurrent},
    Rule{ops::Lstm::kind, {3, 8}, {0, 3}, infer_recurrent},
    Rule{ops::FakeQuantize::kind, {5, 5}, {1, 1}, one<infer_fake_quantize>},
    Rule{ops::ConstFakeQuant::kind, {1, 1}, {1, 1}, one<infer_const_fake_quant>},
    Rule{ops::FakeQuant::kind, {3, 3}, {1, 1}, one<infer_fake_quant>},
    Rule{ops::Stats::kind, {1, 1}, {1, 1}, one<infer_stats>},
    Rule{ops::StatsRef::kind, {1, 1}, {1, 1}, one<infer_stats_ref>},
    Rule{ops::CoupledRef::kind, {1, 1}, {1, 1}, one<infer_coupled_ref>},
    Rule{ops::Quantize::kind, {1, 1}, {1, 1}, one<quantize>},
    Rule{ops::Dequantize::kind, {1, 1}, {1, 1}, one<dequantize>},
    Rule{ops::StorageCast::kind, {1, 1}, {1, 1}, one<storage_cast>},
};

bool fits(std::size_t count, const Count& asked) {
  return count >= asked.least && count <= asked.most;
}

std::string to_string(const Count& count) {
  if (count.least == count.most) return fmt::format("{}", count.most);
  return count.most == any_number ? fmt::format("at least {}", count.least)
                                  : fmt::format("{} to {}", count.least, count.most);
}

}  // namespace

Expected<void> check_counts(NodeRef node, const Count& operands, const Count& results) {
  std::size_t count = node.operands().size();
  while (count > operands.most && node.operand(count - 1).is_absent()) --count;
  if (!fits(count, operands)) {
    return invalid(
        fmt::format("{} operands where {} needs {}", count, node.kind(), to_string(operands)));
  }
  for (std::size_t operand = 0; operand < operands.least; ++operand) {
    if (node.operand(operand).is_absent()) {
      return invalid(fmt::format("operand {} of {} is missing", operand, node.kind()));
    }
  }
  const std::uint32_t made = node.graph->result_count(node.id);
  if (fits(made, results)) return {};
  return invalid(fmt::format("{} results where {} has {}", made, node.kind(), to_string(results)));
}

Expected<std::vector<TensorType>> infer_results(NodeRef node) {
  const auto* found = std::ranges::find(rules, node.kind(), &Rule::kind);
  if (found == rules.end()) return infer_onnx(node);
  QUADRANT_CHECK(check_counts(node, found->operands, found->results));
  return found->infer(node);
}

}  // namespace quadrant::inline v0::detail

// The types of the results from the types of the operands, by the rules that the table of
// operations names. The rules follow ONNX (https://onnx.ai/onnx/operators); what is unknown stays
// unknown. Those of operations that change nothing but the element type.
#include "ir/shape_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "ir/result_type.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {

Expected<TensorType> infer_constant(NodeRef node) {
  const Constant* contents = node.graph->constant(node.id);
  if (!contents || !*contents) return invalid("a constant without contents");
  return TensorType{contents->element(), contents->shape(), node.type().quantization};
}

Expected<TensorType> infer_identity(NodeRef node) {
  const TensorType& data = *node.operand_type(0);
  return TensorType{data.element, operand_shape(node, 0), data.quantization};
}

Expected<TensorType> infer_cast(NodeRef node) {
  TensorType result{{}, operand_shape(node, 0), nullptr};
  const auto to = ops::Cast{node}.to();
  if (!to) return invalid("a cast without a type");
  // What a cast makes of codes is stated on its result.
  if (!node.operand_type(0)->is_quantized()) result.element = *to;
  return result;
}

Expected<TensorType> infer_quantize(NodeRef node) {
  const TensorType& real = *node.operand_type(0);
  const Quantization& to = node.type().quantization;
  if (!to) return invalid("the result of a quantize must have a quantized type");
  if (real.is_quantized() ||
      (real.element != ElementType::undefined && real.element != to.expressed())) {
    return invalid(fmt::format("a quantize of {} to a type that expresses {}", to_string(real),
                               to_string(to.expressed())));
  }
  return TensorType{to.storage(), operand_shape(node, 0), to};
}

Expected<TensorType> infer_dequantize(NodeRef node) {
  const TensorType& codes = *node.operand_type(0);
  if (!codes.is_quantized()) return invalid("the operand of a dequantize must be quantized");
  return TensorType{codes.quantization.expressed(), operand_shape(node, 0), nullptr};
}

Expected<TensorType> infer_storage_cast(NodeRef node) {
  const TensorType& from = *node.operand_type(0);
  const TensorType& to = node.type();
  const Shape shape = operand_shape(node, 0);
  if (from.is_quantized()) {
    if (to.is_quantized()) return invalid("a storage_cast from one quantized type to another");
    return TensorType{from.uniform()->storage, shape, nullptr};
  }
  if (!to.is_quantized()) {
    if (from.element == ElementType::undefined) return TensorType{{}, shape, nullptr};
    return invalid("a storage_cast between plain types");
  }
  if (from.element != ElementType::undefined && from.element != to.uniform()->storage) {
    return invalid(fmt::format("a storage_cast of {} to codes of {}", to_string(from.element),
                               to_string(to.uniform()->storage)));
  }
  return TensorType{to.uniform()->storage, shape, to.quantization};
}

namespace {

bool fits(std::size_t count, const Count& asked) {
  return count >= asked.least && count <= asked.most;
}

std::string to_string(const Count& count) {
  if (count.least == count.most) return fmt::format("{}", count.most);
  return count.most == any_number ? fmt::format("at least {}", count.least)
                                  : fmt::format("{} to {}", count.least, count.most);
}

// Of ONNX's own domain or of another of its domains.
constexpr std::string_view onnx_prefix = "onnx.";
bool is_of_onnx(NodeRef node) { return node.kind().starts_with(onnx_prefix); }

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

Expected<void> check_onnx_signature(NodeRef node) {
  if (!is_of_onnx(node)) return {};
  // Text may call by ONNX's name what has a kind of its own.
  const Operation* found = find_operation(node);
  if (found == nullptr) found = find_onnx_operator(node.kind().substr(onnx_prefix.size()));
  return found == nullptr ? Expected<void>() : check_counts(node, found->operands, found->results);
}

namespace {

// Numbers in a format that no arithmetic knows are stored, or made of reals, and read as reals:
// whoever computes on codes may take them to be uniform.
Expected<void> check_formats(NodeRef node) {
  for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
    if (!node.type(i).quantization.other() || node.graph->constant(node.id) != nullptr ||
        node.kind() == ops::Quantize::kind)
      continue;
    return invalid(
        fmt::format("a result of type {}: only constants, and results of quantize, have formats "
                    "that are not uniform",
                    to_string(node.type(i))));
  }
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const TensorType* const type = node.operand_type(i);
    if (type == nullptr || !type->quantization.other() || node.kind() == ops::Dequantize::kind)
      continue;
    return invalid(
        fmt::format("an operand of type {}: only dequantize reads formats that are not "
                    "uniform",
                    to_string(*type)));
  }
  return {};
}

}  // namespace

Expected<std::vector<TensorType>> infer_results(NodeRef node) {
  QUADRANT_CHECK(check_formats(node));
  const Operation* const found = find_operation(node);
  if (found == nullptr || found->infer == nullptr) return {};
  const bool is_own = find_operation(node.kind()) == nullptr;
  if (!is_of_onnx(node)) QUADRANT_CHECK(check_counts(node, found->operands, found->results));
  if (!is_of_onnx(node) && !is_own) return found->infer(node);
  if (node.operands().empty() || node.operand(0).is_absent() ||
      node.graph->result_count(node.id) == 0) {
    return {};
  }
  QUADRANT_TRY(std::vector<TensorType> results, found->infer(node));
  // It may compute codes from real numbers, or look them up, which its own types say.
  for (std::uint32_t i = 0; i < results.size(); ++i) {
    const bool is_coded = node.type(i).is_quantized() || (is_own && results[i].is_quantized());
    if (is_coded) results[i] = {ElementType::undefined, std::move(results[i].shape), nullptr};
  }
  return results;
}

}  // namespace quadrant::inline v0::detail

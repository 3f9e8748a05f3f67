// tflite_convert IN OUT [--print]
//
// Writes an ONNX or a TFLite model as one or the other, for the peer tests. Where each operand of
// an operation of an ONNX model is a `dequantize` and each result is read by one `quantize` alone,
// the operation gets the types of the codes, whatever TFLite's kernels make of it.
#include <cstdio>
#include <string_view>

#include "quadrant/io/onnx.hpp"
#include "quadrant/io/tflite.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

namespace {

using namespace quadrant;

int failed(const Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  return 1;
}

bool has_kind(const Graph& graph, Value value, std::string_view kind) {
  return !value.is_absent() && graph.kind(value.node) == kind;
}

/// The `quantize` that alone reads the value; invalid if there is none.
NodeId only_quantize(const Graph& graph, Value value) {
  NodeId found;
  for (const Use& use : graph.uses(value.node)) {
    if (use.result != value.result) continue;
    if (found.is_valid() || graph.kind(use.user) != ops::Quantize::kind) return {};
    found = use.user;
  }
  return found;
}

/// dequantize - operation - quantize becomes the operation on codes.
void fuse(Graph& graph, NodeId node) {
  const std::string_view kind = graph.kind(node);
  if (kind == ops::Quantize::kind || kind == ops::Dequantize::kind) return;
  bool has_codes = false;
  for (const Value operand : graph.operands(node)) {
    if (operand.is_absent()) continue;
    const bool is_real = is_float(graph.type(operand).element);
    const bool is_dequantized = has_kind(graph, operand, ops::Dequantize::kind);
    const bool is_constant = has_kind(graph, operand, ops::Constant::kind);
    if (is_real && !is_dequantized && !is_constant) return;
    has_codes = has_codes || is_dequantized;
  }
  if (!has_codes || graph.result_count(node) == 0) return;
  const bool makes_reals = is_float(graph.type({node, 0}).element) ||
                           graph.type({node, 0}).element == ElementType::undefined;
  for (std::uint32_t i = 0; makes_reals && i < graph.result_count(node); ++i) {
    if (!only_quantize(graph, {node, i}).is_valid()) return;
  }
  const std::vector<Value> operands(graph.operands(node).begin(), graph.operands(node).end());
  for (std::uint32_t i = 0; i < operands.size(); ++i) {
    if (has_kind(graph, operands[i], ops::Dequantize::kind)) {
      graph.set_operand(node, i, graph.operands(operands[i].node)[0]);
    }
  }
  for (std::uint32_t i = 0; makes_reals && i < graph.result_count(node); ++i) {
    const NodeId quantize = only_quantize(graph, {node, i});
    TensorType codes = graph.type({quantize, 0});
    graph.replace_uses({quantize, 0}, {node, i});
    graph.erase(quantize);
    graph.set_type({node, i}, std::move(codes));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: tflite_convert IN OUT [--print]\n");
    return 2;
  }
  const bool is_tflite = std::string_view(argv[1]).ends_with(".tflite");
  auto graph = is_tflite ? read_tflite(argv[1]) : read_onnx(argv[1]);
  if (!graph) return failed(graph.error());
  for (std::uint32_t index = 0; !is_tflite && index < graph->index_bound(); ++index) {
    if (graph->node_at(index).is_valid()) fuse(*graph, graph->node_at(index));
  }
  if (argc > 3 && std::string_view(argv[3]) == "--print") {
    std::puts(print_graph(*graph).c_str());
  }
  if (std::string_view(argv[2]).ends_with(".onnx")) {
    const auto written = write_onnx(*graph, argv[2]);
    return written ? 0 : failed(written.error());
  }
  const auto report = write_tflite(*graph, argv[2]);
  if (!report) return failed(report.error());
  std::printf("%lld operators, %lld transposes, %llu bytes\n",
              static_cast<long long>(report->operators), static_cast<long long>(report->transposes),
              static_cast<unsigned long long>(report->file_bytes));
  const auto list = [](const char* what, const std::vector<LeftAlone>& entries) {
    for (const LeftAlone& entry : entries) {
      std::printf("%s %s: %s\n", what, entry.name.c_str(), entry.reason.c_str());
    }
  };
  list("decomposed", report->decomposed);
  list("changed", report->changed);
  list("not honoured", report->not_honoured);
  return 0;
}

// onnx_roundtrip IN OUT [--quantize-all] [--16-bits] [--external BYTES] [--print]
//
// Reads a model and writes it again, for the peer tests. With --quantize-all, every floating
// initializer of two or more dimensions becomes int8 along axis 0, with a dequantize in front of
// its users: that asks for opset 13. With --16-bits they become int16, which asks for opset 21.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/numerics/encode.hpp"

namespace {

using namespace quadrant;

class PrintingSink final : public Sink {
 public:
  void report(const Diagnostic& diagnostic) override {
    std::fprintf(stderr, "note: %s\n", diagnostic.message.c_str());
  }
};

int failed(const Error& error) {
  std::fprintf(stderr, "%s (%s)\n", to_string(error).c_str(),
               std::string(to_string(error.code)).c_str());
  switch (error.code) {
    case ErrorCode::usage:
      return 2;
    case ErrorCode::invalid_model:
      return 3;
    case ErrorCode::impossible:
      return 4;
    case ErrorCode::io:
      return 5;
    case ErrorCode::cancelled:
      break;
  }
  return 1;
}

Expected<void> quantize_all(Graph& graph, const ScaleRule& rule) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.kind(node) != ops::Constant::kind) continue;
    const Constant weights = *graph.constant(node);
    if (!is_float(weights.element()) || weights.shape().rank() < 2) continue;
    if (weights.element_count() == 0) continue;

    UniformType type;
    type.expressed = weights.element();
    type.granularity = Granularity::per_axis(0);
    type.storage = rule.storage;
    type.storage_min = rule.storage_min;
    type.storage_max = rule.storage_max;
    QUADRANT_TRY(const ParameterScan scan, scan_parameters(weights, type.granularity, rule));
    type.scales = scan.scales;
    const auto shared = std::make_shared<const UniformType>(type);
    QUADRANT_TRY(Constant codes, quantized(weights, shared));

    const Value value{node};
    const std::string name(graph.value_name(value));
    const TensorType real = graph.type(value);
    graph.set_value_name(value, name + "_codes");
    const std::vector<Use> uses(graph.uses(node).begin(), graph.uses(node).end());
    const NodeId dequantize = graph.add({.kind = std::string(ops::Dequantize::kind),
                                         .operands = {value},
                                         .results = {{name, real}}});
    for (const Use& use : uses) graph.set_operand(use.user, use.operand, {dequantize});
    graph.set_constant(node, std::move(codes), shared);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: onnx_roundtrip IN OUT [--quantize-all] [--16-bits] [--external BYTES] "
                 "[--print]\n");
    return 2;
  }
  bool quantize = false;
  bool print = false;
  ScaleRule rule;
  OnnxWriteOptions options;
  for (int i = 3; i < argc; ++i) {
    const std::string_view argument = argv[i];
    quantize = quantize || argument == "--quantize-all";
    print = print || argument == "--print";
    if (argument == "--16-bits") rule = {ElementType::int16, -32767, 32767};
    if (argument == "--external" && i + 1 < argc) {
      options.external_from = std::strtoull(argv[++i], nullptr, 10);
    }
  }
  PrintingSink sink;
  options.sink = &sink;
  auto graph = read_onnx(argv[1], {.sink = &sink, .inline_functions = false});
  if (!graph) return failed(graph.error());
  if (print) std::puts(print_graph(*graph).c_str());
  if (quantize) {
    if (auto done = quantize_all(*graph, rule); !done) return failed(done.error());
  }
  const auto report = write_onnx(*graph, argv[2], options);
  if (!report) return failed(report.error());
  std::printf(
      "opset %d -> %d, %llu bytes%s%s\n", static_cast<int>(report->opset_read),
      static_cast<int>(report->opset_written), static_cast<unsigned long long>(report->model_bytes),
      report->fallback_reason.empty() ? "" : ", fallback: ", report->fallback_reason.c_str());
  return 0;
}

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "quadrant/ir/graph.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/report/tables.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::inline v0 {
namespace {

// What whoever feeds and reads the model has to know: not all formats say it.
std::vector<std::string> describe_coded_borders(const Graph& graph) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view what, std::string_view name, const TensorType& type) {
    if (!type.is_quantized()) return;
    lines.push_back(fmt::format("{} '{}' is codes: {}", what, printable(name), to_string(type)));
  };
  for (const NodeId node : graph.inputs())
    add("input", graph.value_name({node}), graph.type({node}));
  for (const NodeId node : graph.outputs()) {
    add("output", graph.name(node), graph.type(graph.operands(node)[0]));
  }
  return lines;
}

// What training left out: each tensor that passes through no fake quantization, and should.
Expected<void> name_unquantized(const Graph& model, KernelsTarget target,
                                std::vector<std::string>& remarks) {
  if (is_openvino(target)) return {};
  QUADRANT_TRY(const auto missing, unquantized_tensors(model, {.target = target}));
  add_remarks(remarks, "no fake quantization", missing);
  return {};
}

// Where the format, or the target, has no simulated quantization.
Expected<Graph> as_pairs(Graph graph, const Destination& to, bool repair_ranges,
                         std::vector<std::string>& remarks) {
  const auto& [format, target, coded] = to;
  if (has_simulated_quantization(graph) && (target || format != ModelFormat::text)) {
    QUADRANT_CHECK(convert_simulated(graph, remarks));
  }
  const bool is_for_tflite = format == ModelFormat::tflite || target == KernelsTarget::tflite;
  const bool needs_pairs =
      target || format == ModelFormat::onnx || format == ModelFormat::mlir || is_for_tflite;
  if (is_openvino(target) || !needs_pairs) return graph;
  return without_fake_quantize(
      std::move(graph), {.has_limits = !is_for_tflite, .repair_ranges = repair_ranges}, remarks);
}

Expected<LoweredModel> lower(Graph graph, const Destination& to, const LowerModelOptions& options,
                             const RunContext& context) {
  LoweredModel made;
  const bool is_simulated = has_simulated_quantization(graph);
  QUADRANT_CHECK(resolve_for(graph, to.format));
  QUADRANT_TRY(made.graph, as_pairs(std::move(graph), to, options.repair_ranges, made.remarks));
  if (to.target && (options.always_reports || has_quantization(made.graph))) {
    QUADRANT_TRY(OnTarget on,
                 compute_on(made.graph, *to.target, options.repair_ranges, context.executor));
    made.graph = std::move(on.graph);
    if (is_simulated) {
      QUADRANT_CHECK(name_unquantized(on.model, *to.target, made.remarks));
    }
    made.report = report_computation(on.model, on.analysis.registry, on.analysis);
    made.remarks.insert(made.remarks.end(), on.remarks.begin(), on.remarks.end());
  }
  std::vector<LeftAlone> real_borders;
  if (to.coded_borders) real_borders = make_borders_coded(made.graph);
  const std::vector<std::string> coded = describe_coded_borders(made.graph);
  QUADRANT_TRY(const auto paired, paired_products(made.graph, to.format, options.made_by));
  if (!paired.empty()) made.remarks.push_back(saturation_remark(made.graph, paired));
  made.remarks.insert(made.remarks.end(), coded.begin(), coded.end());
  add_remarks(made.remarks, "still float", real_borders);
  return made;
}

}  // namespace

Expected<void> check_lower_model(const Destination& destination, const LowerModelOptions& options) {
  const auto& [format, target, coded] = destination;
  if (is_openvino(target) && format != ModelFormat::text) {
    return fail(ErrorCode::usage,
                fmt::format("the target {} shows what OpenVINO's kernels compute on codes, with "
                            "sums that no format has: it goes with .qd. OpenVINO itself finds it "
                            "in the .xml file that is written without it",
                            to_string(*target)));
  }
  const bool keeps_fake_quantize = format == ModelFormat::openvino || format == ModelFormat::text;
  if (options.repair_ranges && keeps_fake_quantize && !is_openvino(target)) {
    return fail(ErrorCode::usage,
                "to repair ranges is for a fake_quantize that becomes codes: here it stays as it "
                "is. It goes with .onnx, .tflite, and the target openvino-cpu and its like");
  }
  if (format != ModelFormat::tflite || target != KernelsTarget::onnx_qoperator) {
    return {};
  }
  return fail(ErrorCode::usage,
              "the target onnx-qoperator fuses what ONNX's operators compute: it goes with .onnx");
}

Expected<LoweredModel> lower_model(Graph graph, const Destination& destination,
                                   const LowerModelOptions& options, const RunContext& context) {
  QUADRANT_CHECK(context.check_stop());
  QUADRANT_CHECK(check_lower_model(destination, options));
  return in_file(lower(std::move(graph), destination, options, context), options.model);
}

}  // namespace quadrant::inline v0

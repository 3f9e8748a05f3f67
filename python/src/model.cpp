#include "model.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/report/html_report.hpp"
#include "quadrant/report/tables.hpp"
#include "recipe/node_names.hpp"
#include "report/json.hpp"

namespace quadrant::python {
namespace {

Port port(std::string_view name, const TensorType& type) {
  std::optional<std::vector<std::optional<std::int64_t>>> shape;
  if (type.shape.is_ranked()) {
    shape.emplace();
    for (const Extent extent : type.shape.extents()) shape->push_back(extent.known());
  }
  return {std::string(name), std::string(to_string(type.element)), std::move(shape)};
}

bool is_weight(const Graph& graph, NodeId node) {
  if (!node.is_valid() || graph.constant(node) == nullptr) return false;
  const TensorType& type = graph.type({node});
  return type.is_quantized() || is_float(type.element);
}

Expected<Written> write_as_onnx(const Model& model, const std::string& path,
                                const WriteOptions& options, const RunContext& context) {
  constexpr std::uint64_t large = 1024;
  OnnxWriteOptions onnx{.executor = context.executor,
                        .sink = context.sink,
                        .matmul_nbits = options.matmul_nbits,
                        .files = context.files};
  if (options.external_data) onnx.external_from = large;
  QUADRANT_CHECK(context.check_stop());
  QUADRANT_TRY(const auto products,
               in_file(paired_products(*model.graph, ModelFormat::onnx, model.made_by), path));
  QUADRANT_TRY(const OnnxWriteReport report, write_onnx(*model.graph, path, onnx));
  Written written{report.model_bytes + report.external_bytes, remarks_of(report)};
  if (!products.empty()) written.remarks.push_back(saturation_remark(*model.graph, products));
  if (!report.fallback_reason.empty()) written.remarks.push_back(report.fallback_reason);
  return written;
}

Expected<Written> write_lowered(const Model& model, const std::string& path,
                                const Destination& destination, const WriteOptions& options,
                                const RunContext& context) {
  QUADRANT_TRY(LoweredModel made, lower_model(*model.graph, destination,
                                              {.always_reports = !options.target.empty(),
                                               .repair_ranges = options.repair_ranges,
                                               .made_by = model.made_by,
                                               .model = model.path},
                                              context));
  const bool qoperators = destination.target == KernelsTarget::onnx_qoperator;
  QUADRANT_TRY(WrittenModel done,
               write_model(made.graph, path, {.qoperators = qoperators}, context));
  Written written{done.bytes, std::move(made.remarks)};
  std::ranges::move(done.remarks, std::back_inserter(written.remarks));
  return written;
}

}  // namespace

std::vector<Port> Model::inputs() const {
  std::vector<Port> ports;
  for (const NodeId node : graph->inputs()) {
    ports.push_back(port(graph->value_name({node}), graph->type({node})));
  }
  return ports;
}

std::vector<Port> Model::outputs() const {
  std::vector<Port> ports;
  for (const NodeId node : graph->outputs()) {
    ports.push_back(port(graph->name(node), graph->type(graph->operands(node)[0])));
  }
  return ports;
}

std::vector<std::string> Model::weights() const {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < graph->index_bound(); ++i) {
    const NodeId node = graph->node_at(i);
    if (is_weight(*graph, node)) names.emplace_back(graph->value_name({node}));
  }
  return names;
}

Array Model::weight(Session& session, const std::string& name) const {
  const Value value = graph->find_value(name);
  if (value.is_absent() || !is_weight(*graph, value.node)) throw nb::key_error(name.c_str());
  const Constant& constant = *graph->constant(value.node);
  const ConstantBytes contents =
      session.run([&](const RunContext&) { return in_file(constant.read(), path); });
  return to_python(constant, contents);
}

Model read(Session& session, const std::string& path, bool has_name) {
  Graph graph = session.run([&](const RunContext& context) { return read_model(path, context); });
  return {std::make_shared<const Graph>(std::move(graph)), has_name ? path : "", {}};
}

Written write(Session& session, const Model& model, const std::string& path,
              const WriteOptions& options) {
  return session.run([&](const RunContext& context) -> Expected<Written> {
    QUADRANT_TRY(Destination destination, destination_of(path, options.target));
    destination.coded_borders = options.coded_borders;
    if (destination.format != ModelFormat::onnx &&
        (options.external_data || options.matmul_nbits)) {
      return fail(ErrorCode::usage, "external_data and matmul_nbits are for ONNX", {.file = path});
    }
    if (destination.format == ModelFormat::onnx && !options.is_lowered) {
      return write_as_onnx(model, path, options, context);
    }
    return write_lowered(model, path, destination, options, context);
  });
}

Result::Result(std::shared_ptr<Session> session, RunResult done)
    : session_(std::move(session)),
      prepared_(std::move(done.prepared)),
      quantized_(std::move(done.quantized)) {
  prepared_.steps = {};  // which refer to samples
}

std::shared_ptr<Result> Result::make(std::shared_ptr<Session> session, const Model& model,
                                     const Job& job, const Plan* plan) {
  RunResult done = session->run([&](const RunContext& context) {
    return quadrant::run(job.request(model.path), *model.graph, context, {.plan = plan});
  });
  return std::make_shared<Result>(std::move(session), std::move(done));
}

std::string Result::plan() const { return print_plan(quantized_.analysis.plan); }

std::string Result::recipe() const { return print_recipe(prepared_.recipe.recipe); }

Summary Result::summarized() const {
  Summary summary = summarize(prepared_.graph, prepared_.registry, quantized_);
  if (!prepared_.model.empty()) {
    summary.file_bytes_before = prepared_.file_bytes;
  }
  return summary;
}

std::string Result::summary() const { return text_of(to_json(summarized())); }

std::string Result::summary_text() const { return to_string(summarized()); }

std::string Result::explain(const std::string& name) const {
  std::string text;
  for (const Value value : value_of(values_called(prepared_.graph, name))) {
    text += to_string(
        quadrant::explain(prepared_.graph, prepared_.registry, quantized_.analysis, value));
  }
  return text;
}

std::string Result::report(Session& session) const {
  return session.run([&](const RunContext& context) -> Expected<std::string> {
    QUADRANT_TRY(HtmlReport report,
                 gather_report({.graph = prepared_.graph,
                                .registry = prepared_.registry,
                                .analysis = quantized_.analysis,
                                .quantized = &quantized_.graph,
                                .statistics = prepared_.statistics.get(),
                                .model = std::filesystem::path(prepared_.model).filename().string(),
                                .gain_unit = std::string(prepared_.gains->unit()),
                                .sink = context.sink}));
    return print_html(report);
  });
}

Model Result::model(const std::shared_ptr<Result>& self) {
  return {std::shared_ptr<const Graph>(self, &self->quantized_.graph), "",
          self->prepared_.recipe.recipe};
}

Model Result::float_model(const std::shared_ptr<Result>& self) {
  return {std::shared_ptr<const Graph>(self, &self->prepared_.graph), self->prepared_.model, {}};
}

}  // namespace quadrant::python

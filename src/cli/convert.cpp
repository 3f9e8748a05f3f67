// quadrant convert MODEL OUT: from one format to another, quantized on the way if that is wanted,
// and fused for a target: what its kernels can compute on codes, they do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "calibration/located.hpp"
#include "cli/choices.hpp"
#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/model.hpp"
#include "cli/model_format.hpp"
#include "cli/named_files.hpp"
#include "cli/thread_executor.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/io/openvino.hpp"
#include "quadrant/io/tflite.hpp"
#include "quadrant/ir/real_borders.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/methods/qdq_fusion.hpp"
#include "quadrant/report/computation.hpp"
#include "quadrant/report/terminal_text.hpp"

namespace quadrant::cli {
namespace {

/// What was written, in the terms of one format.
struct WrittenModel {
  std::uint64_t bytes = 0;
  std::vector<std::string> remarks;
};

bool has_codes(const Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid()) continue;
    for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
      if (graph.type({node, i}).is_quantized()) return true;
    }
  }
  return false;
}

void add_remarks(std::vector<std::string>& remarks, std::string_view what,
                 const std::vector<LeftAlone>& items) {
  for (const LeftAlone& item : items) {
    remarks.push_back(fmt::format("{}: {}: {}", what, printable(item.name), item.reason));
  }
}

Expected<WrittenModel> write_as_tflite(const Graph& graph, const std::string& path) {
  QUADRANT_TRY(const TfliteWriteReport report, write_tflite(graph, path));
  WrittenModel written{report.file_bytes, {}};
  written.remarks.push_back(fmt::format("{} operators, of which {} transposes for the layout",
                                        report.operators, report.transposes));
  add_remarks(written.remarks, "decomposed", report.decomposed);
  add_remarks(written.remarks, "changed", report.changed);
  add_remarks(written.remarks, "not in the file", report.not_honoured);
  return written;
}

Expected<WrittenModel> write_as_openvino(const Graph& graph, const std::string& path) {
  QUADRANT_TRY(const OpenVinoWriteReport report, write_openvino(graph, path));
  WrittenModel written{report.xml_bytes + report.bin_bytes, {}};
  written.remarks.push_back(fmt::format("{} layers, and {} of weights beside them", report.layers,
                                        format_bytes(report.bin_bytes)));
  add_remarks(written.remarks, "decomposed", report.decomposed);
  return written;
}

Expected<WrittenModel> write_model(const Graph& graph, const std::string& path, ModelFormat format,
                                   std::optional<FusionTarget> target, Executor& executor,
                                   Console& console) {
  switch (format) {
    case ModelFormat::tflite:
      return write_as_tflite(graph, path);
    case ModelFormat::openvino:
      return write_as_openvino(graph, path);
    case ModelFormat::text:
      QUADRANT_CHECK(write_text(path, print_graph(graph, {.largest_constant = INT64_MAX})));
      return WrittenModel{file_bytes(path), {}};
    case ModelFormat::onnx:
      break;
  }
  OnnxWriteOptions options;
  options.executor = &executor;
  options.sink = &console;
  options.qoperators = target == FusionTarget::onnx_qoperator;
  QUADRANT_TRY(const OnnxWriteReport report, write_onnx(graph, path, options));
  WrittenModel written{report.model_bytes + report.external_bytes, {}};
  if (options.qoperators) {
    written.remarks.push_back(fmt::format("{} operators on codes", report.qoperators));
  }
  return written;
}

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

Json to_json(const ComputationReport& report) {
  Json operations = Json::array();
  for (const Computation& row : report.operations) {
    operations.push_back({{"name", row.name},
                          {"operation", row.kind},
                          {"on_codes", row.on_codes},
                          {"reason", row.reason}});
  }
  return {{"on_codes", report.on_codes},
          {"requantized", report.requantized},
          {"operations", std::move(operations)}};
}

class Convert final : public Command {
 public:
  CLI::App* declare(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("convert", "Write a model in another format");
    cli::declare(*command, options_);
    command->add_option("OUT", output_, "Model to write: .onnx, .tflite, .xml, or .qd, text")
        ->required()
        ->type_name("");
    add_choice(*command, "--target", target_, {"onnx-qoperator", "tflite", "webnn"},
               "Whose kernels compute on codes: what they can, they do; the rest stays in real "
               "numbers (default: tflite, for a file of that ending)");
    add_choice(*command, "--io", borders_, {"codes", "real"},
               "Whether the model takes and gives 'codes', where it quantizes its inputs and "
               "dequantizes its outputs, or 'real' numbers, the default");
    declare_non_finite(*command, options_.non_finite);
    command->footer(
        "Examples:\n"
        "  quadrant convert model_qdq.onnx model.tflite\n"
        "  quadrant convert model.onnx model.tflite --scheme static-affine --calibration samples\n"
        "  quadrant convert model.tflite model.onnx");
    return command;
  }

  [[nodiscard]] bool wants_json() const noexcept override { return options_.json; }

  Expected<void> run(Console& console) override {
    QUADRANT_TRY(const ModelFormat format, model_format(output_));
    QUADRANT_CHECK(check_target(format));
    QUADRANT_CHECK(check_side_output(output_, options_.model));
    QUADRANT_CHECK(check_files(*options_.command, options_.model, false));
    ThreadExecutor executor(0);
    const auto target = chosen_target(format);
    QUADRANT_TRY(Graph graph, model(target, console, executor));
    std::optional<FusedGraph> fused;
    std::optional<ComputationReport> report;
    std::vector<LeftAlone> real_borders;
    if (target && has_codes(graph)) {
      QuantizeOptions run;
      run.executor = &executor;
      QUADRANT_TRY(fused, in_file(fuse_qdq(graph, {.target = *target}, run), options_.model));
      report = report_computation(fused->model, fused->analysis.registry, fused->analysis);
    }
    Graph& result = fused ? fused->graph : graph;
    if (borders_ == "codes") real_borders = make_borders_coded(result);
    const std::vector<std::string> coded_borders = describe_coded_borders(result);
    QUADRANT_TRY(WrittenModel written,
                 write_model(result, output_, format, target, executor, console));
    if (fused && fused->made_signed > 0) {
      written.remarks.push_back(
          fmt::format("{} tensors of type u8 became i8, for which there are more kernels: the same "
                      "numbers, zero points 128 less",
                      fused->made_signed));
    }
    written.remarks.insert(written.remarks.end(), coded_borders.begin(), coded_borders.end());
    add_remarks(written.remarks, "in real numbers still", real_borders);
    print(report, target, written, console);
    return {};
  }

 private:
  // As it is, or quantized if that was asked for.
  [[nodiscard]] Expected<Graph> model(std::optional<FusionTarget> target, Console& console,
                                      Executor& executor) {
    const RecipeOptions& recipe = options_.recipe;
    if (recipe.scheme.empty() && recipe.mix.empty() && recipe.preset.empty() &&
        recipe.file.empty()) {
      for (const auto& scheme : options_.schemes.all()) {
        const std::string option = options_.schemes.given_option(*scheme);
        if (option.empty()) continue;
        return fail(ErrorCode::usage,
                    fmt::format("{} is an option of {}, which --scheme names: without it nothing "
                                "is quantized",
                                option, scheme->name()));
      }
      return read_model(options_.model, console);
    }
    options_.coded_borders = borders_ == "codes";
    if (target && *target != FusionTarget::onnx_qoperator) options_.kernels = "tflite";
    QUADRANT_TRY(Subject subject, prepare(options_, console));
    QuantizeOptions engine = subject.engine_options();
    engine.executor = &executor;
    engine.sink = &console;
    QUADRANT_TRY(QuantizeResult result, in_file(quantize_with(subject.steps, subject.graph,
                                                              subject.registry, engine, true),
                                                options_.model));
    return std::move(result.graph);
  }

  [[nodiscard]] Expected<void> check_target(ModelFormat format) const {
    if (format != ModelFormat::tflite || chosen_target(format) != FusionTarget::onnx_qoperator) {
      return {};
    }
    return fail(ErrorCode::usage,
                "--target onnx-qoperator fuses what ONNX's operators compute: it goes with .onnx",
                {.file = output_});
  }

  [[nodiscard]] std::optional<FusionTarget> chosen_target(ModelFormat format) const {
    if (!target_.empty()) return parse_fusion_target(target_);
    return format == ModelFormat::tflite ? std::optional(FusionTarget::tflite) : std::nullopt;
  }

  static constexpr std::size_t most = 20;  ///< lines of one sort

  void print(const std::optional<ComputationReport>& fused, std::optional<FusionTarget> target,
             const WrittenModel& written, Console& console) const {
    if (options_.json) {
      console.print_json({{"model", options_.model},
                          {"output", output_},
                          {"bytes", written.bytes},
                          {"target", target ? Json(to_string(*target)) : Json(nullptr)},
                          {"fused", fused ? to_json(*fused) : Json(nullptr)},
                          {"remarks", written.remarks}});
      return;
    }
    if (fused) {
      const ComputationReport& report = *fused;
      console.print(fmt::format("{}\n", table_of_kinds(report).print()));
      const Table reals = table_of_reals(report, most);
      if (!reals.is_empty()) console.print(fmt::format("{}\n", reals.print()));
      const std::size_t left = report.operations.size() - report.on_codes;
      if (left > most) {
        console.print(fmt::format("  and {} more: --json has all\n\n", left - most));
      }
      console.print(fmt::format("  {} of {} operations compute on codes, for {}", report.on_codes,
                                report.operations.size(), target ? to_string(*target) : ""));
      if (report.requantized > 0) {
        console.print(fmt::format(
            "; {}", report.requantized == 1
                        ? "one value is requantized"
                        : fmt::format("{} values are requantized", report.requantized)));
      }
      console.print("\n");
    }
    console.print(
        fmt::format("  written to {}: {}\n", printable(output_), format_bytes(written.bytes)));
    for (std::size_t i = 0; i < std::min(most, written.remarks.size()); ++i) {
      console.print("  " + written.remarks[i] + '\n');
    }
    if (written.remarks.size() > most) {
      console.print(fmt::format("  and {} more: --json has all\n", written.remarks.size() - most));
    }
  }

  DecisionOptions options_;
  std::string output_;
  std::string target_;
  std::string borders_;
};

}  // namespace

std::unique_ptr<Command> make_convert() { return std::make_unique<Convert>(); }

}  // namespace quadrant::cli
